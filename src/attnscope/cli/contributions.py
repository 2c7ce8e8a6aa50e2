"""What tokens add to decisions, as tables for a terminal."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import xarray as xr
from rich.table import Table
from rich.text import Text

from attnscope.cli.screen import printable
from attnscope.cli.tables import bar, table, wrapped

_MOST_WORDS = 5
"""So many words of a step are named."""
_MOST_CLASSES = 5
"""So many classes stand side by side."""


def token_table(found: xr.Dataset) -> Table:
    """One row a token, with a bar to the left or the right."""
    values = found["contribution"].to_numpy()
    most = float(abs(values).max()) or 1.0
    attributes = found.attrs
    signed = attributes["signed"] == "yes"
    by = "" if attributes["method"] == "decomposed" else f", by {attributes['method']}"
    title = f"what each {attributes['unit']} {'adds to' if signed else 'matters for'} {attributes['target']}{by}"
    made = table(printable(title), ["#", attributes["unit"], *(["against", "for"] if signed else ["score"])], left=2)
    made.columns[2].justify = "right" if signed else "left"
    made.columns[-1].justify = "left"
    for number, (token, value) in enumerate(zip(_tokens(found), values, strict=True), 1):
        drawn = bar(abs(float(value)) / most).strip()
        if signed:
            cells = [f"{drawn} {value:+.3f}", ""] if value < 0 else ["", f"{value:+.3f} {drawn}"]
        else:
            cells = [f"{value:.4f} {drawn}"]
        made.add_row(Text(f"{number:>3}"), Text(token), *map(Text, cells))
    return made


def sum_of(found: xr.Dataset) -> str:
    """What the numbers are, and that they add up."""
    attributes = found.attrs
    target, value = printable(str(attributes["target"])), attributes["target_value"]
    if "bias" not in attributes:
        return f"{target}: {value:.3f}. The numbers of {attributes['method']} rank tokens; they are no parts of it."
    total = float(found["contribution"].sum())
    return (
        f"{target}: {value:.3f} = {total:.3f} from the {attributes['unit']}s {attributes['bias']:+.3f} from biases; "
        f"{_left_over(found)}."
    )


def step_table(found: xr.Dataset) -> Table:
    """One row for each token that was explained, with what mattered most for it."""
    made = table(f"what each {found.attrs['unit']} adds to each output", ["#", "behind", "output", "most"], left=3)
    wrapped(made)
    tokens = _tokens(found)
    shape = "{} {:+.2f}" if found.attrs["signed"] == "yes" else "{} {:.3f}"
    rows = zip(_shown(found["step_token"]), _shown(found["target"]), found["contribution"].to_numpy(), strict=True)
    for number, (behind, output, values) in enumerate(rows, 1):
        best: list[int] = np.argsort(-np.abs(values), kind="stable")[:_MOST_WORDS].tolist()
        said = "  ".join(shape.format(tokens[place], values[place]) for place in best)
        made.add_row(Text(f"{number:>3}"), Text(behind), Text(output), Text(said))
    return made


def completeness(found: xr.Dataset) -> str:
    """That every row adds up, if it does so at all."""
    if "completeness_error" not in found.attrs:
        return f"The numbers of {found.attrs['method']} rank tokens; they are no parts of the outputs."
    return f"For every output, tokens and biases are added up; {_left_over(found)}."


def _left_over(found: xr.Dataset) -> str:
    return f"what is left over is {found.attrs['completeness_error']:.0e} of it"


def class_tables(found: xr.Dataset) -> list[Table]:
    """Two tables of one row a word: the words that decide, and what the deepest layer attends to."""
    logits = found["logit"].to_numpy()
    chosen: list[int] = sorted(np.argsort(-logits, kind="stable")[:_MOST_CLASSES].tolist())
    rest = f" (the {len(chosen)} highest of {len(logits)} classes)" if len(chosen) < len(logits) else ""
    best = int(logits.argmax())
    unit, layer = found.attrs["unit"], found.attrs["deepest_layer"]
    shares = [f"{share:.1%}" for share in (*found["share"].to_numpy()[best], float(found["bias_share"][best]))]
    attention = [f"{share:.1%}" for share in found["attention"].to_numpy()]
    name = _shown(found["class"])[best]
    decide = f"what each {unit} adds to a class{rest}"
    deepest = f"what each {unit}'s state before layer {layer}, the deepest, adds to a class"
    measure = found.attrs["measure"]
    return [
        _class_table(found, decide, chosen, ("contribution", "bias"), (f"share of {name}", shares)),
        _class_table(found, deepest, chosen, ("deepest", "deepest_bias"), (f"{measure} there", attention)),
    ]


def _class_table(
    found: xr.Dataset, title: str, chosen: Sequence[int], names: tuple[str, str], last: tuple[str, Sequence[str]]
) -> Table:
    """Contributions and biases by class, and one more column."""
    heading, more = last
    columns = ["#", found.attrs["unit"], *(_shown(found["class"])[number] for number in chosen), heading]
    made = table(title, columns, left=2)
    values, biases = (found[name].to_numpy() for name in names)
    tokens = _tokens(found)
    rows = [(f"{number:>3}", token, values[:, number - 1]) for number, token in enumerate(tokens, 1)]
    rows += [("", "biases", biases), ("", "logit", found["logit"].to_numpy())]
    for (number, label, amounts), cell in zip_longest(rows, more, fillvalue=""):
        shown = [Text(f"{amounts[place]:+.3f}") for place in chosen]
        made.add_row(Text(number), Text(label), *shown, Text(cell), end_section=number == f"{len(tokens):>3}")
    return made


def class_sentence(found: xr.Dataset) -> str:
    """Which class it is, and how it was read."""
    attributes = found.attrs
    sure = ""
    if "probability" in found:
        sure = f" ({float(found['probability'].max()):.0%})"
    return (
        f"{printable(str(attributes['predicted']))}{sure}, read from {attributes['read_from']}; each column adds up, "
        f"{_left_over(found)}."
    )


def _tokens(found: xr.Dataset) -> list[str]:
    return _shown(found["source_token"])


def _shown(labels: Any) -> list[str]:
    return [printable(str(label)) for label in labels.to_numpy()]
