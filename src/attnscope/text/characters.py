"""What kind of character a character is, as far as words need to know."""

import string
from bisect import bisect_right
from unicodedata import category

LINE_BREAKS = frozenset("\n\r\v\f\x85\u2028\u2029")
_MARKS = frozenset({"Mn", "Mc", "Me", "Cf"})
_LONG_VOWELS = "ーｰ"  # they follow either kana
ZERO_WIDTH_JOINER = "\u200d"

# Scripts written without spaces: first and last code point of each block, and the class it belongs to.
_BLOCKS = (
    (0x0E00, 0x0E7F, "thai"),
    (0x0E80, 0x0EFF, "lao"),
    (0x1000, 0x109F, "burmese"),
    (0x1780, 0x17FF, "khmer"),
    (0x3005, 0x3007, "han"),
    (0x3041, 0x309F, "hiragana"),
    (0x30A1, 0x30FF, "katakana"),
    (0x31F0, 0x31FF, "katakana"),
    (0x3400, 0x4DBF, "han"),
    (0x4E00, 0x9FFF, "han"),
    (0xF900, 0xFAFF, "han"),
    (0xFF66, 0xFF9F, "katakana"),
    (0x20000, 0x3FFFF, "han"),
)
_FIRSTS = tuple(first for first, _, _ in _BLOCKS)


def is_blank(char: str) -> bool:
    """Whether it is a space that does not end a line."""
    return char.isspace() and char not in LINE_BREAKS


def has_line_break(text: str) -> bool:
    """Whether a line ends in the text."""
    return not LINE_BREAKS.isdisjoint(text)


def is_punctuation(char: str) -> bool:
    """Whether it is punctuation in any script, or one of the ASCII signs that people count as such."""
    return category(char).startswith("P") or char in string.punctuation


def is_mark(char: str) -> bool:
    """Whether it cannot be seen by itself: accents, vowel signs, joiners, marks of direction."""
    return category(char) in _MARKS


def extends(char: str) -> bool:
    """Whether it belongs to the character before it: a mark, a skin tone, a long vowel of kana."""
    return is_mark(char) or "\U0001f3fb" <= char <= "\U0001f3ff" or char in _LONG_VOWELS


def is_regional(char: str) -> bool:
    """Whether it is half of a flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def is_alphanumeric(char: str) -> bool:
    """Whether words and numbers are made of it (the underscore of identifiers included)."""
    return char.isalnum() or category(char) == "Pc"


def spaceless_script(char: str) -> str | None:
    """The script, if it is one that puts no space between words."""
    if not is_alphanumeric(char) and not extends(char):
        return None
    code = ord(char)
    block = bisect_right(_FIRSTS, code) - 1
    if block < 0 or code > _BLOCKS[block][1]:
        return None
    return _BLOCKS[block][2]


def is_japanese_or_chinese(char: str) -> bool:
    """Whether it is a Han character or kana."""
    return spaceless_script(char) in {"han", "hiragana", "katakana"}
