"""Token strings as tokenizers write them, and the text that they stand for.

Each family of tokenizers marks where words begin or go on in its own way. `rebuild` undoes the marks for a
tokenizer that gives no character offsets, so that everything after it can go by text and spans alike.
Pieces are joined as bytes, because one character may be spread over several tokens.
"""

import codecs
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

Span = tuple[int, int]

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_SHIFTED = tuple(byte for byte in range(256) if byte not in _PRINTABLE)
# GPT-2's alphabet: printable bytes are themselves, the others are moved to U+0100 and on.
_BYTE_OF = {chr(b): b for b in _PRINTABLE} | {chr(256 + i): b for i, b in enumerate(_SHIFTED)}


class Rebuilt(NamedTuple):
    """A text, and the characters of each token in it."""

    text: str
    spans: list[Span]


class Style(NamedTuple):
    """One way to mark words: how to recognise it, and the bytes that a token stands for.

    `split`: punctuation is set apart, so that spaces alone part the words.
    """

    used_in: Callable[[Sequence[str]], bool]
    read: Callable[[str], bytes]
    split: bool = False


def style_of(raw: Sequence[str]) -> Style:
    """The way these tokens mark words."""
    return next(style for style in STYLES if style.used_in(raw))


def rebuild(raw: Sequence[str], style: Style) -> Rebuilt:
    """The text that the tokens stand for, up to white space that the tokenizer dropped."""
    pieces = [style.read(token) for token in raw]
    text = b"".join(pieces).decode("utf-8", "surrogateescape")
    return Rebuilt(text, _spans(pieces, text))


def _spans(pieces: Sequence[bytes], text: str) -> list[Span]:
    """The characters that each piece touches, those included that it shares with a neighbour."""
    ends = list(accumulate(len(char.encode("utf-8", "surrogateescape")) for char in text))
    bounds = [0, *accumulate(map(len, pieces))]
    spans: list[Span] = []
    for start, end in pairwise(bounds):
        first = bisect_right(ends, start)
        spans.append((first, bisect_left(ends, end) + 1 if end > start else first))
    return spans


def _is_byte_level(raw: Sequence[str]) -> bool:
    if any(token.startswith(("##", "▁")) and len(token) > 2 for token in raw):
        return False
    return any(token.startswith(("Ġ", "Ċ")) for token in raw) or _is_mojibake("".join(raw))


def _is_mojibake(text: str) -> bool:
    """Whether the letters are bytes in disguise: then, and hardly ever else, they decode to UTF-8."""
    if text.isascii() or any(char not in _BYTE_OF for char in text):
        return False
    try:
        decoded = codecs.getincrementaldecoder("utf-8")().decode(_byte_level(text))
    except UnicodeDecodeError:
        return False
    return not decoded.isascii()


def _byte_level(token: str) -> bytes:
    if all(char in _BYTE_OF for char in token):
        return bytes(_BYTE_OF[char] for char in token)
    return _encoded(token)


def _is_sentence_piece(raw: Sequence[str]) -> bool:
    return any("▁" in token or _BYTE_TOKEN.fullmatch(token) for token in raw)


def _sentence_piece(token: str) -> bytes:
    byte = _BYTE_TOKEN.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else _encoded(token.replace("▁", " "))


def _has_end_marks(raw: Sequence[str]) -> bool:
    return any(token.endswith("</w>") for token in raw)


def _end_marked(token: str) -> bytes:
    return _encoded(token.removesuffix("</w>") + " " if token.endswith("</w>") else token)


def _has_joined_ends(raw: Sequence[str]) -> bool:
    return any(token.endswith("@@") and token != "@@" for token in raw)


def _joined_end(token: str) -> bytes:
    return _encoded(token.removesuffix("@@") if _has_joined_ends([token]) else token + " ")


def _always(_: Sequence[str]) -> bool:
    return True


def _word_piece(token: str) -> bytes:
    continues = token.startswith("##") and len(token) > 2
    return _encoded(token.removeprefix("##") if continues else " " + token)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# The first that fits is taken. WordPiece comes last and fits anything: without a mark, each token is a word.
STYLES = (
    Style(_is_byte_level, _byte_level),
    Style(_is_sentence_piece, _sentence_piece),
    Style(_has_end_marks, _end_marked),
    Style(_has_joined_ends, _joined_end),
    Style(_always, _word_piece, split=True),
)
