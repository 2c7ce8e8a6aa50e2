"""The whole attention block: attention, residual and normalisation."""

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import KEY, QUERY
from attnscope.decompose.parts import Rows
from attnscope.measures.registry import KOBAYASHI_2021, measure


@measure(
    dims=(QUERY, KEY),
    formula="‖g_i(Σ_h α^h_ij f^h(x_j) + [i=j] x_i)‖",
    paper=KOBAYASHI_2021,
    scopes=("block",),
)
def block_norm(rows: Rows) -> Float[Tensor, "rows key"]:
    """What the attention block takes: with the residual, and after the block's normalisation."""
    return rows.lengths["block"]
