"""Laws of the traced graph, on any maps: monotone in the threshold, whole at 0, and what enumerating paths gives."""

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnscope.methods.tracing import row_shares, strongest, trace

Maps = list[NDArray[np.float64]]


@st.composite
def maps_of(draw: st.DrawFn) -> tuple[Maps, NDArray[np.bool_]]:
    tokens = draw(st.integers(1, 5))
    layers = draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    found = [random.random((draw(st.integers(1, 3)), tokens, tokens)) for _ in range(layers)]
    found = [np.round(values, 1) for values in found]  # equal values too, and zeros
    return found, np.arange(tokens) == draw(st.integers(0, tokens - 1))


def paths(maps: Maps, target: int, threshold: float) -> Iterator[tuple[int, ...]]:
    """Every way down from the target, of any length, with a head for each step: (target, head, key, head, key, ...)."""

    def down(path: tuple[int, ...], layer: int) -> Iterator[tuple[int, ...]]:
        if layer == 0:
            return
        heads, _, tokens = maps[layer - 1].shape
        for head in range(heads):
            for key in range(tokens):
                if maps[layer - 1][head, path[-1], key] >= threshold:
                    longer = (*path, head, key)
                    yield longer
                    yield from down(longer, layer - 1)

    yield from down((target,), len(maps))


def influence_by_paths(maps: Maps, target: int, threshold: float, decay: float) -> NDArray[np.float64]:
    """Σ over what is above a token of λ^distance times the pairs (head, query) one arrives with.

    Between the arrival and the token, a step counts once however many heads take it.
    """
    layers, tokens = len(maps), maps[0].shape[-1]
    found = np.zeros((layers + 1, tokens))
    arrivals = set(paths(maps, target, threshold))
    reached = [{target} if level == layers else set[int]() for level in range(layers + 1)]
    for path in arrivals:
        reached[layers - len(path) // 2].add(path[-1])
    for top in range(layers):  # the level one arrives at
        pairs = [
            (head, query, key)
            for head in range(maps[top].shape[0])
            for query in reached[top + 1]
            for key in range(tokens)
            if maps[top][head, query, key] >= threshold
        ]
        for _, _, key in pairs:
            for steps, end in simple_paths(maps, top, key, threshold):
                found[top - steps, end] += decay**steps
    return found


def simple_paths(maps: Maps, level: int, token: int, threshold: float) -> Iterator[tuple[int, int]]:
    """Every way down from a token without regard to heads: how many steps, and where it ends."""
    yield 0, token
    if level:
        for key in np.flatnonzero((maps[level - 1][:, token] >= threshold).any(0)):
            for steps, end in simple_paths(maps, level - 1, int(key), threshold):
                yield steps + 1, end


@given(maps_of(), st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_enumerating_paths_gives_the_same(
    drawn: tuple[Maps, NDArray[np.bool_]], threshold: float, decay: float
) -> None:
    maps, start = drawn
    target = int(start.argmax())
    found = trace(maps, start, threshold, decay=decay)
    np.testing.assert_allclose(found.influence, influence_by_paths(maps, target, threshold, decay))
    expected = np.zeros_like(found.reached)
    expected[-1, target] = True
    edges: set[tuple[int, int, int]] = set()
    for path in paths(maps, target, threshold):
        level = len(maps) - len(path) // 2
        expected[level, path[-1]] = True
        edges.add((level, path[-3], path[-1]))
    np.testing.assert_array_equal(found.reached, expected)
    passing = {(level, int(q), int(k)) for level, one in enumerate(found.passing) for q, k in np.argwhere(one.any(0))}
    assert passing == edges


@given(maps_of(), st.floats(0, 1), st.floats(0, 1), st.none() | st.integers(1, 5))
def test_a_larger_threshold_never_adds_an_edge(
    drawn: tuple[Maps, NDArray[np.bool_]], one: float, other: float, top: int | None
) -> None:
    maps, start = drawn
    low, high = (trace(maps, start, threshold, top=top) for threshold in sorted((one, other)))
    assert all(bool((few <= many).all()) for few, many in zip(high.passing, low.passing, strict=True))
    assert bool((high.reached <= low.reached).all())
    assert bool((high.influence <= low.influence).all())


@given(maps_of())
def test_without_a_threshold_the_graph_is_whole(drawn: tuple[Maps, NDArray[np.bool_]]) -> None:
    maps, start = drawn
    found = trace(maps, start, 0.0)
    assert bool(found.reached[:-1].all())
    assert bool(found.passing[-1][:, start].all())
    assert all(bool(one.all()) for one in found.passing[:-1])


@given(maps_of(), st.integers(1, 5))
def test_top_keeps_the_strongest_keys_of_each_query(drawn: tuple[Maps, NDArray[np.bool_]], top: int) -> None:
    maps, start = drawn
    for passing, values in zip(trace(maps, start, 0.0, top=top).passing, maps, strict=True):
        joined, strengths = passing.any(0), values.max(0)
        for query in np.flatnonzero(joined.any(1)):
            kept, left = strengths[query][joined[query]], strengths[query][~joined[query]]
            assert len(kept) == min(top, len(strengths))
            assert not left.size or left.max() <= kept.min()


def test_shares_and_ties() -> None:
    np.testing.assert_allclose(row_shares(np.array([[1.0, 3.0], [0.0, 0.0]])), [[0.25, 0.75], [0, 0]])
    np.testing.assert_array_equal(strongest(np.array([[1.0, 2.0, 2.0]]), 1), [[False, True, False]])
