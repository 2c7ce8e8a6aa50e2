"""The registry of measures: what each one is called, what its axes are, and where it comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from attnscope.axes import KEY, QUERY
from attnscope.decompose.parts import Parts, Rows
from attnscope.decompose.scopes import ScopeName
from attnscope.errors import one_of

KOBAYASHI_2020 = "Kobayashi et al. 2020, Attention is Not Only a Weight (EMNLP)"
KOBAYASHI_2021 = "Kobayashi et al. 2021, Incorporating Residual and Normalization Layers (EMNLP)"


@dataclass(frozen=True)
class Measure:
    """One measure. `compute` gets the rows of a block of queries, or the whole layer where there is no such axis."""

    name: str
    dims: tuple[str, ...]
    formula: str
    paper: str
    scopes: tuple[ScopeName, ...]
    coordinates: dict[str, tuple[str, ...]]
    compute: Callable[[Any], Tensor]
    summary: str

    @property
    def is_map(self) -> bool:
        """Whether it tells how much flows from each key to each query."""
        return QUERY in self.dims and KEY in self.dims

    @property
    def needs_block(self) -> bool:
        return any(scope != "attention" for scope in self.scopes)


MEASURES: dict[str, Measure] = {}


def measure(
    *,
    dims: tuple[str, ...],
    formula: str,
    paper: str,
    scopes: tuple[ScopeName, ...] = (),
    coordinates: dict[str, tuple[str, ...]] | None = None,
) -> Callable[[Callable[[Any], Tensor]], Callable[[Any], Tensor]]:
    """Register a function of `Rows` (maps) or `Parts` (all others) under its own name."""

    def register(compute: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
        name = compute.__name__
        if name in MEASURES:
            raise ValueError(f"two measures are called {name}")
        summary = (compute.__doc__ or "").strip().splitlines()[0]
        MEASURES[name] = Measure(name, dims, formula, paper, scopes, coordinates or {}, compute, summary)
        return compute

    return register


def lookup(name: str) -> Measure:
    """The measure called `name`, or an error that names the near ones."""
    return MEASURES[one_of("measure", name, MEASURES)]


__all__ = ["MEASURES", "Measure", "Parts", "Rows", "lookup", "measure"]
