"""The maps of all layers, the strongest keys of each query only: what graphs are traced from and drawn."""

from typing import Literal

from attnscope.artifacts.flow import Reading
from attnscope.artifacts.tokens import TokenList
from attnscope.artifacts.value import Value


class Maps(Value):
    """What each query takes from its strongest keys, in shares of all that it takes.

    Arrays, with one head where `heads` is empty:

    key               uint16 (layer, head, query, kept): the keys, the strongest first
    share             float32 (layer, head, query, kept): their shares of the row
    total             float32 (layer, head, query): the sum of the row, so that the value is share × total
    histogram_edge    float32 (41): where the bins begin and end
    histogram_count   uint32 (40): how many (layer, query, key) have their largest share over heads in each bin
    """

    kind: Literal["maps"] = "maps"
    model: str
    measure: str
    reading: Reading
    stack: str
    unit: Literal["token", "word"]
    tokens: TokenList
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    """Empty where all heads are together."""
    kept: int
    """How many keys each query has."""
    floor: float
    """Shares up to this may be missing; 0 if all are there."""
    causal: bool
    default_target: int
    holds_residual: bool
    """Whether what a token keeps of itself is in the measure; if not, readings over layers add it."""
    reconstruction_error: float
