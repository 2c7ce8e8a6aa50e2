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
from attnscope.decompose.vectors import part_vectors
from attnscope.record import LayerRecord

_CHUNK, _MOST = 320 << 10, 1 << 20
"""Numbers in the vectors of one step over the keys on a CPU: the more, the better its products run, but no more than
some of the layer's weights, nor than stay in its cache."""
_LARGE_CHUNK = 1 << 26
"""The same where starting a step costs more than memory does."""
_SKETCH = 16
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
    record: LayerRecord

    def vectors(self, name: ScopeName, keys: slice) -> Float[Tensor, "keys rows model"]:
        """The vectors of some keys; for all at once they would be many."""
        return part_vectors(self.record, name, keys, self.rows)

    @property
    def head_norm(self) -> Float[Tensor, "head rows key"]:
        """‖α f‖ of every head."""
        return self.read_head_norm()


class Parts:
    """The decomposition of one layer in the scopes asked for."""

    def __init__(self, record: LayerRecord, scopes: Collection[ScopeName] = ()) -> None:
        self.record = record
        self._scopes: dict[ScopeName, Scope] = {name: scope(record, name) for name in dict.fromkeys(scopes)}
        self._mixing: dict[ScopeName, Mixing] = {}
        self._others: dict[Map, Tensor] = {}
        self._sketch = _directions(record)
        self._grams: dict[Map, Tensor] = {}
        if record.gate is None:
            self._sketched = torch.bmm(record.value, record.projection @ self._sketch)
            if self._scopes:
                self._fold()

    def _fold(self) -> None:
        """The pass over the keys: vectors for a few of them at a time, folded at once into what is kept."""
        record = self.record
        grams: dict[Map, list[Tensor]] = {part.carry: [] for part in self._scopes.values()}
        owns: list[Tensor] = []
        diagonal = None if record.is_cross else record.attention_diagonal.T[:, None]
        *first, (last, kept_last) = grams.items()
        consume = next(part.consume or last for part in self._scopes.values() if part.carry is last)

        def step(keys: slice) -> None:
            """In a function of its own, so that the vectors are gone when the next ones are made."""
            vectors = torch.bmm(record.value[:, keys], record.projection).transpose(0, 1)
            if diagonal is not None:
                owns.append(torch.bmm(diagonal[keys], vectors)[:, 0])
            for carry, kept in first:
                kept.append(gram(carry(vectors)))
            kept_last.append(gram(consume(vectors)))

        for keys in _steps(record):
            step(keys)
        self._grams = {carry: torch.cat(kept) for carry, kept in grams.items()}
        if owns:
            self.own_vectors = self._row_scaled(torch.cat(owns))

    def _row_scaled(self, vectors: Float[Tensor, "query model"]) -> Float[Tensor, "query model"]:
        scale = self.record.row_scale
        return vectors if scale is None else vectors * scale[:, None]

    @cached_property
    def sent_norm(self) -> Float[Tensor, "head key"]:
        """‖f^h(x_j)‖: the diagonal of the Gram matrices, or v W Wᵀ vᵀ where none are needed."""
        record = self.record
        if record.gate is not None:
            raise ValueError("behind a gate the vector of a key is another one for each query")
        if unchanged in self._grams:
            return self._grams[unchanged].diagonal(0, 1, 2).T.clamp_min(0).sqrt()
        images = torch.bmm(record.value, torch.bmm(record.projection, record.projection.transpose(1, 2)))
        return (images * record.value).sum(-1).clamp_min(0).sqrt()

    def rows(self, rows: slice) -> Rows:
        """Lengths for a block of query rows, in all scopes asked for."""
        weight = self.record.attention(rows)
        if self.record.gate is not None:
            return self._gated_rows(rows, weight)
        found = dict(zip(self._grams, squared_lengths(weight, list(self._grams.values())), strict=True))
        last_use = {part.carry: name for name, part in self._scopes.items()}
        lengths: dict[ScopeName, Tensor] = {}
        for name, part in self._scopes.items():
            squared = found[part.carry] if last_use[part.carry] == name else found[part.carry].clone()
            lengths[name] = self._length(name, rows, squared)
        return Rows(rows, weight, lengths, lambda: self._head_norm(rows, weight), self.record)

    def _head_norm(self, rows: slice, weight: Float[Tensor, "head rows key"]) -> Float[Tensor, "head rows key"]:
        norm = weight * self.sent_norm[:, None]
        return norm if self.record.row_scale is None else norm * self.record.row_scale[rows, None]

    def _length(self, name: ScopeName, rows: slice, squared: Float[Tensor, "rows key"]) -> Float[Tensor, "rows key"]:
        """The lengths of a scope's parts from aᵀ G a; a token's own part, which holds the residual, from itself."""
        part = self._scopes[name]
        lengths = squared.sqrt_()
        if part.carry_scale is not None:
            lengths *= part.carry_scale[rows, None]
        if part.stream is not None and not self.record.is_cross:
            lengths.diagonal(rows.start).copy_(self.mixing(name).own[rows])
        return lengths

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
                    vectors = vectors.clone()  # without a map they are `total` itself, which the next scope needs
                    vectors[query] += own[query]
                lengths[name][index] = length(vectors)
        return Rows(rows, weight, lengths, lambda: head_norm, record)

    @cached_property
    def own_vectors(self) -> Float[Tensor, "query model"]:
        """Σ_h α^h_ii f^h(x_i): what each token takes from itself through attention (nothing across stacks)."""
        record = self.record
        if record.is_cross:
            return torch.zeros_like(record.projected)
        mixed = record.attention_diagonal[..., None] * record.value
        if record.gate is not None:
            mixed = mixed * record.gate
        return self._row_scaled(mixed.transpose(0, 1).flatten(1) @ record.projection.flatten(0, 1))

    @cached_property
    def weight_on_others(self) -> Float[Tensor, "query"]:
        """Σ_{j≠i} of the head-mean weight."""
        record = self.record
        total = torch.cat([record.attention(rows).sum(-1) for rows in record.row_blocks(256)], 1)
        return (total if record.is_cross else total - record.attention_diagonal).mean(0)

    def mixing(self, name: ScopeName) -> Mixing:
        """How much of the output of a scope comes from the token itself, and how much from all others."""
        if name not in self._mixing:
            self._mixing[name] = self._mixed(self._scopes.get(name) or scope(self.record, name))
        return self._mixing[name]

    def _mixed(self, part: Scope) -> Mixing:
        if part.carry not in self._others:
            self._others[part.carry] = self._lengths_of_others(part)
        own, stream = self._carried(part, self.own_vectors), part.own()
        if stream is not None:  # in place, unless it is what is kept
            own = own + stream if own is self.own_vectors else own.add_(stream)
        return Mixing(length(own), self._others[part.carry])

    def _lengths_of_others(self, part: Scope) -> Float[Tensor, "query"]:
        """‖p_i · L(Σ_{j≠i} …)‖: how long what comes from all other tokens is."""
        others = self.record.projected - self.own_vectors
        others = others if self.record.bias is None else others.sub_(self.record.bias)
        lengths, scale = length(part.carry(others)), self._scale(part)
        return lengths if scale is None else lengths * scale.abs()

    def _carried(self, part: Scope, vectors: Float[Tensor, "query model"]) -> Float[Tensor, "query model"]:
        """p_i · L(u_i) of vectors that already carry the row scale."""
        images, scale = part.carry(vectors), self._scale(part)
        return images if scale is None else images * scale[:, None]

    def _scale(self, part: Scope) -> Float[Tensor, "query"] | None:
        """The factor of each query that is not yet in vectors that carry the row scale."""
        if part.carry_scale is None or part.carry_scale is self.record.row_scale:
            return None
        return _without(part.carry_scale, self.record.row_scale)

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


def _step(record: LayerRecord) -> int:
    """How many keys are done at a time."""
    numbers = _LARGE_CHUNK
    if record.value.device.type == "cpu":
        numbers = min(_MOST, max(_CHUNK, record.heads * record.queries * record.keys // 2))
    return min(record.keys, max(1, numbers // (record.heads * record.projection.shape[-1])))


def _steps(record: LayerRecord) -> Iterator[slice]:
    for start in range(0, record.keys, _step(record)):
        yield slice(start, min(start + _step(record), record.keys))


def _directions(record: LayerRecord) -> Float[Tensor, "model sketch"]:
    width = record.projection.shape[-1]
    generator = torch.Generator().manual_seed(width)
    directions = torch.randn(width, _SKETCH, generator=generator) / _SKETCH**0.5
    return directions.to(record.value)


def _without(scale: Float[Tensor, "query"], row_scale: Float[Tensor, "query"] | None) -> Float[Tensor, "query"]:
    """The scale of vectors that already carry the row scale."""
    return scale if row_scale is None else scale / row_scale
