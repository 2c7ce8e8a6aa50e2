"""The attention weight itself."""

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import HEAD, KEY, QUERY
from attnscope.decompose.parts import Rows
from attnscope.measures.registry import KOBAYASHI_2020, measure


@measure(dims=(HEAD, QUERY, KEY), formula="α^h_ij", paper=KOBAYASHI_2020)
def weight(rows: Rows) -> Float[Tensor, "head rows key"]:
    """Where a head looks: its weights, one distribution over the keys for each query."""
    return rows.weight
