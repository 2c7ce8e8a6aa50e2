"""How much a layer's value and output maps stretch a vector on average; needs weights only."""

from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.decompose.parts import Parts
from attnscope.measures.registry import KOBAYASHI_2021, measure
from attnscope.record import LayerRecord, ValueMap

_known: WeakKeyDictionary[ValueMap, tuple[tuple[float, ...], Tensor]] = WeakKeyDictionary()
"""The rate belongs to the weights, and costs more than a layer's pass: it is computed once for each layer."""


@measure(dims=(), formula="sqrt(Σσ²) / sqrt(d + 1) of f̃", paper=KOBAYASHI_2021)
def expansion_rate(parts: Parts) -> Float[Tensor, ""]:
    """How much f stretches: the root mean square singular value of its augmented matrix."""
    record = parts.record
    if record.value_map is None:
        return torch.tensor(float("nan"))
    marks = _marks(record, record.value_map)
    known = _known.get(record.value_map)
    if known is None or known[0] != marks:
        known = _known[record.value_map] = (marks, _rate(record, record.value_map))
    return known[1]


def _marks(record: LayerRecord, values: ValueMap) -> tuple[float, ...]:
    """Sums over the weights, which tell whether they are still those the rate was computed from."""
    tensors = [*values.parameters(), record.projection, *([] if record.bias is None else [record.bias])]
    return tuple(float(tensor.sum()) for tensor in tensors)


def _rate(record: LayerRecord, values: ValueMap) -> Float[Tensor, ""]:
    """f̃ = [[W_V W_O, 0], [b_V W_O + b_O, 1]]: Σσ² is the sum of its squared entries."""
    projection = record.projection.flatten(0, 1)
    weight, bias = values.read()
    weight = weight.to(projection) @ projection
    constant = torch.zeros_like(projection[0]) if bias is None else bias.to(projection) @ projection
    constant = constant if record.bias is None else constant + record.bias
    squares = weight.square().sum() + constant.square().sum() + 1
    return torch.sqrt(squares / (weight.shape[0] + 1)).cpu()
