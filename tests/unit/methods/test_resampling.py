"""Intervals and tests against scipy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attnscope.methods import resampling


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).gamma(2.0, 1.0, (60, 2, 3)) - 1.7


def test_the_bootstrap_against_scipy(values: np.ndarray) -> None:
    found = resampling.bootstrap(values, draws=20000)
    expected = stats.bootstrap((values,), np.mean, n_resamples=20000, method="percentile", rng=1).confidence_interval
    spread = values.std(0) / np.sqrt(len(values))
    assert found.shape == (2, 2, 3)
    for bound, theirs in zip(found, (expected.low, expected.high), strict=True):
        assert (np.abs(bound - theirs) < 0.1 * spread).all()


def test_the_bootstrap_draws_the_same_texts_for_all(values: np.ndarray) -> None:
    shifted = np.concatenate([values, values + 1], -1)
    found = resampling.bootstrap(shifted)
    np.testing.assert_allclose(found[..., 3:], found[..., :3] + 1)
    np.testing.assert_array_equal(found, resampling.bootstrap(shifted))
    assert (resampling.bootstrap(values, seed=1) != found[..., :3]).any()


def test_intervals_cover_as_often_as_they_say() -> None:
    random = np.random.default_rng(0)
    samples = random.standard_normal((80, 400))  # 400 corpora of 80 texts
    low, high = resampling.bootstrap(samples, draws=500)
    covered = ((low <= 0) & (high >= 0)).mean()
    assert 0.90 < covered < 0.98


def test_texts_without_a_number_are_left_out(values: np.ndarray) -> None:
    gaps = values.copy()
    gaps[::3, 0, 0] = np.nan
    found = resampling.paired_test(gaps)
    kept = gaps[~np.isnan(gaps[:, 0, 0]), 0, 0]
    assert found.mean[0, 0] == pytest.approx(kept.mean())
    assert found.interval[0, 0, 0] < kept.mean() < found.interval[1, 0, 0]
    assert found.p[0, 0] == pytest.approx(stats.ttest_1samp(kept, 0).pvalue)


def test_what_has_no_number_in_any_text_has_no_interval(values: np.ndarray) -> None:
    gaps = values.copy()
    gaps[:, 1, 2] = np.nan
    found = resampling.bootstrap(gaps)
    assert np.isnan(found[:, 1, 2]).all()
    np.testing.assert_allclose(
        np.delete(found.reshape(2, -1), 5, 1), np.delete(resampling.bootstrap(values).reshape(2, -1), 5, 1)
    )


def test_the_paired_test_against_scipy(values: np.ndarray) -> None:
    found = resampling.paired_test(values)
    np.testing.assert_allclose(found.mean, values.mean(0))
    np.testing.assert_allclose(found.p, stats.ttest_1samp(values, 0).pvalue, rtol=1e-9)
    np.testing.assert_allclose(found.q, stats.false_discovery_control(found.p.ravel()).reshape(2, 3), rtol=1e-12)
    np.testing.assert_allclose(found.effect, values.mean(0) / values.std(0, ddof=1))


def test_without_any_difference() -> None:
    found = resampling.paired_test(np.zeros((5, 2)))
    assert not found.mean.any()
    assert not found.interval.any()
    assert not found.effect.any()
    np.testing.assert_array_equal(found.p, 1)


def test_one_text_tells_nothing_of_chance() -> None:
    found = resampling.paired_test(np.ones((1, 3)))
    assert np.isnan(found.p).all()
    assert np.isnan(found.effect).all()
    np.testing.assert_array_equal(found.mean, 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 3))
def test_false_discovery_against_scipy(p: list[float], gaps: int) -> None:
    found = resampling.false_discovery(np.array([*p, *[np.nan] * gaps]))
    np.testing.assert_allclose(found[: len(p)], stats.false_discovery_control(p), rtol=1e-12)
    assert np.isnan(found[len(p) :]).all()
