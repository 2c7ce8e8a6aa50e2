"""Curves by layer: what share each category of tokens gets of the weights, beside its share of the norms."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from attnscope.plot import lettering, palette
from attnscope.plot.lettering import style
from attnscope.plot.maps import headline

_APART = 0.055
"""The least distance of two labels, as a share of the axis."""
TITLES = {
    "weight": "weight: where attention looks",
    "attention_norm": "attention_norm: what it takes",
}


def curve_figure(shares: xr.Dataset, *, title: str, subtitle: str = "") -> Figure:
    """A figure of category shares by layer, one panel a measure, all on one scale."""
    figure = Figure(figsize=(4.4 * len(shares.data_vars), 4.0), layout="constrained", facecolor=palette.PAPER)
    headline(figure, title, subtitle)
    draw_curves(figure, shares)
    return figure


def draw_curves(figure: Figure | SubFigure, shares: xr.Dataset) -> list[Axes]:
    """Draw each measure of `shares` (layer, category) in a panel; lines are named at their ends."""
    names = [str(name) for name in shares.data_vars]
    axes: list[Axes] = list(figure.subplots(1, len(names), squeeze=False, sharey=True)[0])
    for ax, name in zip(axes, names, strict=True):
        values = shares[name].transpose("category", "layer")
        _draw_panel(ax, values.to_numpy(), shares["layer"].to_numpy(), [str(c) for c in shares["category"].values])
        ax.set_title(TITLES.get(name, name), loc="left", pad=10, **style(10.5, palette.INK, fontweight="bold"))
    axes[0].set_ylabel("share of all", labelpad=6, **style(8.0, palette.MUTED))
    return axes


def _draw_panel(
    ax: Axes, values: NDArray[np.floating[Any]], layers: NDArray[np.integer[Any]], categories: Sequence[str]
) -> None:
    for number, (line, category) in enumerate(zip(values, categories, strict=True)):
        look = number % len(palette.SERIES)
        ax.plot(
            layers,
            line,
            color=palette.SERIES[look],
            marker=palette.MARKERS[look],
            markersize=4.5,
            linewidth=2.2 if number == 0 else 1.4,
            label=category,
            clip_on=False,
            zorder=3 + len(categories) - number,
        )
    _name_ends(ax, values[:, -1], float(layers[-1]), categories)
    _frame(ax, layers)


def _name_ends(ax: Axes, ends: NDArray[np.floating[Any]], last: float, categories: Sequence[str]) -> None:
    for number, (place, category) in enumerate(zip(spread(ends, _APART), categories, strict=True)):
        ax.annotate(
            f"{lettering.drawable(category)}  {_percent(float(ends[number]))}",
            (last, float(place)),
            (9, 0),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
            **style(8.0, palette.SERIES[number % len(palette.SERIES)], fontweight="bold" if number == 0 else "normal"),
        )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.095 else f"{share:.1%}"


def _frame(ax: Axes, layers: NDArray[np.integer[Any]]) -> None:
    ax.set_ylim(0, 1)
    ax.set_xlim(float(layers[0]) - 0.25, float(layers[-1]) + 0.25)
    step = max(1, len(layers) // 12)
    ax.set_xticks(layers[::step], [str(layer) for layer in layers[::step]], **style(8.0, palette.INK))
    ax.yaxis.set_major_formatter(PercentFormatter(1, 0))
    ax.tick_params(length=0, labelsize=8, labelcolor=palette.INK, pad=5, labelfontfamily=lettering.BASE)
    ax.set_xlabel("layer", labelpad=4, **style(8.0, palette.MUTED))
    ax.grid(visible=True, axis="y", color=palette.RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    for name, side in ax.spines.items():
        side.set_visible(name == "bottom")
        side.set(color=palette.RULE, linewidth=0.8)


def spread(places: NDArray[np.floating[Any]], apart: float) -> NDArray[np.float64]:
    """Places moved as little as need be so that neighbours are `apart`, in the same order, and none below 0."""
    order = np.argsort(places, kind="stable")
    moved = np.maximum(places[order].astype(np.float64), 0)
    blocks: list[list[float]] = []
    for place in moved:
        blocks.append([float(place)])
        while len(blocks) > 1 and _top(blocks[-2], apart) > _bottom(blocks[-1], apart) - apart:
            last = blocks.pop()
            blocks[-1] += last
    found = np.array([_bottom(block, apart) + apart * i for block in blocks for i in range(len(block))])
    result = np.empty_like(moved)
    result[order] = found
    return result


def _bottom(block: Sequence[float], apart: float) -> float:
    return max(0.0, sum(block) / len(block) - apart * (len(block) - 1) / 2)


def _top(block: Sequence[float], apart: float) -> float:
    return _bottom(block, apart) + apart * (len(block) - 1)
