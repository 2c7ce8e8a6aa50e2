"""Tracing back: which tokens of which layers a target draws on (METHODS 7, after DeRose et al. 2020).

E_l = {(u, v) : max over heads of M^l[u, v] ≥ τ}. From S_L = {target}, S_{l−1} = {v : ∃ u ∈ S_l with (u, v) ∈ E_l}.
c_l(v) counts the pairs (head, u ∈ S_l) with M ≥ τ; the influence is I_l(v) = c_l(v) + λ Σ_u I_{l+1}(u) over the u that
draw on v, and nothing lies above the target. The paper's own formula is not public; this one is ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray


@dataclass(frozen=True)
class Trace:
    """What was reached, level by level from the words (0) to the target."""

    reached: Bool[np.ndarray, "level token"]
    influence: Float[np.ndarray, "level token"]
    """0 at the top level."""
    passing: tuple[Bool[np.ndarray, "_ query key"], ...]
    """For each layer from the first, (head, query, key): which heads pass the threshold, for queries reached."""


def trace(
    maps: Sequence[NDArray[np.floating[Any]]],
    start: Bool[np.ndarray, "token"],
    threshold: float | int,
    *,
    decay: float | int = 0.5,
    top: int | None = None,
) -> Trace:
    """Trace from the tokens of `start`, behind the last map, to the words before the first.

    maps   one (head, query, key) for each layer, from the first; the number of heads may differ
    top    keep only so many keys of each query, the strongest
    """
    reached: list[NDArray[np.bool_]] = [start]
    influence = [np.zeros(len(start))]
    passing: list[NDArray[np.bool_]] = []
    for values in reversed(maps):
        found = (values >= threshold) & reached[-1][None, :, None]
        if top is not None:
            found &= strongest(values.max(0), top)
        joined: NDArray[np.bool_] = np.any(found, axis=0)
        passing.append(found)
        reached.append(np.any(joined, axis=0, keepdims=True)[0])
        influence.append(found.sum((0, 1)) + decay * (influence[-1] @ joined))
    return Trace(np.stack(reached[::-1]), np.stack(influence[::-1]), tuple(passing[::-1]))


def strongest(strengths: Float[np.ndarray, "query key"], count: int) -> Bool[np.ndarray, "query key"]:
    """The largest entries of each row; of equal ones, the first."""
    order = np.argsort(-strengths, axis=-1, kind="stable")[:, :count]
    kept = np.zeros(strengths.shape, dtype=np.bool_)
    np.put_along_axis(kept, order, values=True, axis=-1)
    return kept


def row_shares(values: Float[np.ndarray, "*lead key"]) -> Float[np.ndarray, "*lead key"]:
    """Each row as shares of its sum; a row without any stays 0."""
    sums = values.sum(-1, keepdims=True)
    return values / np.where(sums > 0, sums, 1)
