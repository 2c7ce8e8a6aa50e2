"""What each token adds to a decision: the text itself, shaded, and the same as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from numpy.typing import NDArray

from attnscope.errors import InputError
from attnscope.plot import lettering, palette
from attnscope.plot.lettering import style
from attnscope.plot.maps import headline, missing, tokens_of

MOST_BARS = 40
"""Of more tokens, those that add most have bars; shaded are all."""
_WIDTH = 8.4
_MARGIN = 0.25
_SIZE = 11.0
_LINE = 0.34
"""Inches from line to line."""
_PAD, _GAP = 0.05, 0.05
_BAR = 0.21
_LONGEST: Final = 40
RGBA = tuple[float, float, float, float]
_DARK = 0.45
"""Shades of less brightness have white letters on them."""


@dataclass(frozen=True)
class Contributions:
    """What tokens add, and how to speak of it."""

    tokens: tuple[str, ...]
    values: NDArray[np.float64]
    signed: bool
    """Whether a number speaks for or against; else they only rank."""

    @property
    def most(self) -> float:
        return float(np.abs(self.values).max(initial=0)) or 1.0

    def depths(self) -> list[float]:
        """From −1 to 1, the largest at the end of its arm."""
        return (self.values / self.most).tolist()

    def shade(self, depth: float) -> RGBA:
        """The colour of a depth."""
        return palette.signed()((depth + 1) / 2) if self.signed else palette.amounts()(depth)


@dataclass(frozen=True)
class _Box:
    """Where a token stands, in inches from the left and in lines from the top."""

    label: str
    left: float
    width: float
    line: int


def contributions_of(result: xr.Dataset) -> Contributions:
    """The contributions of a result of `attribute` with one target."""
    if "contribution" not in result or result["contribution"].dims != ("source",):
        raise InputError("the figure is of one target's contributions to a text; the result has none, or several")
    values = result["contribution"].to_numpy().astype(np.float64)
    return Contributions(tuple(tokens_of(result, "source")), values, result.attrs.get("signed", "yes") == "yes")


def attribution_figure(result: xr.Dataset, *, title: str = "") -> Figure:
    """A figure of what each token adds to a target: the text shaded above, bars below."""
    found = contributions_of(result)
    boxes = _laid_out(found.tokens)
    lines = boxes[-1].line + 1 if boxes else 1
    rows = min(len(found.tokens), MOST_BARS)
    heights = (0.2 + _LINE * lines, 0.55 + _BAR * rows)
    head = 0.95
    figure = Figure(figsize=(_WIDTH, head + sum(heights)), facecolor=palette.PAPER)
    attributes = result.attrs
    target = lettering.visible(str(attributes["target"]))
    note = f"{attributes['model']} · {attributes['method']}{missing(result, 'source')}"
    headline(figure, title or f"What each {attributes['unit']} adds to {target}", f"{note}\n{_sum(result)}")
    total = figure.get_figheight()
    _draw_text(figure, boxes, found, (heights[1] / total, heights[0] / total))
    _draw_bars(figure, found, heights[1], total)
    return figure


def _sum(result: xr.Dataset) -> str:
    attributes = result.attrs
    if "bias" not in attributes:
        return "larger numbers rank higher; they are no amounts"
    total, value = float(result["contribution"].sum()), float(attributes["target_value"])
    parts = f"{total:.3f} from the {attributes['unit']}s {float(attributes['bias']):+.3f} from biases"
    return f"{value:.3f} = {parts}".replace("-", "−")


def _laid_out(tokens: Sequence[str]) -> list[_Box]:
    """The tokens in lines, as wide as their letters are."""
    canvas = FigureCanvasAgg(Figure(figsize=(1, 1), dpi=100))
    text = canvas.figure.text(0, 0, "", **style(_SIZE, palette.INK))
    room = _WIDTH - 2 * _MARGIN
    boxes: list[_Box] = []
    left, line = 0.0, 0
    for token in tokens:
        label = lettering.shortened(lettering.drawable(lettering.visible(token)), _LONGEST)
        text.set_text(label)
        width = text.get_window_extent(canvas.get_renderer()).width / 100 + 2 * _PAD
        if left and left + width > room:
            left, line = 0.0, line + 1
        boxes.append(_Box(label, left, width, line))
        left += width + _GAP
    return boxes


def _draw_text(figure: Figure, boxes: Sequence[_Box], found: Contributions, place: tuple[float, float]) -> None:
    """In a panel measured in inches, whose lines go down."""
    bottom, height = place
    ax = figure.add_axes((0, bottom, 1, height))
    ax.set_axis_off()
    ax.set_xlim(-_MARGIN, _WIDTH - _MARGIN)
    ax.set_ylim(height * figure.get_figheight() - 0.1, -0.1)
    for box, depth in zip(boxes, found.depths(), strict=True):
        top = box.line * _LINE
        shape = FancyBboxPatch(
            (box.left, top + 0.03),
            box.width,
            _LINE - 0.08,
            boxstyle="round,pad=0,rounding_size=0.04",
            facecolor=found.shade(depth),
            edgecolor=palette.RULE,
            linewidth=0.5,
        )
        ax.add_patch(shape)
        colour = palette.PAPER if _brightness(found.shade(depth)) < _DARK else palette.INK
        middle = box.left + box.width / 2
        ax.text(middle, top + _LINE / 2, box.label, ha="center", va="center_baseline", **style(_SIZE, colour))


def _brightness(colour: RGBA) -> float:
    red, green, blue, _ = colour
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _draw_bars(figure: Figure, found: Contributions, height: float, total: float) -> None:
    order: list[int] = sorted(np.argsort(-np.abs(found.values), kind="stable")[:MOST_BARS].tolist())
    left, bottom, top = 1.75 / _WIDTH, 0.5 / total, (height - 0.05) / total
    ax = figure.add_axes((left, bottom, 1 - left - 0.9 / _WIDTH, top - bottom))
    depths = found.depths()
    for row, place in enumerate(order):
        value = float(found.values[place])
        ax.barh(row, value, height=0.72, color=found.shade(-0.75 if value < 0 else 0.75), linewidth=0)
        side = -1 if value < 0 else 1
        shown = (f"{value:+.2f}" if found.signed else f"{value:.3g}").replace("-", "−")
        ax.annotate(shown, (value, row), (4 * side, 0), textcoords="offset points", va="center_baseline",
                    ha="left" if side > 0 else "right", **style(7.5, palette.MUTED))  # fmt: skip
    labels = lettering.numbered([lettering.tick_label(found.tokens[place]) for place in order])
    ax.set_yticks(range(len(order)), labels, **style(8.5, palette.INK))
    ax.set_ylim(len(order) - 0.4, -0.6)
    low, high = min(0.0, *depths), max(0.0, *depths)
    room = 0.14 * (high - low or 1.0)
    ax.set_xlim((low - (room if low < 0 else 0)) * found.most, (high + room) * found.most)
    left_out = len(found.tokens) - len(order)
    said = "against  ←  in the logit's units  →  for" if found.signed else "score"
    rest = f"   (the {len(order)} largest of {len(found.tokens)})" if left_out else ""
    ax.set_xlabel(said + rest, labelpad=5, **style(8.0, palette.MUTED))
    _plain_axes(ax)


def _plain_axes(ax: Axes) -> None:
    ax.axvline(0, color=palette.MUTED, linewidth=0.8)
    ax.tick_params(length=0, pad=4)
    ax.tick_params(axis="x", labelsize=8, labelcolor=palette.MUTED, labelfontfamily=lettering.BASE)
    for side in ax.spines.values():
        side.set_visible(False)
