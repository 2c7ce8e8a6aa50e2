"""The vectors themselves, for a few keys at a time: for questions that lengths cannot answer."""

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
