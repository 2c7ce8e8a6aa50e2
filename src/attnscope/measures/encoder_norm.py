"""The layer with its feed-forward block left out, but with the normalisation that closes it (GlobEnc)."""

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import KEY, QUERY
from attnscope.decompose.parts import Rows
from attnscope.measures.registry import MODARRESSI_2022, measure


@measure(
    dims=(QUERY, KEY),
    formula="‖g²_i(g_i(Σ_h α^h_ij f^h(x_j) + [i=j] x_i))‖",
    paper=MODARRESSI_2022,
    scopes=("encoder",),
)
def encoder_norm(rows: Rows) -> Float[Tensor, "rows key"]:
    """What the layer takes but for its feed-forward block: through both residuals and both normalisations."""
    return rows.lengths["encoder"]
