"""What heads look at, summed up: one number for each layer and head."""

from typing import Literal

from attnscope.artifacts.tokens import TokenList
from attnscope.artifacts.value import Value


class Heads(Value):
    """Where each head looks, by weight and by head_norm; shares of a row, mean over queries.

    Arrays, each float32:

    mass_weight, mass_norm         (layer, head, category): the share that the category's tokens get
    offset_weight, offset_norm     (layer, head, offset): the share of the token itself, the previous and the next
    entropy_weight, entropy_norm   (layer, head): in nats
    disagreement                   (layer, head): Jensen–Shannon divergence between weight and norm, in nats
    """

    kind: Literal["heads"] = "heads"
    model: str
    measure: Literal["weight and head_norm"] = "weight and head_norm"
    stack: str
    unit: Literal["token", "word"]
    tokens: TokenList
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    categories: tuple[str, ...]
    offsets: tuple[str, ...]
    roles: tuple[tuple[str, ...], ...]
    """What each head is called, by layer and head, by its weights (Clark et al. 2019)."""
    reconstruction_error: float
