"""How much a token's new state comes from other tokens, in the five published variants."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.axes import QUERY
from attnscope.decompose.parts import Mixing, Parts
from attnscope.measures.registry import KOBAYASHI_2021, measure

VARIANTS = ("weight", "residual_weight", "attention", "residual", "block")


@measure(
    dims=("variant", QUERY),
    formula="‖Σ_{j≠i}‖ / (‖Σ_{j≠i}‖ + ‖own‖)",
    paper=KOBAYASHI_2021,
    scopes=("residual", "block"),
    coordinates={"variant": VARIANTS},
)
def mixing_ratio(parts: Parts) -> Float[Tensor, "variant query"]:
    """How much comes from other tokens, by weights alone and by vectors in each scope."""
    weight = parts.weight_on_others
    scopes = [_ratio(parts.mixing(name)) for name in ("attention", "residual", "block")]
    return torch.stack([weight, weight / 2, *scopes])


def _ratio(mixing: Mixing) -> Float[Tensor, "query"]:
    return mixing.others / (mixing.others + mixing.own)
