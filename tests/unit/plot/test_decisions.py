"""Figures of decisions and of flow: whatever the tokens, everything is on the page and nothing lies over another."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import attnscope as ats
from attnscope.errors import InputError
from attnscope.plot import palette
from attnscope.plot.graph import graph_figure
from attnscope.plot.layers import layer_figure
from attnscope.plot.shaded import MOST_BARS, attribution_figure
from attnscope.plot.trust import faithfulness_figure
from tests.conftest import zoo_model
from tests.unit.plot.test_figures import SHORT, STRANGE

MANY = [*SHORT[:-1] * 14, "[SEP]"]
TEXTS = [["[CLS]", "one"], SHORT, STRANGE, MANY]


def contributions(tokens: Sequence[str], signed: bool = True) -> xr.Dataset:
    random = np.random.default_rng(0)
    values = random.normal(size=len(tokens))
    attributes = {
        "model": "made up",
        "method": "decomposed",
        "unit": "token",
        "target": "日本 $x$",
        "target_value": 1.0,
    }
    attributes |= {"signed": "yes", "bias": -0.5} if signed else {"signed": "no"}
    found = xr.Dataset({"contribution": ("source", values if signed else abs(values))}, attrs=attributes)
    return found.assign_coords(source_token=("source", np.array(tokens, dtype=object)))


def shares(tokens: Sequence[str], layers: int = 4) -> xr.Dataset:
    values = np.random.default_rng(0).dirichlet(np.ones(len(tokens)), layers)
    attributes = {"model": "made up", "method": "rollout", "measure": "block_norm", "target": "[CLS]"}
    found = xr.Dataset({"share": (("layer", "source"), values)}, {"layer": range(1, layers + 1)}, attributes)
    return found.assign_coords(source_token=("source", np.array(tokens, dtype=object)))


def drawn(figure: Figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def apart(boxes, axis: int) -> bool:
    spans = sorted((box.get_points()[0][axis], box.get_points()[1][axis]) for box in boxes)
    return all(end <= start + 1 for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("tokens", TEXTS)
def test_a_text_is_shaded_whole_and_its_bars_are_named(tokens: list[str], signed: bool) -> None:
    figure = attribution_figure(contributions(tokens, signed))
    renderer = drawn(figure)
    text, bars = figure.axes
    boxes = [patch.get_window_extent(renderer) for patch in text.patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == len(tokens)
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)
    for one, other in itertools.combinations(boxes, 2):
        assert one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
    assert len(bars.patches) == min(len(tokens), MOST_BARS)
    assert apart([label.get_window_extent(renderer) for label in bars.get_yticklabels()], 1)
    assert min(label.get_window_extent(renderer).x0 for label in bars.get_yticklabels()) >= 0
    lowest_heading = min(one.get_window_extent(renderer).y0 for one in figure.texts)
    assert lowest_heading > max(box.y1 for box in boxes)


def test_the_heading_does_not_lie_over_its_second_line() -> None:
    for tokens in (SHORT, MANY):
        figure = attribution_figure(contributions(tokens))
        renderer = drawn(figure)
        title = figure.texts[0].get_window_extent(renderer)  # with an empty line for each of the lines below it
        first, second = (one.get_window_extent(renderer) for one in figure.texts[1:3])
        assert first.y1 <= title.y1 - (title.y1 - title.y0) / 3
        assert second.y1 <= first.y0 + 1


def test_shades_speak_for_and_against() -> None:
    found = contributions(["a", "b", "c"])
    found["contribution"].values[:] = [2.0, -2.0, 0.0]
    shades = [patch.get_facecolor() for patch in attribution_figure(found).axes[0].patches]
    assert shades[0] == palette.signed()(1.0)
    assert shades[1] == palette.signed()(0.0)
    assert sum(shades[2][:3]) > 2.9
    assert [bar.get_width() for bar in attribution_figure(found).axes[1].patches] == [2.0, -2.0, 0.0]


def test_what_is_no_single_decision_is_refused() -> None:
    steps = xr.Dataset({"contribution": (("step", "source"), np.ones((2, 3)))})
    with pytest.raises(InputError, match="one target"):
        attribution_figure(steps)


@pytest.mark.parametrize("tokens", TEXTS)
def test_layers_are_rows_with_the_deepest_on_top(tokens: list[str]) -> None:
    found = shares(tokens)
    figure = layer_figure(found)
    renderer = drawn(figure)
    ax = figure.axes[0]
    np.testing.assert_array_equal(ax.images[0].get_array(), found["share"].to_numpy()[::-1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["4", "3", "2", "1"]
    labels = [label.get_window_extent(renderer) for label in ax.get_xticklabels()]
    assert apart(labels, 0)
    assert min(box.y0 for box in labels) >= 0


@pytest.mark.parametrize("text", ["the cat sat", "the cat sat on the mat, and a dog ran. " * 4])
@pytest.mark.parametrize("target", [None, "cat"])
def test_a_graph_has_a_dot_for_each_node_and_a_line_for_each_edge(text: str, target: str | None) -> None:
    traced = ats.flow(zoo_model("bert"), text, target=target, threshold=0.02)
    figure = graph_figure(traced)
    renderer = drawn(figure)
    ax = figure.axes[0]
    lines, dots = ax.collections
    assert len(lines.get_segments()) == len(traced.edges)
    assert len(dots.get_offsets()) == len(traced.nodes)
    assert tuple(dots.get_offsets()[-1]) == (traced.target.token, traced.layers[-1])
    assert apart([label.get_window_extent(renderer) for label in ax.get_xticklabels()], 0)


def trust(methods: int, texts: int = 3) -> xr.Dataset:
    random = np.random.default_rng(0)
    names = [*(f"a_rather_long_method_{number}" for number in range(methods - 1)), "random"]
    fractions = np.arange(1, 10) / 10
    means = random.random(methods)
    bounds = {"aopc_low": means - 0.1, "aopc_high": means + 0.1} if texts > 1 else {}
    nothing = np.full(methods, np.nan)
    variables = {"aopc": means, "aopc_low": nothing, "aopc_high": nothing} | bounds
    curves = {
        name: (("method", "fraction"), random.random((methods, 9))) for name in ("comprehensiveness", "sufficiency")
    }
    attributes = {"model": "made up", "texts": texts, "how": "mask", "verdict": "trust none"}
    found = xr.Dataset({name: ("method", values) for name, values in variables.items()} | curves, attrs=attributes)
    return found.assign_coords(method=np.array(names, dtype=object), fraction=fractions)


@pytest.mark.parametrize(("methods", "texts"), [(2, 1), (4, 3), (12, 3)])
def test_methods_are_sorted_and_told_apart(methods: int, texts: int) -> None:
    found = trust(methods, texts)
    figure = faithfulness_figure(found)
    renderer = drawn(figure)
    intervals, *curves = figure.axes
    order = [label.get_text() for label in intervals.get_yticklabels()]
    assert order == found["method"].to_numpy()[np.argsort(-found["aopc"].to_numpy())].tolist()
    assert apart([label.get_window_extent(renderer) for label in intervals.get_yticklabels()], 1)
    for ax in curves:
        lines = ax.lines[:methods]
        assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}) == methods
        np.testing.assert_array_equal(lines[0].get_ydata(), found[ax.get_title("left")].sel({"method": order[0]}))
