"""One head, token by token."""

from typing import Literal

from attnscope.artifacts.tokens import TokenList
from attnscope.artifacts.value import Value


class Head(Value):
    """How much a head takes from each key to each query, by weight and by norm.

    Arrays:

    weight   float32 (query, key): α
    norm     float32 (query, key): ‖αf(x)‖
    """

    kind: Literal["head"] = "head"
    model: str
    measure: Literal["weight and head_norm"] = "weight and head_norm"
    stack: str
    unit: Literal["token", "word"]
    layer: int
    head: int
    tokens: TokenList
    """Who looks."""
    keys: TokenList
    """Who is looked at."""
    reconstruction_error: float
