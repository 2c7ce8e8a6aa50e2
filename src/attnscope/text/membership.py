"""Which word each token belongs to.

A token belongs to the word that holds its first character that is no space. Three kinds of tokens have no
such word, and are decided here:

- one that reaches over several words (a SentencePiece 食べる, a byte-level .") is a word of its own;
- blanks and empty pieces lean on the token that follows, as the space in `Ġthe` does;
- line breaks, and blanks that nothing follows, are words of their own.

Chinese and Japanese words are cut further where the tokenizer cuts them (BERT makes each Chinese character a
word). Elsewhere its cuts are not used: byte-level BPE cuts at every vowel sign of Thai.
"""

from collections.abc import Callable, Hashable, Sequence

from attnscope.text.characters import extends, has_line_break, is_japanese_or_chinese
from attnscope.text.reading import Reading
from attnscope.text.segmentation import NONE, Segmentation

Words = tuple[int | None, ...]
Key = tuple[Hashable, ...]


def words_of(reading: Reading, given: Sequence[int | None], cut: Callable[[str], Segmentation]) -> Words:
    """The word of each token, numbered in order of appearance through all segments; None if special.

    `given` are the tokenizer's own words, `cut` finds those of a text.
    """
    owners = {n: _owners(reading, n, cut(text), given) for n, text in reading.texts.items()}
    keys: list[Key | None] = [None] * len(reading.special)
    for i in reversed(range(len(keys))):
        if not reading.special[i]:
            keys[i] = _key(reading, i, owners[reading.segments[i]]) or _lean(reading, i, keys)
    return _numbered(keys)


def given_words(segments: Sequence[int], special: Sequence[bool], given: Sequence[int | None]) -> Words:
    """The tokenizer's own words, made unique through all segments; a token without one is its own."""
    keys = [(segments[i], "given", word) if word is not None else ("own", i) for i, word in enumerate(given)]
    return _numbered([None if special[i] else key for i, key in enumerate(keys)])


def _numbered(keys: Sequence[Key | None]) -> Words:
    seen: dict[Key, int] = {}
    return tuple(None if key is None else seen.setdefault(key, len(seen)) for key in keys)


def _key(reading: Reading, token: int, owners: Sequence[Key | None]) -> Key | None:
    """What the tokens of one word have in common; None for a token without characters."""
    span = reading.spans[token]
    if span is not None:
        owned = [owner for owner in owners[span[0] : span[1]] if owner is not None]
        if owned:
            return owned[0] if len(set(owned)) == 1 else ("own", token)
    return ("own", token) if reading.strings[token].strip() else None


def _lean(reading: Reading, token: int, keys: Sequence[Key | None]) -> Key:
    """The word of a blank: the next token's, unless a line ends here, or nothing or another blank follows."""
    following = keys[token + 1] if token + 1 < len(keys) else None
    if following is None or following[0] == "blank" or has_line_break(reading.strings[token]):
        return ("blank", token)
    same_segment = reading.segments[token + 1] == reading.segments[token]
    return following if same_segment else ("blank", token)


def _owners(reading: Reading, segment: int, cut: Segmentation, given: Sequence[int | None]) -> list[Key | None]:
    """The word of each character of a segment; None for spaces."""
    claims = _claims(reading, segment, given)
    return [None if word == NONE else (segment, word, claim) for word, claim in zip(cut, claims, strict=True)]


def _claims(reading: Reading, segment: int, given: Sequence[int | None]) -> list[int | None]:
    """The tokenizer's word of each Chinese or Japanese character of a segment."""
    text = reading.texts[segment]
    claims: list[int | None] = [None] * len(text)
    for word, span, number in zip(given, reading.spans, reading.segments, strict=True):
        if span is not None and number == segment:
            for place in range(*span):
                claims[place] = word if is_japanese_or_chinese(text[place]) else None
    for place in range(1, len(text)):
        if extends(text[place]):
            claims[place] = claims[place - 1]
    return claims
