"""One layer taken apart: for every query and key, how long the vector is that flows from one to the other.

A pass over the keys makes what belongs to keys (vectors for a few keys at a time, folded at once into Gram
matrices); passes over blocks of query rows then give the lengths. Several scopes share both passes.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.decompose.gram import gram, length, squared_lengths
from attnscope.decompose.laws import LawErrors, block_output, relative_error, worst_row
from attnscope.decompose.scopes import Map, Scope, ScopeName, scope, unchanged
from attnscope.record import LayerRecord

_CHUNK = 1 << 18
"""Numbers in the vectors of one step over the keys (1 MiB in float32)."""
_SKETCH = 8
"""Random directions in which Law 1 is checked on every analysis."""


@dataclass(frozen=True)
class Mixing:
    """Lengths of what a query takes from itself and from all other tokens, in one scope."""

    own: Float[Tensor, "query"]
    others: Float[Tensor, "query"]


@dataclass(frozen=True)
class Rows:
    """What is known of a block of query rows."""

    rows: slice
    weight: Float[Tensor, "head rows key"]
    lengths: dict[ScopeName, Float[Tensor, "rows key"]]
    read_head_norm: Callable[[], Float[Tensor, "head rows key"]]

    @property
    def head_norm(self) -> Float[Tensor, "head rows key"]:
        """‖α f‖ of every head."""
        return self.read_head_norm()


class Parts:
    """The decomposition of one layer in the scopes asked for."""

    def __init__(self, record: LayerRecord, scopes: Collection[ScopeName] = ()) -> None:
        self.record = record
        self._scopes: dict[ScopeName, Scope] = {name: scope(record, name) for name in dict.fromkeys(scopes)}
        self._sketched = self._sketch = _directions(record)
        self._fold_keys()

    def _fold_keys(self) -> None:
        """The pass over the keys: head lengths, Gram matrices, products with the residual, the sketch."""
        record = self.record
        if record.gate is not None:
            return
        maps = self._distinct_maps()
        lengths: list[Tensor] = []
        sketches: list[Tensor] = []
        grams: list[list[Tensor]] = [[] for _ in maps]
        crossings: dict[ScopeName, list[Tensor]] = {name: [] for name in self._with_stream()}
        for keys, vectors in self._vectors():
            sketches.append(vectors @ self._sketch)
            carried = [vectors if carry is unchanged else carry(vectors) for carry in maps]
            for kept, images in zip(grams, carried, strict=True):
                kept.append(gram(images))
            for name, kept in crossings.items():
                images = carried[maps.index(self._scopes[name].carry)]
                kept.append(torch.einsum("khm,km->kh", images, self._stream(name)[keys]))
            lengths.append(length(vectors))
        self._sent_norm = torch.cat(lengths).T
        self._sketched = torch.cat(sketches).transpose(0, 1)
        self._maps, self._grams = maps, [torch.cat(kept) for kept in grams]
        self._crossings = {name: torch.cat(kept) for name, kept in crossings.items()}

    def _vectors(self) -> Iterator[tuple[slice, Float[Tensor, "keys head model"]]]:
        """f^h(x_j) for a few keys at a time."""
        record = self.record
        size = max(1, _CHUNK // (record.heads * record.projection.shape[-1]))
        for start in range(0, record.keys, size):
            keys = slice(start, start + size)
            yield keys, torch.bmm(record.value[:, keys], record.projection).transpose(0, 1)

    @property
    def sent_norm(self) -> Float[Tensor, "head key"]:
        """‖f^h(x_j)‖"""
        if self.record.gate is not None:
            raise ValueError("behind a gate the vector of a key is another one for each query")
        return self._sent_norm

    def rows(self, rows: slice) -> Rows:
        """Lengths for a block of query rows, in all scopes asked for."""
        weight = self.record.attention(rows)
        if self.record.gate is not None:
            return self._gated_rows(rows, weight)
        found = dict(zip(self._maps, squared_lengths(weight, self._grams), strict=True))
        last_use = {part.carry: name for name, part in self._scopes.items()}
        lengths: dict[ScopeName, Tensor] = {
            name: self._length(name, rows, weight, found[part.carry], last_use[part.carry] != name)
            for name, part in self._scopes.items()
        }
        return Rows(rows, weight, lengths, lambda: self._head_norm(rows, weight))

    def _head_norm(self, rows: slice, weight: Float[Tensor, "head rows key"]) -> Float[Tensor, "head rows key"]:
        norm = weight * self.sent_norm[:, None]
        return norm if self.record.row_scale is None else norm * self.record.row_scale[rows, None]

    def _length(
        self, name: ScopeName, rows: slice, weight: Tensor, squared: Float[Tensor, "rows key"], shared: bool
    ) -> Float[Tensor, "rows key"]:
        part = self._scopes[name]
        squared = squared.clone() if shared else squared
        if part.carry_scale is not None:
            squared *= part.carry_scale[rows, None].square()
        if name in self._crossings:
            _diagonal(squared, rows).add_(self._own_key(name, rows, weight)).clamp_min_(0)
        return squared.sqrt_()

    def _own_key(self, name: ScopeName, rows: slice, weight: Tensor) -> Float[Tensor, "rows"]:
        """What the residual adds to the squared length of a token's own part: 2 p q a·(L f · M r) + q² ‖M r‖²."""
        part = self._scopes[name]
        own = weight.diagonal(rows.start, 1, 2).T
        crossing = 2 * (own * self._crossings[name][rows]).sum(-1)
        stream = self._stream(name)[rows].square().sum(-1)
        if part.carry_scale is not None:
            crossing = crossing * part.carry_scale[rows]
        if part.stream_scale is not None:
            crossing, stream = crossing * part.stream_scale[rows], stream * part.stream_scale[rows].square()
        return crossing + stream

    def _gated_rows(self, rows: slice, weight: Float[Tensor, "head rows key"]) -> Rows:
        """Behind a gate no Gram matrix serves two queries: the vectors are built, a few rows at a time."""
        record, gate = self.record, self.record.gate
        assert gate is not None
        heads, count, keys = weight.shape
        head_norm = weight.new_empty(heads, count, keys)
        lengths: dict[ScopeName, Tensor] = {name: weight.new_empty(count, keys) for name in self._scopes}
        for index in range(count):
            query = rows.start + index
            values = record.value * gate[:, query, None]
            sent = torch.bmm(values, record.projection) * weight[:, index, :, None]
            if record.row_scale is not None:
                sent = sent * record.row_scale[query]
            head_norm[:, index] = length(sent)
            total = sent.sum(0)
            for name, part in self._scopes.items():
                vectors = part.carry(total)
                if part.carry_scale is not None:
                    vectors = vectors * _without(part.carry_scale, record.row_scale)[query]
                own = part.own()
                if own is not None and not record.is_cross:
                    vectors[query] += own[query]
                lengths[name][index] = length(vectors)
        return Rows(rows, weight, lengths, lambda: head_norm)

    @cached_property
    def own_vectors(self) -> Float[Tensor, "query model"]:
        """Σ_h α^h_ii f^h(x_i): what each token takes from itself through attention (nothing across stacks)."""
        record = self.record
        if record.is_cross:
            return torch.zeros_like(record.projected)
        mixed = record.attention_diagonal[..., None] * record.value
        if record.gate is not None:
            mixed = mixed * record.gate
        own = mixed.transpose(0, 1).flatten(1) @ record.projection.flatten(0, 1)
        return own if record.row_scale is None else own * record.row_scale[:, None]

    @cached_property
    def weight_on_others(self) -> Float[Tensor, "query"]:
        """Σ_{j≠i} of the head-mean weight."""
        record = self.record
        total = torch.cat([record.attention(rows).sum(-1) for rows in record.row_blocks(256)], 1)
        return (total if record.is_cross else total - record.attention_diagonal).mean(0)

    def mixing(self, name: ScopeName) -> Mixing:
        """How much of the output of a scope comes from the token itself, and how much from all others."""
        record = self.record
        part = scope(record, name)
        total = record.projected if record.bias is None else record.projected - record.bias
        scale = None if part.carry_scale is None else _without(part.carry_scale, record.row_scale)

        def carried(vectors: Float[Tensor, "query model"]) -> Float[Tensor, "query model"]:
            images = part.carry(vectors)
            return images if scale is None else images * scale[:, None]

        own, stream = carried(self.own_vectors), part.own()
        own = own if stream is None else own + stream
        others = carried(total - self.own_vectors)
        return Mixing(length(own), length(others))

    def sketched_error(self, rows: Rows) -> Float[Tensor, "rows"]:
        """The length of Law 1's error for each row, measured in a few random directions.

        In expectation the squared length is exact; it costs a hundredth of the full reconstruction, so that every
        analysis can carry its own proof.
        """
        record = self.record
        if record.gate is not None:
            return self._gated_error(rows)
        found = torch.bmm(rows.weight, self._sketched).sum(0)
        found = found if record.row_scale is None else found * record.row_scale[rows.rows, None]
        actual = record.projected[rows.rows]
        actual = actual if record.bias is None else actual - record.bias
        return length(found - actual @ self._sketch)

    def _gated_error(self, rows: Rows) -> Float[Tensor, "rows"]:
        record, gate = self.record, self.record.gate
        assert gate is not None
        mixed = (rows.weight @ record.value * gate[:, rows.rows]).transpose(0, 1).flatten(1)
        found = mixed @ record.projection.flatten(0, 1)
        found = found if record.row_scale is None else found * record.row_scale[rows.rows, None]
        found = found if record.bias is None else found + record.bias
        return length(found - record.projected[rows.rows])

    def errors(self, attention: Float[Tensor, "query"]) -> LawErrors:
        """Both laws from the sketched errors of all rows."""
        record = self.record
        block = None
        if record.block is not None:
            found = block_output(record.block, record.projected)
            block = relative_error(found, record.block.output)
        return LawErrors(worst_row(attention, record.projected), block)

    def _distinct_maps(self) -> list[Map]:
        return list(dict.fromkeys(part.carry for part in self._scopes.values()))

    def _with_stream(self) -> list[ScopeName]:
        if self.record.is_cross:
            return []
        return [name for name, part in self._scopes.items() if part.stream is not None]

    def _stream(self, name: ScopeName) -> Float[Tensor, "query model"]:
        stream = self._scopes[name].stream
        assert stream is not None
        return stream


def _directions(record: LayerRecord) -> Float[Tensor, "model sketch"]:
    width = record.projection.shape[-1]
    generator = torch.Generator().manual_seed(width)
    directions = torch.randn(width, _SKETCH, generator=generator) / _SKETCH**0.5
    return directions.to(record.value)


def _diagonal(squared: Float[Tensor, "rows key"], rows: slice) -> Float[Tensor, "rows"]:
    """The entries where the key is the query itself."""
    return squared.diagonal(rows.start)


def _without(scale: Float[Tensor, "query"], row_scale: Float[Tensor, "query"] | None) -> Float[Tensor, "query"]:
    """The scale of vectors that already carry the row scale."""
    return scale if row_scale is None else scale / row_scale
