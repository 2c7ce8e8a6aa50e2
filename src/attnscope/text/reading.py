"""What the tokens stand for: characters of a text, or of one that is rebuilt from the token strings."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from attnscope.text.characters import is_blank
from attnscope.text.pieces import Span, Style, rebuild, style_of


class Reading(NamedTuple):
    """The texts by segment; for each token its segment, characters, readable string, and whether special.

    `split`: spaces alone part the words of the texts, punctuation has been set apart already.
    """

    texts: Mapping[int, str]
    segments: Sequence[int]
    spans: Sequence[Span | None]
    strings: Sequence[str]
    special: Sequence[bool]
    split: bool = False


def read(
    texts: Mapping[int, str],
    raw: Sequence[str],
    special: Sequence[bool],
    segments: Sequence[int],
    spans: Sequence[Span | None],
) -> Reading:
    """Read by the texts where there are offsets, else by the token strings."""
    if any(span is not None for span in spans):
        return _by_offsets(texts, raw, special, segments, spans)
    return _by_strings(raw, special, segments)


def content_style(raw: Sequence[str], special: Sequence[bool]) -> Style:
    """How the tokenizer marks words; special tokens do not follow it."""
    return style_of([token for token, hidden in zip(raw, special, strict=True) if not hidden])


def decoded(raw: Sequence[str], style: Style) -> str:
    """What a few neighbouring tokens stand for together."""
    return trimmed(readable(rebuild(raw, style).text))


def readable(text: str) -> str:
    """The text with a sign in place of what no file can hold: bytes cut off from their character."""
    return "".join("�" if "\ud800" <= char <= "\udfff" else char for char in text)


def trimmed(text: str) -> str:
    """The text without blanks around it, unless it is nothing else; line ends mean something and stay."""
    start, end = 0, len(text)
    while start < end and is_blank(text[start]):
        start += 1
    while end > start and is_blank(text[end - 1]):
        end -= 1
    return text[start:end] or text


def _by_offsets(
    texts: Mapping[int, str],
    raw: Sequence[str],
    special: Sequence[bool],
    segments: Sequence[int],
    spans: Sequence[Span | None],
) -> Reading:
    style = content_style(raw, special)
    strings: list[str] = []
    for token, hidden, segment, span in zip(raw, special, segments, spans, strict=True):
        if hidden:
            strings.append(token)
        elif span is None:
            strings.append(decoded([token], style))
        else:
            strings.append(trimmed(readable(texts[segment][span[0] : span[1]])))
    return Reading(texts, segments, spans, strings, special)


def _by_strings(raw: Sequence[str], special: Sequence[bool], segments: Sequence[int]) -> Reading:
    style = content_style(raw, special)
    texts: dict[int, str] = {}
    spans: list[Span | None] = [None] * len(raw)
    strings = list(raw)
    for segment in sorted(set(segments)):
        members = [i for i in range(len(raw)) if segments[i] == segment and not special[i]]
        texts[segment], places = rebuild([raw[i] for i in members], style)
        for i, (start, end) in zip(members, places, strict=True):
            spans[i] = (start, end) if end > start else None
            strings[i] = trimmed(readable(texts[segment][start:end]))
    return Reading(texts, segments, spans, strings, special, style.split)
