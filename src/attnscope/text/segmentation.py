"""Words of a text, found in its characters.

A tokenizer's own words will not do: SentencePiece often calls a whole text one word, byte-level BPE glues
some punctuation and splits other, and two models that are to be compared disagree. So words are defined here,
by the text alone, in the spirit of Unicode's UAX 29 but smaller:

- white space separates, and belongs to no word;
- letters and digits run together; an apostrophe between letters (don't) and a point or comma between digits
  (3.14) do not part them;
- every other sign is a word of its own, a repeated one (... or --) is one word;
- accents, vowel signs, joiners and skin tones stay with what they modify, the two halves of a flag together;
- scripts without spaces (Japanese, Chinese, Thai, Lao, Khmer, Burmese) change word where the script changes:
  こんにちは|世界.

The result gives for every character the number of its word, or `NONE` for white space.
"""

from unicodedata import category

from attnscope.text.characters import (
    ZERO_WIDTH_JOINER,
    extends,
    is_alphanumeric,
    is_regional,
    spaceless_script,
)

NONE = -1


Segmentation = tuple[int, ...]


def by_whitespace(text: str) -> Segmentation:
    """Words by white space alone: the text has been split already, as gold alignments have it."""
    words: list[int] = []
    last = NONE
    for i, char in enumerate(text):
        if char.isspace():
            words.append(NONE)
            continue
        if i == 0 or text[i - 1].isspace():
            last += 1
        words.append(last)
    return tuple(words)


def by_punctuation(text: str) -> Segmentation:
    """Words by white space, punctuation and change of script."""
    words: list[int] = []
    last, start, base = NONE, 0, NONE
    for i, char in enumerate(text):
        if char.isspace():
            words.append(NONE)
            base = NONE
            continue
        if i == 0 or words[i - 1] == NONE or not _joins(text, i, start, base):
            last, start, base = last + 1, i, NONE
        words.append(last)
        if not extends(char):
            base = i
    return tuple(words)


def _joins(text: str, i: int, start: int, base: int) -> bool:
    """Whether character `i` goes on the word from `start`, whose last full character is `base`."""
    char = text[i]
    if base == NONE or extends(char):
        return True
    before = text[base]
    if is_regional(char) and is_regional(before):
        return base == start
    if text[i - 1] == ZERO_WIDTH_JOINER and category(char) == category(before) == "So":
        return True
    if _part_of_word(text, i) and _part_of_word(text, base):
        return _class(char) == _class(before)
    return char == before and category(char)[0] in "PS" and category(char) != "So"


def _part_of_word(text: str, i: int) -> bool:
    return is_alphanumeric(text[i]) or _inside_word(text, i)


def _inside_word(text: str, i: int) -> bool:
    """Whether it is the apostrophe of don't or the point of 3.14."""
    before = _full_character(text, i - 1)
    after = text[i + 1 : i + 2]
    if text[i] in "'’·":
        return before.isalpha() and after.isalpha()
    return text[i] in ".," and before.isdigit() and after.isdigit()


def _full_character(text: str, i: int) -> str:
    while i >= 0 and extends(text[i]):
        i -= 1
    return text[i] if i >= 0 else ""


def _class(char: str) -> str:
    return spaceless_script(char) or "spaced"
