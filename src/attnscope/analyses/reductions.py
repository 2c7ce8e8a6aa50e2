"""What is kept of a map while its layer is in memory: all of it, or a sum that needs no query × key memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnscope.axes import CATEGORY, KEY, QUERY
from attnscope.text.categories import Categories

REDUCTIONS = ("keys", "queries", "categories", "topk")
RANK = "rank"


@dataclass(frozen=True)
class Kept:
    """A finished array with the names of its last axes."""

    dims: tuple[str, ...]
    array: NDArray[np.generic]


class Keeper(ABC):
    """Collects one map of one layer, block of query rows by block."""

    @abstractmethod
    def add(self, values: Tensor) -> None:
        """Take in (..., rows, key); blocks come in the order of their rows."""

    @abstractmethod
    def finish(self) -> dict[str, Kept]:
        """The arrays, by the suffix of their variable's name."""


Allocate = Callable[[tuple[int, ...]], NDArray[np.float32]]
"""Gives the place in the result that a layer's map is written to."""


@dataclass
class Whole(Keeper):
    """The map itself, written straight into the result."""

    queries: int
    allocate: Allocate
    array: NDArray[np.float32] | None = None
    filled: int = 0

    def add(self, values: Tensor) -> None:
        if self.array is None:
            self.array = self.allocate((*values.shape[:-2], self.queries, values.shape[-1]))
        rows = slice(self.filled, self.filled + values.shape[-2])
        torch.from_numpy(self.array)[..., rows, :] = values
        self.filled = rows.stop

    def finish(self) -> dict[str, Kept]:
        assert self.array is not None
        return {"": Kept((QUERY, KEY), self.array)}


@dataclass
class OverKeys(Keeper):
    """Σ over keys: what each query takes in all."""

    sums: list[Tensor] = field(default_factory=list[Tensor])

    def add(self, values: Tensor) -> None:
        self.sums.append(values.sum(-1).cpu())

    def finish(self) -> dict[str, Kept]:
        return {"": Kept((QUERY,), _array(torch.cat(self.sums, -1)))}


@dataclass
class OverQueries(Keeper):
    """Mean over queries: what each key receives."""

    queries: int
    total: Tensor | None = None

    def add(self, values: Tensor) -> None:
        found = values.sum(-2, dtype=torch.float64).cpu()
        self.total = found if self.total is None else self.total + found

    def finish(self) -> dict[str, Kept]:
        assert self.total is not None
        return {"": Kept((KEY,), _array(self.total / self.queries))}


@dataclass
class OverCategories(Keeper):
    """Sum over the keys of each category, mean over queries."""

    queries: int
    masks: Tensor
    total: Tensor | None = None

    def add(self, values: Tensor) -> None:
        found = values.sum(-2, dtype=torch.float64).cpu() @ self.masks.T
        self.total = found if self.total is None else self.total + found

    def finish(self) -> dict[str, Kept]:
        assert self.total is not None
        return {"": Kept((CATEGORY,), _array(self.total / self.queries))}


@dataclass
class TopKeys(Keeper):
    """The largest entries of each row, and which keys they stand at."""

    count: int
    values: list[Tensor] = field(default_factory=list[Tensor])
    keys: list[Tensor] = field(default_factory=list[Tensor])

    def add(self, values: Tensor) -> None:
        found = values.topk(min(self.count, values.shape[-1]), -1)
        self.values.append(found.values.cpu())
        self.keys.append(found.indices.cpu())

    def finish(self) -> dict[str, Kept]:
        keys = torch.cat(self.keys, -2).numpy()
        return {
            "": Kept((QUERY, RANK), _array(torch.cat(self.values, -2))),
            "_key": Kept((QUERY, RANK), keys),
        }


def keeper(reduce: str | None, queries: int, categories: Categories | None, top: int, allocate: Allocate) -> Keeper:
    """A new keeper for one map of one layer."""
    match reduce:
        case None:
            return Whole(queries, allocate)
        case "keys":
            return OverKeys()
        case "queries":
            return OverQueries(queries)
        case "topk":
            return TopKeys(top)
        case _:
            assert categories is not None
            return OverCategories(queries, torch.from_numpy(categories.masks).double())


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return tensor.float().numpy()
