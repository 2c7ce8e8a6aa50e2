"""The vectors themselves, for a few keys at a time: for questions that lengths cannot answer."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.decompose.scopes import ScopeName, scope
from attnscope.record import LayerRecord


def part_vectors(
    record: LayerRecord, name: ScopeName, keys: slice, rows: slice = slice(None), *, own: bool = True
) -> Float[Tensor, "keys rows model"]:
    """What each of some keys brings to each of some queries in a scope; `own` with the residual on the diagonal."""
    part = scope(record, name)
    rows = slice(*rows.indices(record.queries))
    keys = slice(*keys.indices(record.keys))
    vectors = part.carry(_sent(record, keys, rows))
    if part.carry_scale is not None:
        vectors = vectors * part.carry_scale[rows, None]
    stream = part.own()
    if own and stream is not None and not record.is_cross:
        for key in range(max(keys.start, rows.start), min(keys.stop, rows.stop)):
            vectors[key - keys.start, key - rows.start] += stream[key]
    return vectors


def _sent(record: LayerRecord, keys: slice, rows: slice) -> Float[Tensor, "keys rows model"]:
    """Σ_h α^h_ij f^h(x_j), but for the row scale, which the scopes hold."""
    weight = record.attention(rows)[..., keys]
    value = record.value[:, keys]
    if record.gate is None:
        sent = (value @ record.projection).transpose(0, 1)
        return weight.permute(2, 1, 0) @ sent
    mixed = weight[..., None] * value[:, None] * record.gate[:, rows, None]
    return mixed.permute(2, 1, 0, 3).flatten(2) @ record.projection.flatten(0, 1)


def without_key(record: LayerRecord, keys: slice) -> Float[Tensor, "keys query model"]:
    """What the attention would put out without the value of each of some keys.

    The other keys are added up, rather than one taken away from the whole: where a query looks at one key alone, next
    to nothing is left, and a normalisation behind would blow up the rounding of a difference.
    """
    keys = slice(*keys.indices(record.keys))
    copies = keys.stop - keys.start
    values = record.value.expand(copies, *record.value.shape).clone()
    for copy, key in enumerate(range(keys.start, keys.stop)):
        values[copy, :, key] = 0
    mixed = torch.einsum("hqk,chkv->chqv", record.attention(), values)
    if record.gate is not None:
        mixed = mixed * record.gate
    output = mixed.transpose(1, 2).flatten(2) @ record.projection.flatten(0, 1)
    output = output if record.row_scale is None else output * record.row_scale[:, None]
    return output if record.bias is None else output + record.bias
