"""Faithfulness: which method's order of the tokens the decision bears out, as intervals and curves."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from attnscope.plot import lettering, palette
from attnscope.plot.lettering import style
from attnscope.plot.maps import bold, headline

_ROW = 0.27
_COLOURS: Final = (palette.PURPLE, palette.TEAL, palette.OCHRE, "#3d6fb4", "#a8456b", "#5f7f2d")
_CONTROL = "random"


@dataclass(frozen=True)
class _Look:
    """How a method is drawn, in all panels."""

    colour: str
    marker: str
    line: str


def faithfulness_figure(result: xr.Dataset, *, title: str = "Which method the decision bears out") -> Figure:
    """A figure of AOPC with intervals, and of both curves, for each method; the best is on top."""
    names = [str(name) for name in result["method"].to_numpy()[np.argsort(-result["aopc"].to_numpy(), kind="stable")]]
    looks = _looks(names)
    height = max(3.2, _ROW * len(names) + 1.1)
    figure = Figure(figsize=(12.5, height + 1.1), layout="constrained", facecolor=palette.PAPER)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.06)  # pyright: ignore[reportOptionalMemberAccess, reportCallIssue]
    attributes = result.attrs
    texts = int(attributes["texts"])
    done = "masked" if attributes["how"] == "mask" else "left out"
    note = f"{attributes['model']} · {texts} text{'' if texts == 1 else 's'} · tokens are {done}"
    headline(figure, title, f"{note}\n{attributes['verdict']}")
    axes: list[Axes] = list(figure.subplots(1, 3, width_ratios=(1.25, 1, 1)))
    _draw_intervals(axes[0], result, names, looks)
    for ax, name, aim in zip(axes[1:], ("comprehensiveness", "sufficiency"), ("more", "less"), strict=True):
        _draw_curves(ax, result[name], names, looks)
        _heading(ax, name, f"fall of the probability; {aim} is better")
    return figure


def _looks(names: list[str]) -> dict[str, _Look]:
    others = [name for name in names if name != _CONTROL]
    looks = {_CONTROL: _Look(palette.MUTED, "x", "--")}
    for number, name in enumerate(others):
        turn = number // len(_COLOURS)
        looks[name] = _Look(_COLOURS[number % len(_COLOURS)], "os^D"[turn % 4], ("-", ":", "-.")[turn % 3])
    return looks


def _draw_intervals(ax: Axes, result: xr.Dataset, names: list[str], looks: dict[str, _Look]) -> None:
    for row, name in enumerate(names):
        one, look = result.sel({"method": name}), looks[name]
        low, high = float(one["aopc_low"]), float(one["aopc_high"])
        if np.isfinite(low):
            ax.plot([low, high], [row, row], color=look.colour, linewidth=2.2, alpha=0.45, solid_capstyle="butt")
        ax.plot(float(one["aopc"]), row, marker=look.marker, color=look.colour, markersize=6)
        ax.annotate(f"{float(one['aopc']):.3f}", (float(np.nanmax([high, float(one["aopc"])])), row), (6, 0),
                    textcoords="offset points", va="center_baseline", **style(8.0, palette.MUTED))  # fmt: skip
    ax.set_yticks(range(len(names)), names, **style(8.5, palette.INK))
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        label.set_color(looks[name].colour)
    ax.set_ylim(len(names) - 0.4, -0.6)
    left, right = ax.get_xlim()
    ax.set_xlim(min(0.0, left), right + 0.18 * (right - min(0.0, left)))
    _heading(ax, "AOPC", "mean comprehensiveness, with 95% intervals")
    _plain(ax, "x")


def _draw_curves(ax: Axes, values: xr.DataArray, names: list[str], looks: dict[str, _Look]) -> None:
    places = values["fraction"].to_numpy()
    for number, name in enumerate(names):
        look, curve = looks[name], values.sel({"method": name}).to_numpy()
        ax.plot(places, curve, color=look.colour, marker=look.marker, linestyle=look.line, markersize=4,
                linewidth=2.2 if number == 0 else 1.3, zorder=20 - number, clip_on=False)  # fmt: skip
    ax.axhline(0, color=palette.RULE, linewidth=0.8, zorder=0)
    done = "taken away" if values.name == "comprehensiveness" else "left"
    ax.set_xlabel(f"highest-ranked tokens {done}", labelpad=4, **style(8.0, palette.MUTED))
    ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
    _plain(ax, "y")


def _heading(ax: Axes, name: str, note: str) -> None:
    ax.set_title(name, loc="left", pad=20, **bold(10.5))
    ax.annotate(note, (0, 1), (0, 7), "axes fraction", "offset points", **style(8.0, palette.MUTED))


def _plain(ax: Axes, along: Literal["x", "y"]) -> None:
    ax.tick_params(length=0, pad=4)
    numbers: Literal["x", "both"] = "x" if along == "x" else "both"
    ax.tick_params(axis=numbers, labelsize=8, labelcolor=palette.INK, labelfontfamily=lettering.BASE)
    ax.grid(visible=True, axis=along, color=palette.RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    for name, side in ax.spines.items():
        side.set_visible(name == "bottom" and along == "y")
        side.set(color=palette.RULE, linewidth=0.8)
