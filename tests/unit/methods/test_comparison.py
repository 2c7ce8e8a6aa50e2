"""Every difference of two maps against scipy, row by row, and its law: equal maps do not differ."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial import distance

from attnscope.methods import comparison

Maps = NDArray[np.float64]
SHAPE = (2, 3, 5, 6)


def shares(seed: int, shape: tuple[int, ...] = SHAPE) -> Maps:
    random = np.random.default_rng(seed)
    found = np.round(random.dirichlet(np.full(shape[-1], 0.4), shape[:-1]), 2) + 1e-3 * random.integers(0, 2, shape)
    return found / found.sum(-1, keepdims=True)


@pytest.fixture
def pair() -> tuple[Maps, Maps]:
    return shares(0), shares(1)


def by_row(compute: Any, p: Maps, q: Maps) -> Maps:
    rows = [compute(one, other) for one, other in zip(p.reshape(-1, 6), q.reshape(-1, 6), strict=True)]
    return np.array(rows).reshape(p.shape[:-1]).mean(-1)


def test_against_scipy(pair: tuple[Maps, Maps]) -> None:
    p, q = pair
    assert (p == 0).any()
    for found, expected in (
        (comparison.jensen_shannon(p, q), by_row(lambda a, b: distance.jensenshannon(a, b) ** 2, p, q)),
        (comparison.total_variation(p, q), by_row(lambda a, b: distance.cityblock(a, b) / 2, p, q)),
        (comparison.cosine(p, q), by_row(lambda a, b: 1 - distance.cosine(a, b), p, q)),
        (comparison.entropy(p), by_row(lambda a, _: stats.entropy(a), p, q)),
        (comparison.spearman(p, q), by_row(rank_correlation, p, q)),
    ):
        assert found.shape == SHAPE[:2]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def rank_correlation(a: Maps, b: Maps) -> float:
    seen = (a > 0) | (b > 0)
    return float(stats.spearmanr(a[seen], b[seen]).statistic)


def test_spearman_without_zeros_or_ties() -> None:
    random = np.random.default_rng(0)
    p, q = random.dirichlet(np.ones(6), SHAPE[:3]), random.dirichlet(np.ones(6), SHAPE[:3])
    np.testing.assert_allclose(comparison.spearman(p, q), by_row(lambda a, b: stats.spearmanr(a, b).statistic, p, q))


def test_kernel_alignment_by_its_definition(pair: tuple[Maps, Maps]) -> None:
    p, q = pair
    centre = np.eye(5) - 1 / 5
    for place in np.ndindex(2, 3):
        K, L = (centre @ values[place] @ values[place].T @ centre for values in (p, q))
        expected = (K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum())
        assert comparison.kernel_alignment(p, q)[place] == pytest.approx(expected)
    swapped = comparison.kernel_alignment(p, q[..., ::-1])
    np.testing.assert_allclose(swapped, comparison.kernel_alignment(p, q))
    assert np.isnan(comparison.kernel_alignment(np.full((4, 4), 0.25), shares(0, (4, 4))))


@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0, 1))
def test_equal_maps_do_not_differ(seed: int, tokens: int, threshold: float) -> None:
    p = shares(seed, (3, tokens, tokens))
    found = comparison.differences(p, p, threshold)
    assert not found["jensen_shannon"].any()
    assert not found["total_variation"].any()
    assert not found["edges"][..., :2].any()
    for name in ("cosine", "spearman", "kernel_alignment"):
        known = found[name][~np.isnan(found[name])]
        np.testing.assert_allclose(known, 1)


@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0, 1))
def test_bounds_and_symmetry(seed: int, tokens: int, threshold: float) -> None:
    p, q = shares(seed, (2, tokens, tokens)), shares(seed + 1, (2, tokens, tokens))
    one, other = comparison.differences(p, q, threshold), comparison.differences(q, p, threshold)
    for name in comparison.DIFFERENCES:
        np.testing.assert_allclose(one[name], other[name], atol=1e-12)
    assert (one["jensen_shannon"] <= np.log(2) + 1e-12).all()
    assert (one["total_variation"] <= 1 + 1e-12).all()
    # Pinsker's inequality between the two
    assert (one["jensen_shannon"] >= one["total_variation"] ** 2 / 2 - 1e-12).all()
    np.testing.assert_array_equal(one["edges"][..., [1, 0, 2]], other["edges"])
    everything = one["edges"].sum(-1)
    np.testing.assert_allclose(everything, ((p >= threshold) | (q >= threshold)).sum(-1).mean(-1))


def test_blocks_change_nothing(pair: tuple[Maps, Maps], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = comparison.differences(*pair, 0.2)
    monkeypatch.setattr(comparison, "_BLOCK", 40)
    parts = comparison.differences(*pair, 0.2)
    assert all(np.array_equal(whole[name], parts[name], equal_nan=True) for name in whole)
    assert whole["edges"].shape == (2, 3, 3)


def test_small_differences_survive_single_precision() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(50), (1, 20))
    q = p * (1 + 1e-4 * np.random.default_rng(1).standard_normal(p.shape))
    q /= q.sum(-1, keepdims=True)
    exact = comparison.jensen_shannon(p, q)
    single = comparison.jensen_shannon(p.astype(np.float32), q.astype(np.float32))
    np.testing.assert_allclose(single, exact, rtol=0.02)


def test_a_share_at_the_threshold_is_an_edge() -> None:
    p, q = np.array([[[0.25, 0.75, 0.0]]]), np.array([[[0.5, 0.25, 0.25]]])
    np.testing.assert_array_equal(comparison.edges(p, q, 0.25), [[0, 1, 2]])


def test_masses(pair: tuple[Maps, Maps]) -> None:
    square = shares(3, (2, 4, 4))
    expected = [[np.mean([square[h, i, i - 1] for i in range(1, 4)]) for h in range(2)]]
    np.testing.assert_allclose(comparison.offset_mass(square, -1), expected[0])
    np.testing.assert_allclose(comparison.offset_mass(square, 0), np.trace(square, axis1=-2, axis2=-1) / 4)
    assert not comparison.offset_mass(shares(0, (2, 1, 1)), 1).any()
    masks = np.array([[True, False, False, False, False, True], [False, True, True, True, True, False]])
    found = comparison.category_mass(pair[0], masks)
    np.testing.assert_allclose(found.sum(-1), 1)
    np.testing.assert_allclose(found[..., 0], pair[0][..., [0, 5]].sum(-1).mean(-1))


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7]), min_size=1, max_size=8))
def test_mid_ranks(values: list[float]) -> None:
    row = np.array(values)
    np.testing.assert_array_equal(comparison.mid_ranks(row[None])[0], stats.rankdata(row))
