"""The scopes in which attention is taken apart, as linear maps with their statistics frozen.

    attention   Σ_h α f                                   what the heads add
    residual    scale ⊙ Σ_h α f + [i = j] r_i             with the residual stream (Kobayashi et al. 2021, ATTNRES)
    block       the same after the block's normalisations  (ATTNRESLN)
    encoder     the same after the layer's closing normalisation, with the feed-forward left out  (GlobEnc)

In each scope the part of key j for query i is  p_i · L(Σ_h α f) + [i = j] · q_i · M(r_i)  with static maps L and M
and one number p_i, q_i per query: the frozen statistics. That is all the Gram form needs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from attnscope.record import Block, LayerRecord, Norm

Map = Callable[[Float[Tensor, "*lead model"]], Float[Tensor, "*lead model"]]
ScopeName = Literal["attention", "residual", "block", "encoder"]


class NoBlock(ValueError):
    """The layer's way to the residual stream is not known."""


def unchanged(vectors: Float[Tensor, "*lead model"]) -> Float[Tensor, "*lead model"]:
    """The identity; compared with `is`, so that work on it can be shared."""
    return vectors


@dataclass(frozen=True)
class Scope:
    """One scope of one layer."""

    carry: Map
    """L: what the scope does to the heads' vectors."""
    consume: Map | None = None
    """The same, written over the vectors; None where nothing is gained by it."""
    carry_scale: Float[Tensor, "query"] | None = None
    """p"""
    stream: Float[Tensor, "query model"] | None = None
    """M(r_i): the residual as it stands in the result, but for its scale."""
    stream_scale: Float[Tensor, "query"] | None = None
    """q"""

    def carried(self, vectors: Float[Tensor, "query model"]) -> Float[Tensor, "query model"]:
        """p_i · L(u_i)"""
        vectors = self.carry(vectors)
        return vectors if self.carry_scale is None else vectors * self.carry_scale[:, None]

    def own(self) -> Float[Tensor, "query model"] | None:
        """q_i · M(r_i)"""
        if self.stream is None or self.stream_scale is None:
            return self.stream
        return self.stream * self.stream_scale[:, None]


def scope(record: LayerRecord, name: ScopeName) -> Scope:
    """The scope called `name` of a layer."""
    if name == "attention":
        return Scope(unchanged, carry_scale=record.row_scale)
    if record.block is None:
        raise NoBlock(f"the residual stream of layer {record.layer} is not known")
    if name == "residual":
        return _residual(record, record.block)
    block = _block(record, record.block)
    return block if name == "block" else _encoder(record, block)


def scaled(block: Block, vectors: Float[Tensor, "*lead model"]) -> Float[Tensor, "*lead model"]:
    """Scale ⊙ u"""
    return vectors if block.scale is None else vectors * block.scale


def _residual(record: LayerRecord, block: Block) -> Scope:
    carry = unchanged if block.scale is None else partial(scaled, block)
    return Scope(carry, carry_scale=record.row_scale, stream=block.residual)


def _block(record: LayerRecord, block: Block) -> Scope:
    before = _residual(record, block)
    if block.branch is None and block.post is None:
        return before

    def carry(vectors: Float[Tensor, "*lead model"], *, over: bool = False) -> Float[Tensor, "*lead model"]:
        vectors, over = scaled(block, vectors), over or block.scale is not None
        vectors = vectors if block.branch is None else block.branch.linear(vectors, over=over)
        over = over or block.branch is not None
        return vectors if block.post is None else block.post.linear(vectors, over=over)

    branch, post = branch_spread(record, block), post_spread(record, block)
    carry_scale = _product(_product(record.row_scale, _inverse(branch)), _inverse(post))
    stream = block.residual if block.post is None else block.post.linear(block.residual)
    return Scope(carry, partial(carry, over=True), carry_scale, stream, _inverse(post))


def _encoder(record: LayerRecord, block: Scope) -> Scope:
    """The block's parts through what closes the layer, its statistic that of the real total."""
    tail = record.tail
    if tail is None:
        raise NoBlock(f"the end of layer {record.layer} is not known")
    if tail.post is None and tail.scale is None:
        return block
    post, scale = tail.post, tail.scale

    def close(vectors: Float[Tensor, "*lead model"]) -> Float[Tensor, "*lead model"]:
        vectors = vectors if scale is None else vectors * scale
        return vectors if post is None else post.linear(vectors)

    def carry(vectors: Float[Tensor, "*lead model"]) -> Float[Tensor, "*lead model"]:
        return close(block.carry(vectors))

    spread = None if post is None or tail.total is None else 1 / post.spread(tail.total)[:, 0]
    return Scope(
        carry,
        carry_scale=_product(block.carry_scale, spread),
        stream=None if block.stream is None else close(block.stream),
        stream_scale=_product(block.stream_scale, spread),
    )


def _product(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return one * other


def branched(block: Block, projected: Float[Tensor, "query model"]) -> Float[Tensor, "query model"]:
    """What an attention output adds to the stream: branch(scale ⊙ y)."""
    added = scaled(block, projected)
    return added if block.branch is None else normalised(block.branch, added)


def normalised(norm: Norm, vectors: Float[Tensor, "*lead model"]) -> Float[Tensor, "*lead model"]:
    """A normalisation as the model applies it, with the statistic of these very vectors."""
    return norm.linear(vectors) / norm.spread(vectors) + norm.bias


def before_closing(block: Block, projected: Float[Tensor, "query model"]) -> Float[Tensor, "query model"]:
    """The stream once the attention has been added, as the closing normalisation sees it."""
    total = block.residual + branched(block, projected)
    return total if block.extra is None else total + block.extra


def branch_spread(record: LayerRecord, block: Block) -> Float[Tensor, "query"] | None:
    """The statistic of the branch normalisation in this pass."""
    return None if block.branch is None else block.branch.spread(scaled(block, record.projected))[:, 0]


def post_spread(record: LayerRecord, block: Block) -> Float[Tensor, "query"] | None:
    """The statistic of the closing normalisation in this pass."""
    if block.post is None:
        return None
    return block.post.spread(before_closing(block, record.projected))[:, 0]


def _inverse(spread: Float[Tensor, "query"] | None) -> Float[Tensor, "query"] | None:
    return None if spread is None else 1 / spread
