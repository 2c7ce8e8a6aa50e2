"""The whole layer: attention block and feed-forward block."""

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import KEY, QUERY
from attnscope.decompose.gram import length
from attnscope.measures.registry import KOBAYASHI_2024, Replayed, measure


@measure(
    dims=(QUERY, KEY),
    formula="‖g²_i(FF_i(z_ij) + z_ij)‖ with z_ij the block's part of j",
    paper=KOBAYASHI_2024,
    replay="carried",
)
def feedforward_norm(replayed: Replayed) -> Float[Tensor, "query copies"]:
    """What the layer takes: the block's parts sent through feed-forward, residual and normalisation."""
    return length(replayed.output).T
