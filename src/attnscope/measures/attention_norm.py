"""What all heads together carry from a key to a query."""

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import KEY, QUERY
from attnscope.decompose.parts import Rows
from attnscope.measures.registry import KOBAYASHI_2020, measure


@measure(dims=(QUERY, KEY), formula="‖Σ_h α^h_ij f^h(x_j)‖", paper=KOBAYASHI_2020, scopes=("attention",))
def attention_norm(rows: Rows) -> Float[Tensor, "rows key"]:
    """What attention takes: the length of the sum over heads, in which they may cancel."""
    return rows.lengths["attention"]
