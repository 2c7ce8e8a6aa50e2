"""Query × key maps side by side: who looks at whom, and who takes what from whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from attnscope.errors import InputError
from attnscope.plot import lettering, palette
from attnscope.plot.lettering import style
from attnscope.plot.shares import row_shares

_PANEL = 3.5
"""Width of a map in inches, until its cells would be smaller than `_CELL`."""
_CELL = 0.105
_LARGEST_PANEL = 9.0
_SURE = 10
"""Up to so many tokens, each cell says its number."""
_MANY = 24
"""With more tokens, shares are small: their square roots are shown, so that more than the largest can be seen."""


@dataclass(frozen=True)
class Map:
    """One map: shares of each row's total, with what to write over it."""

    values: NDArray[np.floating[Any]]
    title: str
    note: str


@dataclass(frozen=True)
class Maps:
    """Maps of the same tokens, on one scale."""

    maps: tuple[Map, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def panel(self) -> tuple[float, float]:
        """Width and height of one map in inches."""
        return _extent(len(self.keys)), _extent(len(self.queries))

    @property
    def most(self) -> float:
        return max((float(np.nanmax(one.values)) for one in self.maps if one.values.size), default=1.0) or 1.0


NOTES = {
    "weight": "where it looks: the weight",
    "head_norm": "what a head takes: the length of weight × vector",
    "attention_norm": "what it takes: the length of weight × vector",
    "residual_norm": "the same, with the token’s own residual",
    "block_norm": "the same, behind residual and normalisation",
}


def maps_of(result: xr.Dataset, measures: Sequence[str], layer: int | None = None, head: int | None = None) -> Maps:
    """The maps of some measures as shares of each row: of one layer and head, or the mean over those there are."""
    for name in measures:
        if name not in result or not {"query", "key"} <= set(result[name].dims):
            raise InputError(f"the result has no map called {name!r} (query × key); maps need reduce=None")
    if layer is not None and layer not in result["layer"].values:
        raise InputError(f"the result has no layer {layer}; it has {result['layer'].values.tolist()}")
    found = [Map(_shares(result[name], layer, head), name, NOTES.get(name, "")) for name in measures]
    return Maps(tuple(found), _labels(result, "query"), _labels(result, "key"))


def map_figure(
    result: xr.Dataset,
    measures: Sequence[str] = ("weight", "attention_norm"),
    *,
    layer: int | None = None,
    head: int | None = None,
    title: str = "Where attention looks, and what it takes",
) -> Figure:
    """A figure of one or several maps, with a title, what was analysed, and the scale."""
    maps = maps_of(result, measures, layer, head)
    width, height = maps.panel
    figure = Figure(figsize=(width * len(measures) + 2.2, height + 2.6), layout="constrained", facecolor=palette.PAPER)
    which = f"{_which(result, 'layer', layer)}, {_which(result, 'head', head)}".removesuffix(", ")
    lost = missing(result, "query", "key")
    headline(figure, title, f"{result.attrs.get('model', '')} · {which} · each row adds up to 100%{lost}")
    draw_maps(figure, maps)
    return figure


def headline(figure: Figure, title: str, subtitle: str) -> None:
    """Title and subtitle at the left, as lines of their own above everything else."""
    room = int(figure.get_figwidth() * 14)
    lines = [lettering.shortened(lettering.drawable(line), room) for line in subtitle.splitlines()]
    heading = figure.suptitle(
        "\n".join([lettering.drawable(title), *[""] * len(lines)]), x=0.02, ha="left", **bold(13.0)
    )
    if figure.get_layout_engine() is None:
        heading.set_y(1 - 0.09 / figure.get_figheight())
    top = 1 - 0.38 / figure.get_figheight()
    step = 0.19 / figure.get_figheight()
    for number, line in enumerate(lines):
        text = figure.text(0.02, top - number * step, line, va="top", ha="left", **style(8.5, palette.MUTED))
        text.set_in_layout(False)


def draw_maps(figure: Figure | SubFigure, maps: Maps) -> list[Axes]:
    """Draw maps beside each other: queries named once, keys under each, one scale with numbers at the right."""
    axes: list[Axes] = list(figure.subplots(1, len(maps.maps), squeeze=False)[0])
    many = max(len(maps.keys), len(maps.queries)) > _MANY
    scale = PowerNorm(0.5, 0, maps.most) if many else Normalize(0, maps.most)
    image: AxesImage | None = None
    for number, (ax, one) in enumerate(zip(axes, maps.maps, strict=True)):
        image = ax.imshow(one.values, cmap=palette.amounts(), norm=scale, aspect="auto", interpolation="nearest")
        ax.set_box_aspect(maps.panel[1] / maps.panel[0])
        ax.set_title(one.title, loc="left", pad=20, **bold(10.5))
        ax.annotate(one.note, (0, 1), (0, 7), "axes fraction", "offset points", **style(8.0, palette.MUTED))
        _label_axes(ax, maps, first=number == 0)
        if max(len(maps.keys), len(maps.queries)) <= _SURE:
            write_numbers(ax, one.values, maps.most)
    if image is not None:
        draw_scale(figure, image, axes, "share\nof row,\nroot scale" if many else "share\nof row")
    return axes


def _label_axes(ax: Axes, maps: Maps, *, first: bool) -> None:
    width, height = maps.panel
    ticks(ax, "x", maps.keys, width)
    ticks(ax, "y", maps.queries if first else ("",) * len(maps.queries), height)
    ax.set_xlabel("key: who is looked at", labelpad=6, **style(8.0, palette.MUTED))
    if first:
        ax.set_ylabel("query: who looks", labelpad=6, **style(8.0, palette.MUTED))
    frame(ax)


def frame(ax: Axes) -> None:
    """A hairline around a map, and no tick marks."""
    ax.tick_params(length=0, pad=3)
    for side in ax.spines.values():
        side.set(color=palette.RULE, linewidth=0.8)


def ticks(ax: Axes, axis: str, labels: Sequence[str], inches: float) -> None:
    """Labels along an axis of so many inches: as many of them as have room, upright under it."""
    spacing = 72 * inches / max(1, len(labels))
    size = min(9.0, max(5.0, spacing * 0.78))
    step = lettering.every(len(labels), spacing, size)
    places, shown = range(0, len(labels), step), labels[::step]
    if axis == "x":
        ax.set_xticks(places, shown, rotation=90, **style(size, palette.INK))
    else:
        ax.set_yticks(places, shown, **style(size, palette.INK))


def write_numbers(ax: Axes, values: NDArray[np.floating[Any]], most: float) -> None:
    """Each cell's per cent, in a colour that can be read on the cell's."""
    for (row, column), value in np.ndenumerate(values):
        colour = palette.PAPER if value > 0.5 * most else palette.INK
        ax.text(column, row, f"{100 * value:.0f}", ha="center", va="center", **style(7.5, colour))


def draw_scale(figure: Figure | SubFigure, image: AxesImage, axes: Sequence[Axes], title: str) -> None:
    """The scale of the colours, with numbers in per cent, at the right."""
    bar = figure.colorbar(
        image, ax=axes, location="right", shrink=0.55, aspect=16, pad=0.02, format=PercentFormatter(1, 0)
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=palette.INK, labelfontfamily=lettering.BASE)
    bar.ax.set_title(title, loc="left", pad=8, **style(8.0, palette.MUTED))


def _which(result: xr.Dataset, axis: str, number: int | None) -> str:
    """What is shown of an axis, if there is one."""
    there: list[int] = result[axis].to_numpy().tolist() if axis in result.dims else []
    if number is None and len(there) > 1:
        return f"mean over {len(there)} {axis}s"
    return f"{axis} {there[0] if number is None else number}" if there else ""


def _shares(amounts: xr.DataArray, layer: int | None, head: int | None) -> NDArray[np.floating[Any]]:
    chosen = amounts if layer is None else amounts.sel(layer=layer)
    if "head" in chosen.dims:
        chosen = chosen.mean("head") if head is None else chosen.sel(head=head)
    shares = row_shares(chosen)  # before the mean over layers, whose vectors differ in length
    return (shares.mean("layer") if layer is None else shares).transpose("query", "key").to_numpy()


def _labels(result: xr.Dataset, side: str) -> tuple[str, ...]:
    return tuple(lettering.numbered([lettering.tick_label(token) for token in tokens_of(result, side)]))


def tokens_of(result: xr.Dataset, side: str) -> list[str]:
    """The tokens along an axis."""
    return [str(token) for token in result[f"{side}_token"].to_numpy().tolist()]


def missing(result: xr.Dataset, *sides: str) -> str:
    """What to say where a label has a box in place of a letter."""
    tokens = {token for side in sides for token in tokens_of(result, side)}
    return f" · {lettering.UNKNOWN} a letter that no font here has" if lettering.lost(tokens) else ""


def _extent(tokens: int) -> float:
    return min(_LARGEST_PANEL, max(_PANEL, _CELL * tokens))


def bold(size: float) -> dict[str, Any]:
    """The keywords of a heading."""
    return style(size, palette.INK, fontweight="bold")
