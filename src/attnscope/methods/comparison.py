"""How far two sets of maps lie apart: pure functions of shares (… query key) of two models (METHODS 7).

p and q are rows of shares: what a query takes from each key, of all it takes. Every function gives one number for each
map (layer, head), the mean over its queries; a query that has no number (a rank correlation of one key) is left out.
"""

import sys
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

Maps = NDArray[np.floating[Any]]
_ALIKE = 1e-12
_BLOCK = 1 << 16
"""Entries that are worked on at a time: so few that they stay in the processor's cache."""


def jensen_shannon(p: Maps, q: Maps) -> Float[np.ndarray, "*lead"]:
    """½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q) / 2, in nats: 0 for equal rows, at most ln 2.

    With s = p + q and d = (p − q) / s it is Σ s/4 · [(1 + d) ln(1 + d) + (1 − d) ln(1 − d)], in which small differences
    are not lost in rounding.
    """
    total = p + q
    limits = np.finfo(total.dtype)
    d = np.clip((p - q) / np.maximum(total, limits.tiny), limits.eps - 1, 1 - limits.eps)
    terms = (1 + d) * np.log1p(d) + (1 - d) * np.log1p(-d)
    return np.maximum(np.vecdot(terms, total), 0).mean(-1) / 4


def total_variation(p: Maps, q: Maps) -> Float[np.ndarray, "*lead"]:
    """½ Σ |p − q|: the share that has moved to other keys."""
    return np.abs(p - q).sum(-1).mean(-1) / 2


def cosine(p: Maps, q: Maps) -> Float[np.ndarray, "*lead"]:
    """Σ p q / (‖p‖ ‖q‖): 1 for equal rows."""
    scale = np.sqrt(np.vecdot(p, p) * np.vecdot(q, q))
    return _mean(_ratio(np.vecdot(p, q), scale))


def spearman(p: Maps, q: Maps) -> Float[np.ndarray, "*lead"]:
    """The rank correlation over the keys that either model takes something from: 1 for the same order."""
    seen = (p > 0) | (q > 0)
    if not seen.all():
        # What neither takes anything from is put below all else, each on a place of its own, and then left out.
        below = -1 - np.arange(p.shape[-1], dtype=p.dtype)
        one, other = (_centred(mid_ranks(np.where(seen, values, below)), seen) for values in (p, q))
        return _mean(_correlation(one, other))
    count = p.shape[-1]
    rows = p.reshape(-1, count), q.reshape(-1, count)
    found, tied = _untied_spearman(*rows)
    if tied.any():
        one, other = (mid_ranks(values[tied]) - (count + 1) / 2 for values in rows)
        found[tied] = _correlation(one, other)
    return _mean(found.reshape(p.shape[:-1]))


def _untied_spearman(p: Maps, q: Maps) -> tuple[Maps, NDArray[np.bool_]]:
    """The rank correlation of each row, and which rows have ties, for which it does not hold.

    With the keys of q in the order of p, sorting them leaves at place r the rank in p of what has the rank r in q.
    """
    rows, count = len(p), int(p.shape[-1])
    ordered, order = _sorted(p)
    begins: NDArray[np.int64] = np.arange(0, rows * count, count, dtype=np.int64)
    turned, ranks = _sorted(q.reshape(-1)[order + begins[:, None]])
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(-1) | (turned[:, 1:] == turned[:, :-1]).any(-1)
    middle = (count - 1) / 2
    centred = ranks.astype(np.float64) - middle
    products: NDArray[np.float64] = centred @ (np.arange(count, dtype=np.float64) - middle)
    scale: NDArray[np.float64] = np.full(rows, count * (count**2 - 1) / 12)
    return _ratio(products, scale), tied


def _correlation(one: Maps, other: Maps) -> Maps:
    """Of rows that are centred."""
    return _ratio(np.vecdot(one, other), np.sqrt(np.vecdot(one, one) * np.vecdot(other, other)))


def kernel_alignment(p: Maps, q: Maps) -> Float[np.ndarray, "*lead"]:
    """Centred kernel alignment (Kornblith et al. 2019): do queries that look alike in one map look alike in the other?

    ⟨K, L⟩ / (‖K‖ ‖L‖) with K = P Pᵀ and L = Q Qᵀ, P and Q with the mean row taken away. The keys of the two need not
    be the same, nor in the same order.
    """
    one, other = (values - values.mean(-2, keepdims=True) for values in (p, q))
    K, L = (values @ np.swapaxes(values, -1, -2) for values in (one, other))
    flat = [values.reshape(*values.shape[:-2], -1) for values in (K, L)]
    scale = np.sqrt(np.vecdot(flat[0], flat[0]) * np.vecdot(flat[1], flat[1]))
    # A map whose queries all look alike has nothing to align, up to rounding.
    return _ratio(np.vecdot(flat[0], flat[1]), np.where(scale > _ALIKE, scale, 0))


def differences(p: Maps, q: Maps, threshold: float | int) -> dict[str, NDArray[np.float64]]:
    """All of the above for maps (…, query, key), and the edges at a threshold."""
    lead = p.shape[:-2]
    flat = [values.reshape(-1, *values.shape[-2:]) for values in (p, q)]
    step = max(1, _BLOCK // max(1, flat[0][0].size))
    found: dict[str, list[NDArray[np.floating[Any]]]] = {name: [] for name in (*DIFFERENCES, "edges")}
    for start in range(0, len(flat[0]), step):
        one, other = (values[start : start + step] for values in flat)
        for name, compute in DIFFERENCES.items():
            found[name].append(compute(one, other))
        found["edges"].append(edges(one, other, threshold))
    return {
        name: np.concatenate(parts).astype(np.float64).reshape(*lead, *parts[0].shape[1:])
        for name, parts in found.items()
    }


def entropy(p: Maps) -> Float[np.ndarray, "*lead"]:
    """−Σ p ln p in nats: 0 for one key, ln T for all alike."""
    return -np.vecdot(p, np.log(np.maximum(p, np.finfo(p.dtype).tiny))).mean(-1)


def edges(p: Maps, q: Maps, threshold: float | int) -> Float[np.ndarray, "*lead where"]:
    """How many keys of a query reach the threshold in the first map only, in the second only, and in both."""
    one, other = p >= threshold, q >= threshold
    queries, keys = p.shape[-2:]
    maps = (found.reshape(-1, queries * keys) for found in (one, other, one & other))
    # One map at a time, because numpy counts along axes by adding up.
    in_one, in_other, both = (np.array([np.count_nonzero(row) for row in found]) for found in maps)
    return np.stack([in_one - both, in_other - both, both], -1).reshape(*p.shape[:-2], 3) / queries


def offset_mass(p: Maps, lag: int) -> Float[np.ndarray, "*lead"]:
    """The mean share that queries give to the key at a distance, over the queries that have one there."""
    found = np.diagonal(p, lag, -2, -1)
    return found.mean(-1) if found.shape[-1] else np.zeros(p.shape[:-2])


def category_mass(p: Maps, masks: Bool[np.ndarray, "category key"]) -> Float[np.ndarray, "*lead category"]:
    """The share that the keys of each category get, mean over queries."""
    return p.mean(-2) @ masks.T.astype(p.dtype)


def mid_ranks(values: Maps) -> Float[np.ndarray, "*lead key"]:
    """Ranks from 1 along the last axis; equal values share the mean of their ranks."""
    count = values.shape[-1]
    ordered, order = _sorted(values.reshape(-1, count))
    ranks = np.empty(values.size, values.dtype)
    begins: NDArray[np.int64] = np.arange(0, values.size, count, dtype=np.int64)
    ranks[order + begins[:, None]] = np.arange(1, count + 1, dtype=values.dtype)
    ranks = ranks.reshape(-1, count)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(-1)
    if tied.any():
        ranks[tied] = _shared(ordered[tied], order[tied])
    return ranks.reshape(values.shape)


def _sorted(values: Float[np.ndarray, "row key"]) -> tuple[NDArray[Any], NDArray[np.integer[Any]]]:
    """Something that is ordered and equal as the values of each row are, in rising order, and where each stood.

    Numbers of 32 bits are sorted together with their places, as halves of whole numbers of 64: several times as fast
    as sorting the places by them. Read as whole numbers, floats are ordered as they are, but for negative ones, which
    are the wrong way round; and 0 has two signs.
    """
    if values.dtype != np.float32:
        order = np.argsort(values, -1)
        return np.take_along_axis(values, order, -1), order
    bits = (values + np.float32(0)).view(np.int32)
    keys = np.empty(values.shape, np.int64)
    halves = keys.view(np.int32)
    low, high = (halves[:, half::2] for half in ((0, 1) if sys.byteorder == "little" else (1, 0)))
    low[:] = np.arange(values.shape[-1], dtype=np.int32)
    np.bitwise_xor(bits, (bits >> 31) & 0x7FFFFFFF, out=high)
    keys.sort(-1)
    return high, low


def _shared(ordered: NDArray[Any], order: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Ranks of rows with ties: of each run of equal values, the mean of its first and last place."""
    rows, count = ordered.shape
    places: NDArray[np.int64] = np.tile(np.arange(count, dtype=np.int64), (rows, 1))
    begins = np.ones((rows, count), dtype=np.bool_)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones((rows, count), dtype=np.bool_)
    ends[:, :-1] = begins[:, 1:]
    first = np.maximum.accumulate(np.where(begins, places, 0), -1)
    last = np.minimum.accumulate(np.where(ends, places, count)[:, ::-1], -1)[:, ::-1]
    ranks = np.empty((rows, count))
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, -1)
    return ranks


def _centred(ranks: Maps, seen: NDArray[np.bool_]) -> Maps:
    """Ranks less their mean over what was seen, and 0 elsewhere."""
    count = np.maximum(seen.sum(-1, keepdims=True), 1)
    mean = np.where(seen, ranks, 0).sum(-1, keepdims=True) / count
    return np.where(seen, ranks - mean, 0)


def _ratio(above: Any, below: NDArray[Any]) -> Maps:
    """One over the other, and NaN where there is nothing below."""
    above = np.asarray(above)
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)


def _mean(rows: Maps) -> Maps:
    """The mean over queries that have a number; NaN where none has."""
    known = ~np.isnan(rows)
    return _ratio(np.where(known, rows, 0).sum(-1), known.sum(-1))


DIFFERENCES = {
    "jensen_shannon": jensen_shannon,
    "total_variation": total_variation,
    "cosine": cosine,
    "spearman": spearman,
    "kernel_alignment": kernel_alignment,
}
"""By the name of the variable in a result."""
