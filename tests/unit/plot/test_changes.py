"""Figures of what changed: every number drawn is the result's, and nothing overlaps."""

import itertools

import numpy as np
import pytest
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg

import attnscope as ats
from attnscope.plot.changes import (
    category_figure,
    class_figure,
    comparison_figure,
    matrix_figure,
    word_figure,
)
from tests import zoo
from tests.conftest import zoo_model

TEXTS = ["the cat sat on the mat.", "a dog and 2 cats, sitting", "it was not good, the cat", "the movie is bad, bad"]


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    other = ats.Model(zoo.build("bert", seed=1), zoo.tokenizer("bert"), name="/a/b/other")
    return ats.compare(zoo_model("bert"), other, TEXTS, noise="int8", draws=100)


@pytest.fixture(scope="module")
def classes() -> xr.Dataset:
    models = [zoo.build_head("bert", "AutoModelForSequenceClassification", seed=seed) for seed in (0, 1)]
    pair = [ats.Model(model, zoo.tokenizer("bert")) for model in models]
    return ats.compare_classes(pair[0], pair[1], [("0", TEXTS[0]), ("1", TEXTS[1]), ("2", TEXTS[3])])


def drawn(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def test_the_matrix_shows_every_number(found):
    figure = matrix_figure(found)
    drawn(figure)
    ax = figure.axes[0]
    shown = [text.get_text() for text in ax.texts]
    values = found["jensen_shannon"].to_numpy()
    assert [f"{value:.2f}".lstrip("0") for value in values.ravel() if value >= 0.005] == [
        text for text in shown if text.startswith(".")
    ]
    np.testing.assert_array_equal(ax.images[0].get_array(), values)
    assert any("bert → other" in text.get_text() for text in figure.texts)


def test_heads_within_the_noise_are_marked(found):
    loud = found.assign(above_noise_q=xr.zeros_like(found["above_noise_q"]), above_noise=found["above_noise"] + 1)
    silent = found.assign(above_noise_q=xr.ones_like(found["above_noise_q"]))
    assert len(matrix_figure(loud).axes[0].lines) == 0
    figure = matrix_figure(silent)
    assert len(figure.axes[0].lines) == silent["jensen_shannon"].size
    assert "not told from noise: 8" in figure.axes[0].get_xlabel()


def test_words_have_their_values_and_intervals(found):
    places = [0, 3, 1]
    figure = word_figure(found, places)
    drawn(figure)
    ax = figure.axes[0]
    points = {(float(x), int(y)) for line in ax.lines[1:] for x, y in zip(*line.get_data(), strict=True)}
    assert points == {(float(found["word_mean_change"][place]), row) for row, place in enumerate(places)}
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [str(found["word"].to_numpy()[place]) for place in places]


def test_measures_without_heads_and_single_texts_are_drawn():
    bert = zoo_model("bert")
    other = ats.Model(zoo.build("bert", seed=1), zoo.tokenizer("bert"))
    for result in (
        ats.compare(bert, other, TEXTS, measure="block_norm", noise="int8", draws=100),
        ats.compare(bert, other, TEXTS[0]),
        ats.compare(bert, bert, TEXTS[0], measure="block_norm"),
    ):
        drawn(comparison_figure(result, list(range(3))))
        drawn(word_figure(result, []))


def test_the_scale_of_a_small_matrix_stands_clear_of_the_title(found):
    figure = comparison_figure(found, [])
    renderer = drawn(figure)
    cells = next(ax for ax in figure.axes if ax.images)
    note = next(text for text in cells.texts if "in nats" in text.get_text()).get_window_extent(renderer)
    scale = next(ax for ax in figure.axes if ax.get_ylabel() == "nats")
    names = [scale.yaxis.label, *(label for label in scale.get_yticklabels() if label.get_text())]
    assert not any(label.get_window_extent(renderer).overlaps(note) for label in names)


def test_without_words_there_is_no_empty_scale(found):
    assert not word_figure(found, []).axes[0].axison
    noteless = word_figure(found.drop_vars("noise_word_mean_change"), []).axes[0]
    assert [text.get_text() for text in noteless.texts] == ["none beyond chance"]
    low, high = sorted(word_figure(found, [0]).axes[0].get_ylim())
    assert high - low > 5  # one word does not fill the page


def test_layers_of_another_depth_are_named_beside_those_they_stand_for(found):
    matched = found.assign_coords(tuned_layer=("layer", [3, 5]))
    assert [label.get_text() for label in matrix_figure(matched).axes[0].get_yticklabels()] == ["1→3", "2→5"]


def test_kinds_of_tokens_before_and_after(found):
    figure = category_figure(found)
    drawn(figure)
    for ax, kind in zip(figure.axes, found["category"].to_numpy(), strict=True):
        expected = found["category_mass"].sel(category=kind).mean("head").transpose("model", "layer")
        np.testing.assert_allclose([line.get_ydata() for line in ax.lines], expected)


def test_the_page_holds_all_and_labels_do_not_overlap(found, classes):
    figure = comparison_figure(found, list(range(10)), classes, list(range(6)))
    renderer = drawn(figure)
    assert len(figure.axes) == 3 + 1 + found.sizes["category"]  # and the scale
    for ax in figure.axes:
        for labels in (ax.get_yticklabels(), ax.get_xticklabels()):
            boxes = [label.get_window_extent(renderer) for label in labels if label.get_text()]
            across = labels is not None and labels == ax.get_xticklabels()
            spans = sorted((b.x0, b.x1) if across else (b.y0, b.y1) for b in boxes)
            assert all(end <= start + 1 for (_, end), (start, _) in itertools.pairwise(spans))
    without = comparison_figure(found, list(range(3)), classes, [])
    assert len(without.axes) == 2 + 1 + found.sizes["category"]
    drawn(class_figure(classes, [0, 1]))
