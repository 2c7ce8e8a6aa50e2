"""One page: maps of a sentence above the curves of many."""

from collections.abc import Sequence
from typing import cast

import xarray as xr
from matplotlib.figure import Figure, SubFigure

from attnscope.plot import palette
from attnscope.plot.curves import draw_curves
from attnscope.plot.maps import draw_maps, headline, maps_of


def _halves(figure: Figure, height: float) -> tuple[SubFigure, SubFigure]:
    halves = cast(Sequence[SubFigure], figure.subfigures(2, 1, height_ratios=(height + 2.0, 3.2), hspace=0.06))
    return halves[0], halves[1]


def overview_figure(result: xr.Dataset, shares: xr.Dataset, *, layer: int, texts: int) -> Figure:
    """Weight beside norm: for each pair of tokens of one text in one layer, and by layer over several texts."""
    maps = maps_of(result, ("weight", "attention_norm"), layer)
    width, height = maps.panel
    figure = Figure(figsize=(max(10.0, 2 * width + 2.4), height + 6.4), layout="constrained", facecolor=palette.PAPER)
    figure.get_layout_engine().set(h_pad=0.1, w_pad=0.15)  # pyright: ignore[reportOptionalMemberAccess, reportCallIssue]
    text = result.attrs.get("text", "")
    headline(
        figure,
        "Where attention looks, and what it takes",
        f"“{text}”\n{result.attrs['model']} · top: layer {layer}, mean over heads, each row adds up to 100% · "
        f"bottom: all layers, mean over {texts} other texts",
    )
    top, bottom = _halves(figure, height)
    draw_maps(top, maps)
    draw_curves(bottom, shares)
    return figure
