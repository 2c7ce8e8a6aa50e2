"""The length of what a key has to give to a head, before the weight."""

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import HEAD, KEY
from attnscope.decompose.parts import Parts
from attnscope.measures.registry import KOBAYASHI_2020, measure


@measure(dims=(HEAD, KEY), formula="‖f^h(x_j)‖", paper=KOBAYASHI_2020)
def value_norm(parts: Parts) -> Float[Tensor, "head key"]:
    """What a token has to give: the length of its value vector behind the output projection."""
    return parts.sent_norm
