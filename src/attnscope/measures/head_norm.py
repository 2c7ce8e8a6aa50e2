"""What one head carries from a key to a query."""

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import HEAD, KEY, QUERY
from attnscope.decompose.parts import Rows
from attnscope.measures.registry import KOBAYASHI_2020, measure


@measure(dims=(HEAD, QUERY, KEY), formula="‖α^h_ij f^h(x_j)‖", paper=KOBAYASHI_2020)
def head_norm(rows: Rows) -> Float[Tensor, "head rows key"]:
    """What a head takes: the length of the weighted vector it carries."""
    return rows.head_norm
