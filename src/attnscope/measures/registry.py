"""The registry of measures: what each one is called, what its axes are, and where it comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from jaxtyping import Float
from torch import Tensor

from attnscope.axes import KEY, QUERY
from attnscope.decompose.parts import Parts, Rows
from attnscope.decompose.scopes import ScopeName
from attnscope.errors import one_of
from attnscope.record import LayerRecord

KOBAYASHI_2020 = "Kobayashi et al. 2020, Attention is Not Only a Weight (EMNLP)"
KOBAYASHI_2021 = "Kobayashi et al. 2021, Incorporating Residual and Normalization Layers (EMNLP)"
KOBAYASHI_2024 = "Kobayashi et al. 2024, Analyzing Feed-Forward Blocks in Transformers (ICLR)"
MODARRESSI_2022 = "Modarressi et al. 2022, GlobEnc (NAACL)"
FERRANDO_2022 = "Ferrando et al. 2022, Measuring the Mixing of Contextual Information, ALTI (EMNLP)"
MOHEBBI_2023 = "Mohebbi et al. 2023, Quantifying Context Mixing, Value Zeroing (EACL)"

Replay = Literal["zeroed", "carried"]
"""How a layer is run again on copies of the text, one for each key: without the key's value, or with the key's part of
the block sent through the feed-forward block."""


@dataclass(frozen=True)
class Replayed:
    """What a layer put out on the copies for some keys."""

    record: LayerRecord
    output: Float[Tensor, "copies query model"]
    """The layer's output, where values were zeroed; the key's part of it, where its part was carried."""


@dataclass(frozen=True)
class Measure:
    """One measure.

    `compute` gets the rows of a block of queries; the whole layer where there is no such axis; and what came of a
    `replay` where the layer has to be run again.
    """

    name: str
    dims: tuple[str, ...]
    formula: str
    paper: str
    scopes: tuple[ScopeName, ...]
    coordinates: dict[str, tuple[str, ...]]
    compute: Callable[[Any], Tensor]
    summary: str
    replay: Replay | None = None
    self_only: bool = False
    """Has a meaning only where queries and keys are the same tokens."""

    @property
    def is_map(self) -> bool:
        """Whether it tells how much flows from each key to each query."""
        return QUERY in self.dims and KEY in self.dims

    @property
    def needs_block(self) -> bool:
        return any(scope != "attention" for scope in self.scopes) or self.needs_tail

    @property
    def needs_tail(self) -> bool:
        """Whether the layer has to be known to its end, behind the feed-forward block."""
        return "encoder" in self.scopes or self.replay is not None


MEASURES: dict[str, Measure] = {}


def measure(
    *,
    dims: tuple[str, ...],
    formula: str,
    paper: str,
    scopes: tuple[ScopeName, ...] = (),
    coordinates: dict[str, tuple[str, ...]] | None = None,
    replay: Replay | None = None,
    self_only: bool = False,
) -> Callable[[Callable[[Any], Tensor]], Callable[[Any], Tensor]]:
    """Register a function of `Rows` (maps), `Replayed` (maps of layers run again) or `Parts` (all others) by name."""

    def register(compute: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
        name = compute.__name__
        if name in MEASURES:
            raise ValueError(f"two measures are called {name}")
        summary = (compute.__doc__ or "").strip().splitlines()[0]
        known = coordinates or {}
        MEASURES[name] = Measure(name, dims, formula, paper, scopes, known, compute, summary, replay, self_only)
        return compute

    return register


def lookup(name: str) -> Measure:
    """The measure called `name`, or an error that names the near ones."""
    return MEASURES[one_of("measure", name, MEASURES)]


__all__ = ["MEASURES", "Measure", "Parts", "Replayed", "Rows", "lookup", "measure"]
