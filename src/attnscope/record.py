"""What one attention layer did in one forward pass: the values every later step works from.

Shapes follow the axis glossary (`axes.py`); there is no batch axis. A record is complete by itself: nothing in
`decompose/` or `measures/` looks at a module or a configuration.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Norm:
    """A layer normalisation: γ ⊙ (x − mean(x)) / s(x) + β, with s = sqrt(mean((x − mean(x))²) + eps).

    RMSNorm is the case without the mean (`centred=False`); `fixed` is the case without a statistic at all, s = 1.
    """

    weight: Float[Tensor, "#model"]
    bias: Float[Tensor, "#model"]
    eps: float
    centred: bool
    fixed: bool = False

    def spread(self, total: Float[Tensor, "*lead model"]) -> Float[Tensor, "*lead 1"]:
        """s: the statistic that is frozen when the normalisation is taken as a linear map."""
        if self.fixed:
            return torch.ones_like(total[..., :1])
        if self.centred:
            total = total - total.mean(-1, keepdim=True)
        return torch.sqrt(total.square().mean(-1, keepdim=True) + self.eps)

    def linear(self, vectors: Float[Tensor, "*lead model"], *, over: bool = False) -> Float[Tensor, "*lead model"]:
        """The static half of the frozen map, γ ⊙ (u − mean(u)); dividing by s is left to the caller.

        `over` writes it over the vectors, for those who need them no more.
        """
        if self.centred:
            mean = vectors.mean(-1, keepdim=True)
            return (vectors.sub_(mean) if over else vectors - mean).mul_(self.weight)
        return vectors.mul_(self.weight) if over else vectors * self.weight


@dataclass(frozen=True)
class Block:
    """How an attention's output y reaches the residual stream: out = post(residual + branch(scale ⊙ y) + extra).

    `branch` and `post` are normalisations that may be absent; `extra` is what a parallel feed-forward adds.
    """

    residual: Float[Tensor, "query model"]
    output: Float[Tensor, "query model"]
    scale: Float[Tensor, "#model"] | None = None
    branch: Norm | None = None
    post: Norm | None = None
    extra: Float[Tensor, "query model"] | None = None


@dataclass(frozen=True)
class Tail:
    """The rest of the layer behind the attention's block: out = post(scale ⊙ (block + feed-forward))."""

    output: Float[Tensor, "query model"]
    is_parallel: bool
    """The feed-forward runs beside the attention; what it adds is the block's `extra`."""
    scale: Float[Tensor, "#model"] | None = None
    post: Norm | None = None
    total: Float[Tensor, "query model"] | None = None
    """What `post` reads, where there is one."""


@dataclass(frozen=True, eq=False)
class ValueMap:
    """The affine map from an attention's input to its value vectors, as (input, head · value) and bias."""

    parameters: Callable[[], Iterable[Tensor]] = field(repr=False)
    read: Callable[[], tuple[Tensor, Tensor | None]] = field(repr=False)


@dataclass(frozen=True)
class LayerRecord:
    """One attention layer for one text.

    The vector that head h carries from key j to query i is α · f, with f = sent(value) (`sent`): the value through
    the rows of the output projection that belong to h. `projected` is what the model itself computed from all of
    them, the bias of the projection included; Law 1 compares the two.
    """

    layer: int
    stack: str
    is_cross: bool
    value: Float[Tensor, "head key value"]
    projection: Float[Tensor, "head value model"]
    bias: Float[Tensor, "model"] | None
    projected: Float[Tensor, "query model"]
    block: Block | None
    read_attention: Callable[[slice], Float[Tensor, "head rows key"]] = field(repr=False)
    read_diagonal: Callable[[], Float[Tensor, "head query"]] | None = field(default=None, repr=False)
    """The weight of each token on itself, where it is at hand without reading all weights."""
    gate: Float[Tensor, "head query value"] | None = None
    """An elementwise factor between attention and projection, different for each query."""
    row_scale: Float[Tensor, "query"] | None = None
    """A factor of each query on all that is sent to it: the frozen statistic of a normalisation before the
    projection, whose linear half is already in `projection`."""

    tail: Tail | None = None
    """Only where it was asked for."""
    value_map: ValueMap | None = None
    """None where the values are not an affine map of the attention's input (compressed values, a norm on them)."""

    @property
    def heads(self) -> int:
        return self.value.shape[0]

    @property
    def queries(self) -> int:
        return self.projected.shape[0]

    @property
    def keys(self) -> int:
        return self.value.shape[1]

    def attention(self, rows: slice = slice(None)) -> Float[Tensor, "head rows key"]:
        """The weights α of some of the query rows."""
        return self.read_attention(rows)

    def row_blocks(self, size: int) -> Iterator[slice]:
        """Slices that cover all query rows, `size` at a time."""
        for start in range(0, self.queries, size):
            yield slice(start, min(start + size, self.queries))

    @cached_property
    def attention_diagonal(self) -> Float[Tensor, "head query"]:
        """The weight each token gives to itself."""
        if self.read_diagonal is not None:
            return self.read_diagonal()
        parts = [self.attention(rows).diagonal(rows.start, 1, 2) for rows in self.row_blocks(256)]
        return torch.cat(parts, 1)
