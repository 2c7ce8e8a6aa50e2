"""The words of one token, layer by layer: a map of layer × source."""

import xarray as xr
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from attnscope.plot import lettering, palette
from attnscope.plot.lettering import style
from attnscope.plot.maps import draw_scale, frame, headline, missing, ticks, tokens_of, write_numbers

_COLUMN, _ROW = 0.17, 0.26
"""The least width of a column and height of a row, in inches."""
_WIDEST = 16.0
_SURE = 12
"""Up to so many words, each cell says its number."""


def layer_figure(result: xr.Dataset, *, title: str = "") -> Figure:
    """A figure of `share` (layer, source), the deepest layer on top: how much of a token each word makes up there."""
    labels = tuple(lettering.numbered([lettering.tick_label(token) for token in tokens_of(result, "source")]))
    values = result["share"].transpose("layer", "source").to_numpy()
    wide = max(3.5, 0.55 * len(labels)) if len(labels) <= _SURE else min(_WIDEST, max(6.6, _COLUMN * len(labels)))
    high = max(1.2, _ROW * len(values))
    figure = Figure(figsize=(max(6.4, wide + 2.0), high + 2.4), layout="constrained", facecolor=palette.PAPER)
    attributes = result.attrs
    target = lettering.visible(str(attributes.get("target", "")))
    by = "" if attributes["method"] == "decomposed" else f" of {attributes['measure']}"
    note = f"{attributes['model']} · {attributes['method']}{by} · each row adds up to 100%{missing(result, 'source')}"
    headline(figure, title or f"Where {target} comes from, layer by layer", note)
    ax = figure.subplots()
    image = ax.imshow(
        values[::-1],
        cmap=palette.amounts(),
        norm=Normalize(0, float(values.max()) or 1.0),
        aspect="auto",
        interpolation="nearest",
    )
    ticks(ax, "x", labels, wide)
    ticks(ax, "y", [str(number) for number in reversed(result["layer"].to_numpy().tolist())], high)
    ax.set_xlabel("word before layer 1", labelpad=6, **style(8.0, palette.MUTED))
    ax.set_ylabel("layer", labelpad=6, **style(8.0, palette.MUTED))
    frame(ax)
    if len(labels) <= _SURE:
        write_numbers(ax, values[::-1], float(values.max()))
    draw_scale(figure, image, [ax], "share\nof row")
    return figure
