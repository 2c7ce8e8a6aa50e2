"""Contributions by how near a token's vector comes to the block's output."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.axes import KEY, QUERY
from attnscope.decompose.laws import block_alone
from attnscope.decompose.parts import Rows
from attnscope.measures.registry import FERRANDO_2022, measure

_KEYS = 8
"""Keys per step: their vectors are built, since no Gram matrix gives distances in the 1-norm."""


@measure(
    dims=(QUERY, KEY),
    formula="max(0, ‖y_i‖₁ − ‖y_i − T_i(x_j)‖₁), rows normalised to 1",
    paper=FERRANDO_2022,
    scopes=("block",),
    self_only=True,
)
def alti(rows: Rows) -> Float[Tensor, "rows key"]:
    """How near a token's part comes to the block's output, in the 1-norm, as shares of 1."""
    record = rows.record
    assert record.block is not None
    output = block_alone(record, record.block)[rows.rows]
    near = [
        output.abs().sum(-1) - (output - rows.vectors("block", slice(start, start + _KEYS))).abs().sum(-1)
        for start in range(0, record.keys, _KEYS)
    ]
    nearness = torch.cat(near).clamp_min_(0).T
    return nearness / nearness.sum(-1, keepdim=True).clamp_min(torch.finfo(nearness.dtype).tiny)
