"""Means over occurrences: errors are over texts, and tallies add up."""

import numpy as np
import pytest

from attnscope.methods.occurrences import Occurrences, added, by_name, means


def texts_of(seed: int, count: int) -> list[np.ndarray]:
    """Texts whose occurrences hang together: a part in common, and a part of their own."""
    random = np.random.default_rng(seed)
    return [
        0.3 + random.standard_normal((1, 2)) + 0.1 * random.standard_normal((random.integers(1, 6), 2))
        for _ in range(count)
    ]


def tally(texts: list[np.ndarray]) -> Occurrences:
    found: dict[str, Occurrences] = {}
    for values in texts:
        added(found, by_name(["word"] * len(values), values))
    return found["word"]


def test_with_one_occurrence_a_text_the_error_is_that_of_a_mean() -> None:
    texts = [values[:1] for values in texts_of(0, 9)]
    found = means([tally(texts)])
    values = np.concatenate(texts)
    np.testing.assert_allclose(found.mean[:, 0], values.mean(0))
    np.testing.assert_allclose(found.error[:, 0], values.std(0, ddof=1) / 3)
    np.testing.assert_allclose(found.effect[:, 0], values.mean(0) / values.std(0, ddof=1))


def test_the_error_is_what_drawing_texts_again_gives() -> None:
    texts = texts_of(1, 200)
    found = means([tally(texts)])
    sums, counts = np.array([one.sum(0) for one in texts]), np.array([len(one) for one in texts])
    drawn = np.random.default_rng(0).integers(0, 200, (4000, 200))
    spread = (sums[drawn].sum(1) / counts[drawn].sum(1)[:, None]).std(0)
    np.testing.assert_allclose(found.error[:, 0], spread, rtol=0.05)
    every = np.concatenate(texts)
    naive = every.std(0, ddof=1) / np.sqrt(len(every))
    assert (found.error[:, 0] > 1.5 * naive).all()


def test_tallies_add_up() -> None:
    texts = texts_of(2, 6)
    whole, halves = tally(texts), tally(texts[:2]) + tally(texts[2:])
    assert (whole.texts, whole.count) == (halves.texts, halves.count) == (6, sum(map(len, texts)))
    np.testing.assert_allclose(means([whole]).error, means([halves]).error)


def test_names_stay_apart_and_a_single_text_has_no_error() -> None:
    found = by_name(["a", "b", "a"], np.array([[1.0], [5.0], [3.0]]))
    assert means([found["a"]]).mean.item() == pytest.approx(2)
    assert found["b"].count == 1
    assert np.isnan(means([found["a"]]).error).all()
    assert np.isnan(means([found["a"]]).effect).all()


def test_without_any_change_there_is_no_error_and_no_effect() -> None:
    found = means([tally([np.zeros((2, 3)), np.zeros((1, 3))])])
    assert not found.error.any()
    assert not found.effect.any()
