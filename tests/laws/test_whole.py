"""Rollout and maximum flow: what must hold of the maps of all layers, on maps of any kind."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnscope.errors import InputError
from attnscope.methods.max_flow import max_flow, resolution
from attnscope.methods.rollout import rollout
from attnscope.methods.rows import over_heads, shares


@st.composite
def maps(draw: st.DrawFn, layers: int = 4, tokens: int = 6) -> np.ndarray:
    """Maps of any size: spread or sharp, causal or not, with rows and entries of zeros."""
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    count, size = draw(st.integers(1, layers)), draw(st.integers(1, tokens))
    found = random.gamma(draw(st.sampled_from([0.1, 1.0, 10.0])), size=(count, size, size))
    found *= random.random(found.shape) > draw(st.sampled_from([0.0, 0.3, 0.7]))
    return np.tril(found) if draw(st.booleans()) else found


def by_paths(layers: np.ndarray) -> np.ndarray:
    """Σ over all ways through the layers of the product along the way."""
    depth, size, _ = layers.shape
    found = np.zeros((size, size))
    for way in itertools.product(range(size), repeat=depth + 1):
        found[way[0], way[-1]] += np.prod([layers[depth - 1 - n][way[n], way[n + 1]] for n in range(depth)])
    return found


def net(layers: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    depth, size, _ = layers.shape
    graph.add_nodes_from(itertools.product(range(depth + 1), range(size)))
    for layer, query, key in zip(*np.nonzero(layers), strict=True):
        graph.add_edge((layer + 1, query), (layer, key), capacity=float(layers[layer, query, key]))
    return graph


def least_cut(layers: np.ndarray, query: int, source: int) -> float:
    """The least capacity that parts a token from a source, over every set of nodes."""
    depth, size, _ = layers.shape
    between = list(itertools.product(range(1, depth), range(size)))
    dead_ends = {(0, other) for other in range(size) if other != source}
    graph, costs = net(layers), []
    for chosen in itertools.product([False, True], repeat=len(between)):
        near = {(depth, query)} | dead_ends | {node for node, taken in zip(between, chosen, strict=True) if taken}
        costs.append(sum(d["capacity"] for u, v, d in graph.edges(data=True) if u in near and v not in near))
    return min(costs)


@given(maps(), st.booleans())
def test_rollout_rows_are_shares(values: np.ndarray, identity: bool) -> None:
    found = rollout(values, identity=identity)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-12)
    assert (found >= 0).all()
    if not np.triu(values, 1).any():
        assert not np.triu(found, 1).any()


@given(maps(layers=3, tokens=4), st.booleans())
def test_rollout_is_the_sum_over_ways(values: np.ndarray, identity: bool) -> None:
    found = rollout(values, identity=identity)
    layers = shares(values, identity=identity)
    for depth in range(1, len(values) + 1):
        np.testing.assert_allclose(found[depth - 1], by_paths(layers[:depth]), atol=1e-12)


@given(maps(), st.floats(1e-3, 1e3), st.booleans())
def test_rollout_does_not_see_the_scale_of_a_map(values: np.ndarray, factor: float, identity: bool) -> None:
    np.testing.assert_allclose(
        rollout(values * factor, identity=identity), rollout(values, identity=identity), atol=1e-12
    )


def test_a_token_that_takes_nothing_keeps_what_it_has() -> None:
    values = np.array([[[0.0, 0.0], [3.0, 1.0]]])
    np.testing.assert_array_equal(rollout(values, identity=False)[0], [[1, 0], [0.75, 0.25]])
    np.testing.assert_array_equal(rollout(values, identity=True)[0], [[1, 0], [0.375, 0.625]])


@given(maps())
@settings(max_examples=60)
def test_flow_is_what_another_solver_says(values: np.ndarray) -> None:
    found, graph = max_flow(values, layers=[len(values)])[0], net(values)
    size = values.shape[-1]
    for query, source in itertools.product(range(size), repeat=2):
        expected = nx.maximum_flow_value(
            graph, (len(values), query), (0, source), flow_func=nx.algorithms.flow.edmonds_karp
        )
        slack = resolution(values) * values.size
        assert expected - slack <= found[query, source] <= expected * (1 + 1e-12)


@given(maps(layers=3, tokens=3))
@settings(max_examples=25)
def test_flow_is_the_least_cut(values: np.ndarray) -> None:
    found = max_flow(values, layers=[len(values)])[0]
    slack = resolution(values) * values.size
    for query, source in itertools.product(range(values.shape[-1]), repeat=2):
        cut = least_cut(values, query, source)
        assert cut - slack <= found[query, source] <= cut * (1 + 1e-12)


@given(maps(), st.booleans())
@settings(max_examples=40)
def test_a_rollout_is_one_possible_flow(values: np.ndarray, identity: bool) -> None:
    """Sent on in shares, what starts as 1 fills no pipe beyond its width: so no rollout is above the flow."""
    layers = shares(values, identity=identity)
    flows = max_flow(layers)
    assert (rollout(layers, identity=False) <= flows + resolution(layers) * values.size).all()
    assert (flows <= 1 + 1e-12).all()
    assert (flows <= layers[0].sum(0) + 1e-12).all()


def test_layers_are_those_asked_for() -> None:
    values = np.random.default_rng(0).random((3, 4, 4))
    every = max_flow(values)
    np.testing.assert_array_equal(max_flow(values, layers=[3, 1]), every[[2, 0]])
    np.testing.assert_allclose(every[0], values[0], atol=resolution(values))


def test_heads_are_averaged() -> None:
    values = np.random.default_rng(1).random((2, 3, 4, 4))
    np.testing.assert_array_equal(rollout(values, identity=True), rollout(values.mean(1), identity=True))
    np.testing.assert_array_equal(max_flow(values), max_flow(values.mean(1)))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (np.ones((2, 3, 4)), "as many keys as queries"),
        (np.ones((3, 3)), "must be of shape"),
        (np.ones((0, 3, 3)), "must be of shape"),
        (-np.ones((1, 2, 2)), "nowhere below 0"),
        (np.full((1, 2, 2), np.nan), "finite"),
    ],
)
def test_what_is_no_map(values: np.ndarray, named: str) -> None:
    with pytest.raises(InputError, match=named):
        over_heads(values)


def test_layers_that_are_not_there() -> None:
    with pytest.raises(InputError, match="from 1 to 2"):
        max_flow(np.ones((2, 2, 2)), layers=[3])


def test_queries_that_are_not_there() -> None:
    with pytest.raises(InputError, match=r"from 0 to 1, not \[2\]"):
        max_flow(np.ones((2, 2, 2)), queries=[2])
