"""Faithfulness of a ranking of tokens: does a model's probability go where the ranking says it should?

With the K % highest-ranked tokens masked, a faithful ranking makes the probability of the decision fall far
(comprehensiveness); with all but those masked, it makes it fall little (sufficiency; DeYoung et al. 2020). The mean
of the comprehensiveness over K = 10, 20, ..., 90 is the AOPC (as Modarressi et al. 2023 report it).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from attnscope.errors import InputError

PERCENT = tuple(range(10, 100, 10))
LEVEL = 0.95


def highest(
    scores: NDArray[np.floating[Any]], eligible: NDArray[np.bool_], percent: Sequence[int | float] = PERCENT
) -> Bool[np.ndarray, "fraction token"]:
    """For each K, the K % of the eligible tokens with the highest scores; of equal ones, those that come first.

    Parts of a token are rounded up, but one of the tokens is always left: between none and all, nothing is ranked.
    """
    places = np.flatnonzero(eligible)
    if len(places) < 2:
        raise InputError("a ranking is of two tokens or more; the text has fewer that could be masked")
    if any(not 0 < one < 100 for one in percent) or not len(percent):
        raise InputError(f"percentages of tokens lie between 0 and 100, not {list(percent)}")
    order = places[np.argsort(-scores[places], kind="stable")]
    chosen = np.zeros((len(percent), len(scores)), bool)
    for row, one in zip(chosen, percent, strict=True):
        row[order[: count(len(order), one)]] = True
    return chosen


def count(tokens: int, percent: int | float) -> int:
    """How many tokens K % of them are."""
    exact = tokens * percent / 100
    return int(np.clip(np.ceil(exact - 1e-9), 1, tokens - 1))


@dataclass(frozen=True)
class Intervals:
    """Means over texts, with the bounds between which they lie if the texts are drawn again."""

    mean: Float[np.ndarray, "*axes"]
    low: Float[np.ndarray, "*axes"]
    high: Float[np.ndarray, "*axes"]


def resampled(texts: int, samples: int, seed: int) -> Float[np.ndarray, "sample text"]:
    """How often each text is drawn in each bootstrap sample, as shares: one draw for all methods, so that they pair."""
    random = np.random.default_rng(seed)
    return random.multinomial(texts, np.full(texts, 1 / texts), size=samples) / texts


def intervals(values: Float[np.ndarray, "*axes text"], draws: Float[np.ndarray, "sample text"]) -> Intervals:
    """Percentile intervals of the mean over texts. One text alone has none: its bounds are not a number."""
    mean = values.mean(-1)
    if values.shape[-1] < 2:
        nothing = np.full_like(mean, np.nan)
        return Intervals(mean, nothing, nothing)
    means = np.moveaxis(values @ draws.T, -1, 0)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return Intervals(mean, low, high)


@dataclass(frozen=True)
class Standing:
    """How methods compare: the best, and how far each of the others is behind it, text by text."""

    best: int
    behind: Intervals
    tied: Bool[np.ndarray, "method"]
    """Whether a method can't be told from the best: the interval of its distance holds 0."""


def standing(values: Float[np.ndarray, "method text"], draws: Float[np.ndarray, "sample text"]) -> Standing:
    """Methods by their mean; the distance to the best is taken in each text and sample, so that texts cancel out."""
    best = int(values.mean(-1).argmax())
    behind = intervals(values[best] - values, draws)
    tied = np.isnan(behind.low) | (behind.low <= 0)
    return Standing(best, behind, tied)


def beats(values: Float[np.ndarray, "method text"], control: int, draws: Float[np.ndarray, "sample text"]) -> Intervals:
    """How far each method is above a control."""
    return intervals(values - values[control], draws)
