"""How much a layer's output changes when a token's value is taken away."""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from attnscope.axes import KEY, QUERY
from attnscope.measures.registry import MOHEBBI_2023, Replayed, measure


@measure(dims=(QUERY, KEY), formula="1 − cos(x̃_i, x̃_i with v_j = 0)", paper=MOHEBBI_2023, replay="zeroed")
def value_zeroing(replayed: Replayed) -> Float[Tensor, "query copies"]:
    """What is lost without a token's values: the cosine distance of the layer's output, its inputs as they were."""
    assert replayed.record.tail is not None
    without, actual = (normalize(output, dim=-1) for output in (replayed.output, replayed.record.tail.output))
    return (without - actual).square().sum(-1).T / 2  # 1 − cos, without the rounding of a difference from 1
