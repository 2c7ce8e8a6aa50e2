"""Attention with the residual stream."""

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import KEY, QUERY
from attnscope.decompose.parts import Rows
from attnscope.measures.registry import KOBAYASHI_2021, measure


@measure(dims=(QUERY, KEY), formula="‖Σ_h α^h_ij f^h(x_j) + [i=j] x_i‖", paper=KOBAYASHI_2021, scopes=("residual",))
def residual_norm(rows: Rows) -> Float[Tensor, "rows key"]:
    """What attention and residual together take: a token's own part holds the stream it came with."""
    return rows.lengths["residual"]
