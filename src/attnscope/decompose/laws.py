"""The identities that prove a decomposition: the parts, added up, are what the model itself computed.

Law 1: Σ_h Σ_j α^h_ij f^h(x_j) + b_O is the attention's output.
Law 2: with residual, multipliers and normalisations, the parts of a block add up to the block's output.
Law 3: sent through the feed-forward block, they and what biases do add up to the layer's output.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.decompose.gram import length
from attnscope.decompose.scopes import before_closing, normalised, scope
from attnscope.record import Block, LayerRecord

_ROWS = 64


@dataclass(frozen=True)
class LawErrors:
    """Relative reconstruction errors of one layer; None where it could not be followed so far, or was not asked to."""

    attention: float
    block: float | None
    layer: float | None = None

    @property
    def worst(self) -> float:
        errors = [error for error in (self.attention, self.block, self.layer) if error is not None]
        return math.nan if any(map(math.isnan, errors)) else max(errors)  # `max` overlooks NaN


def relative_error(found: Float[Tensor, "query model"], actual: Float[Tensor, "query model"]) -> float:
    """The worst row's error by its own length; rows shorter than the median row count as that long.

    Per row, because a few huge rows (the massive activations of decoders) would otherwise hide all others; with the
    median as a floor, because a row that cancels to nearly nothing has no relative precision to lose.
    """
    return worst_row(length(found - actual), actual)


def worst_row(errors: Float[Tensor, "query"], actual: Float[Tensor, "query model"]) -> float:
    """The largest of the rows' errors, relative as `relative_error` says."""
    lengths = length(actual)
    floor = lengths.median().clamp_min(torch.finfo(lengths.dtype).tiny)
    return float((errors / lengths.clamp_min(floor)).max())


def reconstructed(record: LayerRecord) -> Float[Tensor, "query model"]:
    """Σ_h Σ_j α f + b_O from its factors, without the model."""
    if record.gate is not None:
        total = _gated(record, record.gate)
    else:
        total = torch.zeros_like(record.projected)
        for head in range(record.heads):
            sent = record.value[head] @ record.projection[head]
            for step in record.row_blocks(_ROWS):
                total[step] += record.attention(step)[head] @ sent
    total = total if record.row_scale is None else total * record.row_scale[:, None]
    return total if record.bias is None else total + record.bias


def _gated(record: LayerRecord, gate: Float[Tensor, "head query value"]) -> Float[Tensor, "query model"]:
    """Behind a gate: Σ_h (Σ_j α v_j) ⊙ gate through the projection (the gate is the same for all keys)."""
    rows: list[Tensor] = []
    for step in record.row_blocks(_ROWS):
        mixed = (record.attention(step) @ record.value) * gate[:, step]
        rows.append(torch.einsum("hqv,hvm->qm", mixed, record.projection))
    return torch.cat(rows)


def block_output(block: Block, projected: Float[Tensor, "query model"]) -> Tensor:
    """The block's output as the plan has it, from an attention output."""
    total = before_closing(block, projected)
    return total if block.post is None else normalised(block.post, total)


def check(record: LayerRecord) -> LawErrors:
    """Both laws on one layer, in full: the frozen linear maps are summed, not the model's own operations."""
    projected = reconstructed(record)
    attention = relative_error(projected, record.projected)
    if record.block is None:
        return LawErrors(attention, None)
    return LawErrors(attention, relative_error(_summed_block(record, record.block, projected), record.block.output))


def _summed_block(record: LayerRecord, block: Block, projected: Tensor) -> Float[Tensor, "query model"]:
    """Σ_j parts of the block scope + transformed b_O + β."""
    total = _without_stream(record, block, projected, block.extra)
    own = scope(record, "block").own()
    return total if own is None else total + own


def block_constant(record: LayerRecord, block: Block, *, with_extra: bool = True) -> Float[Tensor, "query model"]:
    """What no token brings to the block's output: the transformed b_O, β, and what else is added (`extra`)."""
    bias = torch.zeros_like(record.projected)
    bias = bias if record.bias is None else bias + record.bias
    return _without_stream(record, block, bias, block.extra if with_extra else None)


def block_alone(record: LayerRecord, block: Block) -> Float[Tensor, "query model"]:
    """The block's output without what a feed-forward beside the attention adds to it."""
    if block.extra is None:
        return block.output
    if block.post is None:
        return block.output - block.extra
    return block.output - block.post.linear(block.extra) / block.post.spread(before_closing(block, record.projected))


def _without_stream(record: LayerRecord, block: Block, projected: Tensor, extra: Tensor | None) -> Tensor:
    """An attention output through the frozen maps of the block, with biases and extras, but not the residual."""
    frozen = scope(record, "block")
    total = frozen.carry(projected)
    if frozen.carry_scale is not None:
        scale = frozen.carry_scale if record.row_scale is None else frozen.carry_scale / record.row_scale
        total = total * scale[:, None]
    extra = extra if block.branch is None else _plus(extra, block.branch.bias.expand_as(total))
    if block.post is None:
        return total if extra is None else total + extra
    if extra is not None and frozen.stream_scale is not None:
        total = total + block.post.linear(extra) * frozen.stream_scale[:, None]
    return total + block.post.bias


def _plus(left: Tensor | None, right: Tensor) -> Tensor:
    return right if left is None else left + right
