"""Traced graphs, and the words of a token layer by layer, as tables for a terminal."""

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from attnscope.cli.screen import printable
from attnscope.cli.tables import MOST_ROWS, bar, table, wrapped

if TYPE_CHECKING:
    import xarray as xr

    from attnscope.artifacts import Flow
    from attnscope.artifacts.flow import FlowNode

_MOST_TOKENS = 6
"""So many tokens of a level are named."""
_MOST_LAYERS = 8
"""So many layers stand side by side; of more, some are left out, never the last."""


def level_table(traced: "Flow") -> Table:
    """From the target down to the words: which tokens each layer draws on, the most influential first."""
    levels: dict[int, list[FlowNode]] = defaultdict(list)
    for node in traced.nodes:
        levels[node.layer].append(node)
    made = table(f"what {_target(traced)} draws on: share of the influence at each level", ["level", "tokens"])
    wrapped(made)
    for level in sorted(levels, reverse=True)[1:]:
        best = sorted(levels[level], key=lambda node: -node.share)
        said = [f"{_label(traced, node.token)} {node.share:.0%}" for node in best[:_MOST_TOKENS]]
        rest = len(best) - len(said)
        name = f"layer {level}" if level else "words"
        made.add_row(Text(name), Text("  ".join(said) + (f"  and {rest} more" if rest else "")))
    return made


def edge_table(traced: "Flow") -> Table:
    """The strongest edges of each layer between different tokens, from the top layer down."""
    layers = sorted({edge.layer for edge in traced.edges}, reverse=True)
    room = max(1, MOST_ROWS // max(1, len(layers)))
    title = "the strongest edges of each layer between different tokens (--json has all edges)"
    columns = ["layer", "token", "draws on", "through heads", traced.measure if traced.by == "value" else "share"]
    made = table(title, columns, left=4)
    for layer in layers:
        edges = [edge for edge in traced.edges if edge.layer == layer and edge.query != edge.key]
        for edge in sorted(edges, key=lambda edge: -edge.strength)[:room]:
            heads = ", ".join(map(str, edge.heads)) or "all"
            strength = f"{edge.strength:.3g}" if traced.by == "value" else f"{edge.strength:.0%}"
            query = _target(traced) if edge.query is None else _label(traced, edge.query)
            made.add_row(*map(Text, (str(layer), query, _label(traced, edge.key), heads, strength)))
    return made


def reached(traced: "Flow") -> str:
    """How much of the text the target draws on, in a sentence."""
    words = sum(node.layer == traced.layers[0] - 1 for node in traced.nodes)
    least = f"{traced.threshold:.0%} of a row" if traced.by == "share" else f"{traced.threshold:g}"
    return (
        f"{_target(traced)} draws on {words} of {len(traced.tokens)} {traced.unit}s, over {len(traced.edges)} edges of "
        f"at least {least} ({traced.measure}, read {traced.reading}); the parts of {traced.model} add up to "
        f"{traced.reconstruction_error:.0e}."
    )


def trail_table(found: "xr.Dataset") -> Table:
    """The share of a token that goes back to each word, behind each layer."""
    values = found["share"].to_numpy()
    numbers = found["layer"].to_numpy().tolist()
    shown = sorted({*np.linspace(0, len(numbers) - 1, min(_MOST_LAYERS, len(numbers))).round().astype(int).tolist()})
    by = "" if found.attrs["method"] == "decomposed" else f" of {found.attrs['measure']}"
    title = f"where {printable(str(found.attrs['target']))} comes from, by {found.attrs['method']}{by}"
    made = table(title, ["#", "token", *(f"layer {numbers[place]}" for place in shown), ""], left=2)
    made.columns[-1].justify = "left"
    rows = sorted(np.argsort(-values[-1], kind="stable")[:MOST_ROWS].tolist())
    most = float(values[-1].max()) or 1.0
    for row in rows:
        cells = [Text(f"{values[place, row]:.1%}") for place in shown]
        token = printable(str(found["source_token"].to_numpy()[row]))
        made.add_row(Text(f"{row + 1:>3}"), Text(token), *cells, Text(bar(float(values[-1, row]) / most).rstrip()))
    return made


def _target(traced: "Flow") -> str:
    return printable(traced.target.label)


def _label(traced: "Flow", token: int | None) -> str:
    return _target(traced) if token is None else printable(traced.tokens[token])
