"""Tokens as a view labels them."""

from attnscope.artifacts.value import Value


class TokenList(Value):
    """The tokens, or words, along an axis; all four lists are of the same length."""

    labels: tuple[str, ...]
    """As people read them, all different."""
    special: tuple[bool, ...]
    words: tuple[int | None, ...]
    """The word that each is a piece of; None for special tokens."""
    starts_word: tuple[bool, ...]
