"""The mean over all occurrences of something in texts, and its error, which is over texts.

Occurrences within one text hang together, so they are no draws of their own. With n_t occurrences in text t, whose
values sum up to s_t, the mean is m = Σ s_t / Σ n_t, a ratio of two sums over texts, and its squared error
T/(T−1) · Σ (s_t − m n_t)² / (Σ n_t)² (Cochran 1977, Sampling Techniques, 6.3). With one occurrence a text this is the
usual error of a mean. All that it takes are sums, so that the tallies of two corpora add up to that of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Occurrences:
    """Sums over texts: of the values s and their squares, of the numbers n and their squares, and of both together."""

    texts: int
    count: int
    counts_squared: int
    total: Values
    squares: Values
    products: Values

    def __add__(self, other: "Occurrences") -> "Occurrences":
        return Occurrences(
            self.texts + other.texts,
            self.count + other.count,
            self.counts_squared + other.counts_squared,
            self.total + other.total,
            self.squares + other.squares,
            self.products + other.products,
        )


@dataclass(frozen=True)
class Means:
    """The means of many things beside each other, on the last axis."""

    mean: Values
    error: Values
    """NaN for what occurs in one text only."""
    texts: NDArray[np.int64]
    count: NDArray[np.int64]

    @property
    def effect(self) -> Values:
        """The mean in standard deviations between texts: mean / (error · √texts)."""
        spread = self.error * np.sqrt(self.texts)
        unknown: Values = np.where(
            np.isnan(spread), np.nan, np.where(self.mean == 0, 0, np.copysign(np.inf, self.mean))
        )
        return np.divide(self.mean, spread, out=unknown, where=spread > 0)


def means(found: Sequence[Occurrences]) -> Means:
    """The mean and its error of each."""
    texts = np.array([one.texts for one in found], dtype=np.int64)
    count = np.array([one.count for one in found], dtype=np.int64)
    total = np.stack([one.total for one in found], -1)
    squares = np.stack([one.squares for one in found], -1)
    products = np.stack([one.products for one in found], -1)
    mean = total / count
    residual = squares - 2 * mean * products + np.square(mean) * np.array([one.counts_squared for one in found])
    variance: Values = np.full(mean.shape, np.nan)
    np.divide(texts * np.maximum(residual, 0), (texts - 1) * np.square(count), out=variance, where=texts > 1)
    return Means(mean, np.sqrt(variance), texts, count)


def added(tallies: dict[str, Occurrences], more: dict[str, Occurrences]) -> None:
    """Take one set of tallies into another, by name."""
    for name, found in more.items():
        tallies[name] = tallies[name] + found if name in tallies else found


def by_name(names: Sequence[str], values: Float[np.ndarray, "occurrence *rest"]) -> dict[str, Occurrences]:
    """The occurrences in one text, by name."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    which = np.array([numbers[name] for name in names], dtype=np.int64)
    totals: Values = np.zeros((len(numbers), *values.shape[1:]))
    np.add.at(totals, which, values)
    counts = np.bincount(which, minlength=len(numbers)).tolist()
    squares = np.square(totals)
    return {
        name: Occurrences(1, count, count**2, total, square, count * total)
        for name, count, total, square in zip(numbers, counts, totals, squares, strict=True)
    }
