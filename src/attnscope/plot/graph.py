"""The traced graph: tokens in rows, one for each level, and lines to what they draw on."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from attnscope.artifacts import Flow
from attnscope.plot import lettering, palette
from attnscope.plot.lettering import style
from attnscope.plot.maps import headline, ticks

_COLUMN, _WIDEST = 0.17, 16.0
_LEVEL, _HIGHEST = 0.5, 12.0
_LARGEST_NODE = 190.0
"""In points², of a token that has all of its level's influence."""


def graph_figure(traced: Flow, *, title: str = "") -> Figure:
    """A figure of the traced graph, the target on top and the words at the bottom.

    The area of a token is its share of its level's influence; a line is as dark as it is strong.
    """
    tokens = len(traced.tokens)
    wide = max(5.0, 0.6 * tokens) if tokens <= 12 else min(_WIDEST, max(7.0, _COLUMN * tokens))
    high = min(_HIGHEST, max(2.2, _LEVEL * (len(traced.layers) + 1)))
    figure = Figure(figsize=(wide + 1.2, high + 2.2), layout="constrained", facecolor=palette.PAPER)
    target = lettering.visible(traced.target.label)
    least = f"{traced.threshold:.0%} of a row" if traced.by == "share" else f"{traced.threshold:g}"
    lost = f" · {lettering.UNKNOWN} a letter that no font here has" if lettering.lost(traced.tokens) else ""
    note = f"{traced.model} · {traced.measure}, {traced.reading}, from {least} · {len(traced.edges)} edges{lost}"
    headline(figure, title or f"What {target} draws on", note)
    ax = figure.subplots()
    _draw_edges(ax, traced)
    _draw_nodes(ax, traced)
    labels = lettering.numbered([lettering.tick_label(token) for token in traced.tokens])
    ticks(ax, "x", labels, wide)
    levels = [traced.layers[0] - 1, *traced.layers]
    ax.set_yticks(levels, [f"layer {level}" if level else "words" for level in levels], **style(8.0, palette.INK))
    ax.set_xlim(-0.7, tokens - 0.3)
    ax.set_ylim(levels[0] - 0.4, levels[-1] + 0.5)
    ax.tick_params(length=0, pad=5)
    for side in ax.spines.values():
        side.set_visible(False)
    return figure


def _column(traced: Flow, token: int | None) -> float:
    """Where a token stands; a logit stands in the middle."""
    return (len(traced.tokens) - 1) / 2 if token is None else float(token)


def _draw_edges(ax: Axes, traced: Flow) -> None:
    edges = sorted(traced.edges, key=lambda edge: edge.strength)
    strengths = np.array([edge.strength for edge in edges])
    share = strengths / (strengths.max(initial=0) or 1.0)
    lines = [[(_column(traced, e.query), e.layer), (_column(traced, e.key), e.layer - 1)] for e in edges]
    colours = palette.amounts()(0.12 + 0.88 * share)
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=0.5 + 1.9 * share, zorder=1))


def _draw_nodes(ax: Axes, traced: Flow) -> None:
    places = [(_column(traced, node.token), node.layer) for node in traced.nodes]
    sizes = [9 + _LARGEST_NODE * node.share for node in traced.nodes]
    sizes[-1] = 70.0  # the target, which has no influence to measure
    columns, levels = zip(*places, strict=True)
    colours = [palette.PURPLE] * (len(places) - 1) + [palette.OCHRE]
    ax.scatter(columns, levels, s=sizes, c=colours, edgecolors=palette.PAPER, linewidths=0.8, zorder=2)
    label = lettering.tick_label(traced.target.label)
    ax.annotate(label, places[-1], (0, 8), textcoords="offset points", ha="center", **style(9.0, palette.INK))
