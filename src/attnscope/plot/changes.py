"""What changed from one model to another: where, for which words, and for which kinds of tokens."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray
from scipy.special import stdtrit

from attnscope.plot import lettering, palette
from attnscope.plot.lettering import style
from attnscope.plot.maps import headline
from attnscope.text.labels import short_name

_LEVEL = 0.95
_CELL = 0.52
"""Inches of a cell with a number in it."""
_MOST_NUMBERS = 24
"""With more heads, or layers, cells are too small for numbers."""
_ROW = 0.235
"""Inches of a word's row."""
_LEAST_ROWS = 6
"""Rows there is room for, so that few words stand together at the top."""
_NARROWEST = 2.6
_EDGES = (1.3, 1.7)
"""Inches around the cells, for labels and the scale."""

Page = Figure | SubFigure


def matrix_figure(result: xr.Dataset) -> Figure:
    """How far each head, or layer, lies from what it was."""
    width, height = _matrix_extent(result)
    figure = new_page(max(width, 6.0), height + 0.9)
    headline(figure, "What changed", _subtitle(result))
    draw_matrix(figure, result)
    return figure


def word_figure(result: xr.Dataset, places: Sequence[int]) -> Figure:
    """Words that gained and lost, given by their places in the result."""
    figure = new_page(6.6, _words_height(len(places)) + 0.9)
    headline(figure, "Words that gained and lost", _subtitle(result))
    draw_words(figure, result, places)
    return figure


def category_figure(result: xr.Dataset) -> Figure:
    """The share of each kind of token by layer, before and after."""
    figure = new_page(2.7 * result.sizes["category"] + 0.6, 3.7)
    headline(figure, "Where the rows go", _subtitle(result))
    draw_categories(figure, result)
    return figure


def class_figure(classes: xr.Dataset, places: Sequence[int]) -> Figure:
    """Words that speak for the correct class, or against it, given by their places in the result."""
    figure = new_page(6.6, _words_height(len(places)) + 0.9)
    headline(figure, "Words for and against the correct class", f"{classes.attrs['sentences']} sentences")
    draw_class_words(figure, classes, places)
    return figure


def comparison_figure(
    result: xr.Dataset,
    places: Sequence[int],
    classes: xr.Dataset | None = None,
    class_places: Sequence[int] | None = None,
) -> Figure:
    """All of it on a page: the matrix and the words above, the kinds of tokens below, and classes where there are."""
    matrix = _matrix_extent(result)
    columns = [max(matrix[0], 5.2), 5.4, *([5.4] if class_places else [])]
    height = max(matrix[1], _words_height(max(len(places), len(class_places or ()))))
    figure = new_page(sum(columns), height + 3.3 + 0.8)
    headline(figure, "What changed, and for which words", _subtitle(result))
    halves = cast(Sequence[SubFigure], figure.subfigures(2, 1, height_ratios=(height, 3.3), hspace=0.04))
    top = cast(Sequence[SubFigure], halves[0].subfigures(1, len(columns), width_ratios=columns, wspace=0.03))
    draw_matrix(top[0], result)
    draw_words(top[1], result, places)
    if classes is not None and class_places:
        draw_class_words(top[2], classes, class_places)
    draw_categories(halves[1], result)
    return figure


def draw_matrix(page: Page, result: xr.Dataset) -> Axes:
    """Jensen–Shannon divergences: layers below each other, heads beside each other; bars for measures without heads."""
    values = result["jensen_shannon"]
    ax = page.subplots()
    if "head" in values.dims:
        _draw_cells(page, ax, result)
    else:
        _draw_bars(ax, result)
    noise = "noise_jensen_shannon" in result
    note = f"; noise {_number(float(result['noise_jensen_shannon'].mean()))} on average" if noise else ""
    _title(ax, "Where it changed", f"Jensen–Shannon divergence of the rows, in nats{note}")
    return ax


def _draw_cells(page: Page, ax: Axes, result: xr.Dataset) -> None:
    values = result["jensen_shannon"].transpose("layer", "head").to_numpy()
    most = float(np.nanmax(values)) or 1.0
    image = ax.imshow(values, cmap=palette.amounts(), vmin=0, vmax=most, aspect="auto", interpolation="nearest")
    layers, heads = values.shape
    ax.set_box_aspect(max(0.35, layers / heads))
    ax.set_anchor("NW")
    if max(layers, heads) <= _MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            colour = palette.PAPER if value > 0.5 * most else palette.INK
            ax.text(column, row, _cell(value, most), ha="center", va="center", **style(7.5, colour))
    for row, column in np.argwhere(_quiet(result)):
        ax.plot(
            column - 0.36, row - 0.34, marker="o", markersize=3.2, color=palette.PAPER, markeredgecolor=palette.OCHRE
        )
    _ticks(ax, "x", [str(head) for head in result["head"].to_numpy()])
    _ticks(ax, "y", _layers(result))
    ax.set_ylabel("layer", labelpad=6, **style(8.0, palette.MUTED))
    quiet = int(_quiet(result).sum())
    note = f"head      ○ not told from noise: {quiet}" if quiet else "head"
    ax.set_xlabel(note, labelpad=6, **style(8.0, palette.MUTED))
    bar = page.colorbar(image, ax=ax, location="right", shrink=0.6, aspect=14, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=palette.INK, labelfontfamily=lettering.BASE)
    bar.set_label("nats", **style(8.0, palette.MUTED))
    _clean(ax)


def _draw_bars(ax: Axes, result: xr.Dataset) -> None:
    values = result["jensen_shannon"].to_numpy()
    layers = np.arange(len(values))
    ax.barh(layers, values, height=0.62, color=palette.PURPLE)
    room = float(values.max()) or 1.0
    ends = values
    if "jensen_shannon_interval" in result:
        low, high = result["jensen_shannon_interval"].to_numpy()
        ends = high
        ax.hlines(layers, low, high, color=palette.INK, linewidth=1.2)
    if "noise_jensen_shannon" in result:
        noise = result["noise_jensen_shannon"].to_numpy()
        ax.plot(noise, layers, "o", markersize=5, color=palette.OCHRE, clip_on=False, label="noise")
        ax.legend(frameon=False, loc="upper right", prop={"family": lettering.BASE, "size": 8}, handletextpad=0)
    for place, value, end in zip(layers, values, ends, strict=True):
        ax.annotate(
            _number(float(value)), (float(end), place), (6, 0), textcoords="offset points", va="center",
            **style(8.0, palette.INK),
        )  # fmt: skip
    ax.invert_yaxis()
    ax.set_xlim(0, 1.2 * max(room, float(ends.max())))
    _ticks(ax, "y", _layers(result))
    ax.set_ylabel("layer", labelpad=6, **style(8.0, palette.MUTED))
    if "jensen_shannon_interval" in result:
        ax.set_xlabel("lines: 95 % intervals over texts", labelpad=6, **style(8.0, palette.MUTED))
    _number_axis(ax, "x")


def draw_words(page: Page, result: xr.Dataset, places: Sequence[int]) -> Axes:
    """How much more or less of the rows words get, with intervals over texts."""
    ax = page.subplots()
    errors = None
    if "word_q" in result:
        texts = result["word_texts"].to_numpy()[list(places)]
        errors = _reach(texts) * result["word_mean_error"].to_numpy()[list(places)]
    _draw_lollipops(ax, _names(result, places), result["word_mean_change"].to_numpy()[list(places)], errors)
    texts = "" if errors is None else "; lines: 95 % intervals over texts"
    note = f"what it gets, after less before, in even shares{texts}"
    _title(ax, "Words that gained and lost", note if places else _none(result))
    return ax


def _none(result: xr.Dataset) -> str:
    """What no word passed."""
    tested = {"chance": "word_q", "noise": "noise_word_mean_change"}
    beyond = " and ".join(name for name, variable in tested.items() if variable in result)
    return f"none beyond {beyond}" if beyond else "none"


def draw_class_words(page: Page, classes: xr.Dataset, places: Sequence[int]) -> Axes:
    """What words came to add to the correct class; of one model alone, what they add."""
    ax = page.subplots()
    both = "toward_correct_change" in classes
    values = classes["toward_correct_change"] if both else classes["toward_correct"].sel(model="tuned")
    chosen = list(places)
    errors = _reach(classes["word_texts"].to_numpy()[chosen]) * classes["toward_correct_error"].to_numpy()[chosen]
    _draw_lollipops(ax, _names(classes, places), values.to_numpy()[chosen], errors)
    what = "adds to the correct class, after less before" if both else "adds to the correct class"
    title = "Words that came to speak for it" if both else "Words that speak for the correct class"
    _title(ax, title, f"logits a word {what}; lines: 95 % intervals" if places else "none beyond chance")
    return ax


def _draw_lollipops(
    ax: Axes, names: Sequence[str], values: NDArray[np.floating[Any]], errors: NDArray[np.floating[Any]] | None
) -> None:
    """One row a word: a dot at its value, gains in the second model's colour, losses in the first's."""
    if not names:  # an empty scale would look like values that are missing
        ax.set_axis_off()
        return
    rows = np.arange(len(names))
    ax.axvline(0, color=palette.MUTED, linewidth=0.9, zorder=1)
    for gained, colour in ((True, palette.TEAL), (False, palette.PURPLE)):
        chosen = (values > 0) == gained
        ax.hlines(rows[chosen], 0, values[chosen], color=colour, linewidth=1.6, alpha=0.45, zorder=2)
        if errors is not None:
            low, high = values[chosen] - errors[chosen], values[chosen] + errors[chosen]
            ax.hlines(rows[chosen], low, high, color=palette.INK, linewidth=1.0, zorder=3)
        ax.plot(values[chosen], rows[chosen], "o", color=colour, markersize=6, zorder=4)
    ax.set_yticks(rows, names, **style(8.5, palette.INK))
    ax.set_ylim(max(len(names), _LEAST_ROWS) - 0.4, -0.6)
    _number_axis(ax, "x")


def draw_categories(page: Page, result: xr.Dataset) -> list[Axes]:
    """A panel for each kind of token: the share it gets, by layer, before and after."""
    masses = result["category_mass"]
    means = masses.mean("head") if "head" in masses.dims else masses
    names = [str(name) for name in means["category"].to_numpy()]
    axes: list[Axes] = list(page.subplots(1, len(names), squeeze=False, sharey=True)[0])
    layers = result["layer"].to_numpy()
    for ax, name in zip(axes, names, strict=True):
        lines = means.sel(category=name).transpose("model", "layer").to_numpy()
        ax.fill_between(layers, *lines, color=palette.RULE, alpha=0.55, linewidth=0)
        for line, colour, marker, label in zip(
            lines, (palette.PURPLE, palette.TEAL), ("o", "s"), ("before", "after"), strict=True
        ):
            ax.plot(layers, line, color=colour, marker=marker, markersize=4.5, linewidth=1.8, label=label)
        before, after = lines.mean(-1)
        _title(ax, lettering.drawable(name), f"{before:.1%} → {after:.1%} on average")
        step = max(1, len(layers) // 12)
        ax.set_xticks(layers[::step], [str(layer) for layer in layers[::step]], **style(8.0, palette.INK))
        ax.set_xlabel("layer", labelpad=4, **style(8.0, palette.MUTED))
        ax.yaxis.set_major_formatter(PercentFormatter(1, 0))
        _number_axis(ax, "y")
    axes[0].set_ylim(bottom=0)
    axes[0].set_ylabel("share of the rows", labelpad=6, **style(8.0, palette.MUTED))
    legend = axes[0].legend(frameon=False, loc="best", prop={"family": lettering.BASE, "size": 8})
    for text, colour in zip(legend.get_texts(), (palette.PURPLE, palette.TEAL), strict=True):
        text.set_color(colour)
    return axes


def _layers(result: xr.Dataset) -> list[str]:
    """The layers by number; where those of another depth stand for them, both: 2→5."""
    names = [str(layer) for layer in result["layer"].to_numpy()]
    if "tuned_layer" not in result.coords:
        return names
    return [f"{one}→{other}" for one, other in zip(names, result["tuned_layer"].to_numpy(), strict=True)]


def _quiet(result: xr.Dataset) -> NDArray[np.bool_]:
    """Which heads changed no more than the noise, or only by chance."""
    shape = result["jensen_shannon"].shape
    if "above_noise_q" not in result:
        return np.zeros(shape, dtype=np.bool_)
    return np.asarray((result["above_noise_q"] >= 1 - _LEVEL) | (result["above_noise"] <= 0))


def _reach(texts: NDArray[np.integer[Any]]) -> NDArray[np.floating[Any]]:
    """How many standard errors an interval reaches to each side (Student)."""
    return np.asarray(stdtrit(np.maximum(texts - 1, 1), (1 + _LEVEL) / 2))


def _names(result: xr.Dataset, places: Sequence[int]) -> list[str]:
    """Words as labels; marks in quotes, or they are not seen."""
    names = [lettering.tick_label(str(result["word"].to_numpy()[place])) for place in places]
    return [name if any(letter.isalnum() for letter in name) else f"“{name}”" for name in names]


def _cell(value: float, most: float) -> str:
    """A number in a cell: without the 0 in front, with as many digits as the largest needs."""
    if not np.isfinite(value):
        return ""
    digits = 2 if most >= 0.095 else 3
    shown = f"{value:.{digits}f}"
    if float(shown) == 0:
        return "0" if value == 0 else "<" + f"{10**-digits:.{digits}f}".lstrip("0") if most >= 10**-digits else "~0"
    return shown.lstrip("0") if shown.startswith("0") else shown


def _number(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.0e}"


def _matrix_extent(result: xr.Dataset) -> tuple[float, float]:
    layers, heads = result.sizes["layer"], result.sizes.get("head", 0)
    if not heads:
        return 4.6, 0.42 * layers + _EDGES[1]
    cell = _CELL if max(layers, heads) <= _MOST_NUMBERS else 0.26
    return max(_NARROWEST, cell * heads) + _EDGES[0], max(cell * layers, 0.35 * cell * heads) + _EDGES[1]


def _words_height(words: int) -> float:
    return max(2.6, _ROW * words + 1.3)


def _subtitle(result: xr.Dataset) -> str:
    attributes = result.attrs
    texts = f"{attributes['texts']} text{'s' if attributes['texts'] > 1 else ''}"
    names = [short_name(str(attributes[which])) for which in ("base", "tuned")]
    return f"{' → '.join(names)} · {attributes['measure']} · {texts}"


def new_page(width: float, height: float) -> Figure:
    """An empty figure in our style."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=palette.PAPER)
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.1)  # pyright: ignore[reportOptionalMemberAccess, reportCallIssue]
    return figure


def _title(ax: Axes, title: str, note: str) -> None:
    ax.set_title(title, loc="left", pad=20, **style(10.5, palette.INK, fontweight="bold"))
    ax.annotate(note, (0, 1), (0, 7), "axes fraction", "offset points", **style(8.0, palette.MUTED))


def _ticks(ax: Axes, axis: str, labels: Sequence[str]) -> None:
    step = max(1, len(labels) // 24)
    places, shown = range(0, len(labels), step), labels[::step]
    if axis == "x":
        ax.set_xticks(places, shown, **style(8.0, palette.INK))
    else:
        ax.set_yticks(places, shown, **style(8.0, palette.INK))
    ax.tick_params(length=0, pad=3)


def _number_axis(ax: Axes, axis: str) -> None:
    """An axis of numbers with fine lines, and no frame."""
    ax.grid(visible=True, axis="x" if axis == "x" else "y", color=palette.RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelsize=8, labelcolor=palette.INK, pad=4, labelfontfamily=list(lettering.families()))
    _clean(ax)


def _clean(ax: Axes) -> None:
    for side in ax.spines.values():
        side.set_visible(False)
