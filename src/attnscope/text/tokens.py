"""A text as one model reads it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from attnscope.errors import InputError
from attnscope.text.characters import extends
from attnscope.text.labels import unique, visible
from attnscope.text.membership import Words, given_words, words_of
from attnscope.text.pieces import Span, Style
from attnscope.text.reading import Reading, content_style, decoded, read, readable, trimmed
from attnscope.text.segmentation import by_punctuation, by_whitespace

_PER_TOKEN = ("raw", "strings", "spans", "words", "special", "segments")


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens, the text they come from, and the words they make up.

    `raw` are the token strings as the tokenizer writes them, `strings` as people read them. `spans` are
    character offsets into the text of the token's segment (`text`, and `pair` for segment 1), None for
    special tokens and where the tokenizer gives none. `words` are numbers unique through all segments, None
    for special tokens. `padding` (empty: there is none) counts as special.
    """

    text: str | None = None
    pair: str | None = None
    ids: tuple[int, ...]
    raw: tuple[str, ...]
    strings: tuple[str, ...]
    spans: tuple[Span | None, ...]
    words: Words
    special: tuple[bool, ...]
    segments: tuple[int, ...]
    padding: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        _check_lengths({name: getattr(self, name) for name in _PER_TOKEN}, len(self.ids))
        _check_lengths({"padding": self.padding or self.ids}, len(self.ids))
        _check_spans(self.spans, self.segments, _texts(self.text, self.pair, self.segments))
        _check_words(self.words)

    @classmethod
    def from_encoding(
        cls,
        *,
        ids: Sequence[int],
        raw: Sequence[str],
        special: Sequence[bool | int],
        text: str | None = None,
        pair: str | None = None,
        offsets: Sequence[Span | None] | None = None,
        word_ids: Sequence[int | None] | None = None,
        segments: Sequence[int | None] | None = None,
        attention_mask: Sequence[bool | int] | None = None,
    ) -> "Tokens":
        """Tokens from the fields of one encoded text, as a Hugging Face tokenizer gives them.

        `raw` is convert_ids_to_tokens(ids), `special` the special tokens mask, `segments` either
        sequence_ids() or the token type ids; the former also tell the two texts of RoBERTa apart.
        """
        size = len(ids)
        _check_lengths(
            {
                "raw": raw,
                "special": special,
                "offsets": offsets,
                "word_ids": word_ids,
                "segments": segments,
                "attention_mask": attention_mask,
            },
            size,
        )
        if text is None and (pair is not None or offsets is not None):
            raise InputError("offsets and a pair need the text that they belong to; pass text= as well")
        real = (True,) * size if attention_mask is None else tuple(map(bool, attention_mask))
        hidden = tuple(bool(s) or not r for s, r in zip(special, real, strict=True))
        numbers = _segments(segments or (None,) * size, hidden, paired=pair is not None)
        texts = _texts(text, pair, numbers)
        spans = _spans(offsets or (None,) * size, hidden)
        _check_spans(spans, numbers, texts)
        spans = _without_borrowed(spans, raw, hidden, [texts[number] for number in numbers])
        reading = read(texts, raw, hidden, numbers, spans)
        return cls(
            text=text,
            pair=pair,
            ids=tuple(map(int, ids)),
            raw=tuple(raw),
            strings=tuple(reading.strings),
            spans=spans,
            words=_words(reading, word_ids, offsets is not None),
            special=hidden,
            segments=numbers,
            padding=() if all(real) else tuple(not r for r in real),
        )

    @classmethod
    def plain(cls, strings: Iterable[str], special: Sequence[bool | int] | None = None) -> "Tokens":
        """Inputs that are no text, such as image patches or audio frames: each is a word of its own."""
        names = tuple(strings)
        size = len(names)
        hidden = (False,) * size if special is None else tuple(map(bool, special))
        return cls(
            ids=tuple(range(size)),
            raw=names,
            strings=names,
            spans=(None,) * size,
            words=given_words((0,) * size, hidden, (None,) * size),
            special=hidden,
            segments=(0,) * size,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def real(self) -> tuple[bool, ...]:
        """Whether each token is one, and not padding."""
        return tuple(not padding for padding in self.padding) or (True,) * len(self)

    @property
    def word_count(self) -> int:
        """The number of words; special tokens belong to none."""
        return 1 + max((word for word in self.words if word is not None), default=-1)

    @cached_property
    def word_strings(self) -> tuple[str, ...]:
        """The words, as the text writes them, or else as their tokens do."""
        style = content_style(self.raw, self.special)
        members: list[list[int]] = [[] for _ in range(self.word_count)]
        for i, word in enumerate(self.words):
            if word is not None:
                members[word].append(i)
        return tuple(self._joined(tokens, style) for tokens in members)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One label per token for an axis: all different, nothing invisible."""
        return unique([visible(string) for string in self.strings])

    def segment_text(self, segment: int) -> str | None:
        """The text that the offsets of a segment count in."""
        return _segment_text(self.text, self.pair, segment)

    def by_whitespace(self) -> "Tokens":
        """The same tokens, with words parted by spaces alone.

        For text that has been split already, such as that of gold alignments, where "Mr." is one word.
        """
        if self.text is None:
            return self
        texts = _texts(self.text, self.pair, self.segments)
        reading = read(texts, self.raw, self.special, self.segments, self.spans)
        return replace(self, words=words_of(reading, (None,) * len(self), by_whitespace))

    def _joined(self, tokens: Sequence[int], style: Style) -> str:
        text = self.segment_text(self.segments[tokens[0]])
        spans = [span for span in map(self.spans.__getitem__, tokens) if span is not None]
        if text is not None and spans:
            return trimmed(readable(text[min(spans)[0] : _with_marks(text, max(end for _, end in spans))]))
        if len(tokens) == 1:
            return self.strings[tokens[0]]
        return decoded([self.raw[i] for i in tokens], style)


def _check_lengths(columns: Mapping[str, Sequence[object] | None], size: int) -> None:
    for name, values in columns.items():
        if values is not None and len(values) != size:
            raise InputError(f"{name} must have one entry for each of the {size} ids, but has {len(values)}")


def _check_spans(spans: Sequence[Span | None], segments: Sequence[int], texts: Mapping[int, str]) -> None:
    for i, span in enumerate(spans):
        size = len(texts[segments[i]])
        if span is not None and not 0 <= span[0] <= span[1] <= size:
            raise InputError(
                f"the offsets {span} of token {i} are outside its text of {size} characters;"
                " pass the text that was tokenized, and sequence_ids() as segments if it is a pair"
            )


def _check_words(words: Words) -> None:
    numbers = {word for word in words if word is not None}
    if numbers != set(range(len(numbers))):
        raise InputError(f"words must be numbered from 0 without gaps, but are {sorted(numbers)}")


def _words(reading: Reading, given: Sequence[int | None] | None, placed: bool) -> Words:
    """Our words, where characters of a text show them; else the tokenizer's, or those that its marks show."""
    if given is not None and not placed:
        return given_words(reading.segments, reading.special, given)
    cut = by_whitespace if reading.split else by_punctuation
    return words_of(reading, given or (None,) * len(reading.special), cut)


def _spans(offsets: Sequence[Span | None], special: Sequence[bool]) -> tuple[Span | None, ...]:
    """The offsets of tokens that stand for some characters."""
    return tuple(
        None if hidden or span is None or span[0] == span[1] else (int(span[0]), int(span[1]))
        for span, hidden in zip(offsets, special, strict=True)
    )


def _without_borrowed(
    spans: Sequence[Span | None], raw: Sequence[str], special: Sequence[bool], texts: Sequence[str]
) -> tuple[Span | None, ...]:
    """The spans without those of a bare ▁ to which the tokenizer gives the character that follows."""
    style = content_style(raw, special)
    return tuple(
        None if span and style.read(token).isspace() and text[slice(*span)].strip() else span
        for span, token, text in zip(spans, raw, texts, strict=True)
    )


def _segments(given: Sequence[int | None], special: Sequence[bool], paired: bool) -> tuple[int, ...]:
    """The segment of each token; a token without one is in that of the token before it."""
    filled: list[int] = []
    for number in given:
        filled.append(int(number) if number is not None else filled[-1] if filled else 0)
    content = {number for number, hidden in zip(filled, special, strict=True) if not hidden}
    return _segments_by_gap(special) if paired and content <= {0} else tuple(filled)


def _segments_by_gap(special: Sequence[bool]) -> tuple[int, ...]:
    """The segments of a pair whose type ids are all alike (RoBERTa): special tokens stand between them."""
    segment, content = 0, False
    found: list[int] = []
    for i, hidden in enumerate(special):
        if content and not hidden and special[i - 1]:
            segment = 1
        content = content or not hidden
        found.append(segment)
    return tuple(found)


def _with_marks(text: str, end: int) -> int:
    """The end of a word with the accents that the tokenizer dropped."""
    while end < len(text) and extends(text[end]):
        end += 1
    return end


def _texts(text: str | None, pair: str | None, segments: Sequence[int]) -> dict[int, str]:
    return {n: _segment_text(text, pair, n) or "" for n in set(segments)}


def _segment_text(text: str | None, pair: str | None, segment: int) -> str | None:
    return pair if segment == 1 and pair is not None else text
