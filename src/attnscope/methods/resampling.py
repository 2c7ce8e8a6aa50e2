"""Is a mean over texts more than chance: bootstrap intervals, paired tests, false discovery rate, effect sizes.

Arrays have the texts on their first axis and are NaN where a text has no number. Every text is one draw: what happens
within a text hangs together, and is never counted as many.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import stdtr

LEVEL = 0.95
DRAWS = 2000
Values = NDArray[np.floating[Any]]


def bootstrap(
    values: Values, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Float[np.ndarray, "bound *rest"]:
    """The percentile interval of the mean over texts, by drawing texts with replacement: low and high.

    The same texts are drawn for every entry, so that differences of entries are paired too.
    """
    count = len(values)
    random = np.random.default_rng(seed)
    flat = values.reshape(count, -1).astype(np.float64)
    known = ~np.isnan(flat)
    filled = np.where(known, flat, 0)
    gaps = not known.all()
    means = np.empty((flat.shape[1], draws))
    for start in range(0, draws, 100):  # so that the counts of draws stay small for a long list of texts
        size = min(100, draws - start)
        drawn = random.multinomial(count, np.full(count, 1 / count), size).astype(np.float64)
        sizes = (drawn @ known).T if gaps else float(count)
        with np.errstate(invalid="ignore"):  # no text with a number was drawn
            means[:, start : start + size] = (drawn @ filled).T / sizes
    tail = (1 - level) / 2
    if gaps:
        bounds: Values = np.full((2, len(means)), np.nan)
        some = known.any(0)  # of what has no number in any text there is no interval
        bounds[:, some] = np.nanquantile(means[some], [tail, 1 - tail], axis=1)
    else:
        means.sort(-1)
        bounds = np.stack([_between(means, share * (draws - 1)) for share in (tail, 1 - tail)])
    return bounds.reshape(2, *values.shape[1:])


def _between(ordered: Values, place: float) -> Values:
    """The entry of sorted rows at a place, in a straight line between the two beside it."""
    below = int(place)
    above = min(below + 1, ordered.shape[-1] - 1)
    return ordered[:, below] + (place - below) * (ordered[:, above] - ordered[:, below])


@dataclass(frozen=True)
class Test:
    """A paired test of whether differences have the mean 0."""

    mean: Values
    interval: Values
    """(bound, …): low and high."""
    p: Values
    q: Values
    """p after Benjamini and Hochberg, over all entries together."""
    effect: Values
    """Cohen's d: the mean in standard deviations of the differences."""


def paired_test(differences: Values, *, draws: int = DRAWS, seed: int = 0) -> Test:
    """Student's t-test of paired differences (text, …), with the bootstrap interval of their mean."""
    known = ~np.isnan(differences)
    count = known.sum(0)
    filled = np.where(known, differences, 0).astype(np.float64)
    mean = _divided(filled.sum(0), count)
    squares = np.where(known, differences - mean, 0) ** 2
    deviation = np.sqrt(_divided(squares.sum(0), count - 1))
    # Without any spread the mean is sure: no chance at all, or no difference at all.
    effect = np.where(deviation > 0, _divided(mean, deviation), np.where(mean == 0, 0.0, np.copysign(np.inf, mean)))
    p = mean_test(mean, _divided(deviation, np.sqrt(count)), count)
    effect = np.where(count > 1, effect, np.nan)
    return Test(mean, bootstrap(differences, draws=draws, seed=seed), p, false_discovery(p), effect)


def mean_test(mean: Values, error: Values, count: NDArray[Any]) -> Values:
    """The p-value of Student's t-test that a mean is 0, from its standard error; NaN for a single draw."""
    sure = np.where(mean == 0, 0.0, np.inf)
    statistic = np.divide(np.abs(mean), error, out=sure, where=error > 0)
    return np.where(count > 1, 2 * stdtr(np.maximum(count - 1, 1), -statistic), np.nan)


def false_discovery(p: Values) -> Values:
    """Benjamini and Hochberg's adjusted p-values: the least false discovery rate at which an entry is a discovery."""
    flat = p.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    adjusted = np.full(flat.shape, np.nan)
    order = known[np.argsort(flat[known], kind="stable")]
    scaled = flat[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted.reshape(p.shape)


def _divided(above: Values, below: NDArray[Any]) -> Values:
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)
