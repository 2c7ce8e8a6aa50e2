"""Which heads look at a word, or from it."""

from typing import Literal

from attnscope.artifacts.tokens import TokenList
from attnscope.artifacts.value import Value


class FoundText(Value):
    """A text with hits, in the units they are counted in."""

    number: int
    """Its place among those that were searched, from 0."""
    text: str
    pair: str | None
    tokens: TokenList


class Search(Value):
    """Where a head's share of a word passes a threshold, the strongest first.

    Arrays, with one head where `heads` is empty:

    place   int32 (hit, 5): which of `texts`, and layer, head, query and key, all from 0
    share   float32 (hit): the share of the query that the key gets
    count   uint32 (layer, head): how many hits there are, also of those that are left out
    """

    kind: Literal["search"] = "search"
    model: str
    measure: str
    word: str
    threshold: float
    direction: Literal["to", "from"]
    where: Literal["text", "corpus"]
    unit: Literal["token", "word"]
    stack: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    texts: tuple[FoundText, ...]
    """Those that have hits."""
    searched: int
    """How many texts were searched."""
    unread: int
    """How many of a corpus the model could not read."""
    why_unread: str | None
    """Why, for the first of them."""
    with_word: int
    """How many of them have the word; none is an answer too."""
    hits: int
    """How many there are; no more than the strongest are in the arrays."""
    truncated: bool
    reconstruction_error: float
