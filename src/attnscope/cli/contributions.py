"""What tokens add to decisions, as tables for a terminal."""

from typing import Any

import numpy as np
import xarray as xr
from rich.table import Table
from rich.text import Text

from attnscope.cli.screen import printable
from attnscope.cli.tables import bar, table

_MOST_WORDS = 5
"""So many words of a step are named."""


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
        f"this adds up to {attributes['completeness_error']:.0e}."
    )


def step_table(found: xr.Dataset) -> Table:
    """One row for each token that was explained, with what mattered most for it."""
    made = table(f"what each {found.attrs['unit']} adds to each output", ["#", "behind", "output", "most"], left=4)
    made.columns[3].no_wrap = False
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
    return f"With what biases add, every output adds up to {found.attrs['completeness_error']:.0e}."


def class_table(found: xr.Dataset) -> Table:
    """One row a word: the deepest layer's attention to it, and for each class what it stands for there and adds."""
    classes = _shown(found["class"])
    columns = [f"{name}\n{part}" for name in classes for part in ("deepest", "words", "share")]
    heading = ["\n#", f"\n{found.attrs['unit']}", f"layer {found.attrs['deepest_layer']}\n{found.attrs['measure']}"]
    made = table("the deepest layer, and the words that decide", [*heading, *columns], left=2)
    attention = found["attention"].to_numpy()
    parts = [found[name].to_numpy() for name in ("deepest", "contribution", "share")]
    for row, token in enumerate(_tokens(found)):
        cells = [cell for number in range(len(classes)) for cell in _cells(*(part[number, row] for part in parts))]
        made.add_row(Text(f"{row + 1:>3}"), Text(token), Text(f"{attention[row]:.1%}"), *map(Text, cells))
    made.add_section()
    biases = [found[name].to_numpy() for name in ("deepest_bias", "bias", "bias_share")]
    cells = [cell for number in range(len(classes)) for cell in _cells(*(bias[number] for bias in biases))]
    made.add_row(Text(""), Text("biases"), Text(""), *map(Text, cells))
    logits = found["logit"].to_numpy()
    totals = [cell for value in logits for cell in (f"{value:+.3f}", f"{value:+.3f}", "")]
    made.add_row(Text(""), Text("logit"), Text(""), *map(Text, totals))
    return made


def class_sentence(found: xr.Dataset) -> str:
    """Which class it is, and how it was read."""
    attributes = found.attrs
    sure = ""
    if "probability" in found:
        sure = f" ({float(found['probability'].max()):.0%})"
    return (
        f"{printable(str(attributes['predicted']))}{sure}, read from {attributes['read_from']}; each column adds up to "
        f"{attributes['completeness_error']:.0e}."
    )


def _cells(deepest: float, words: float, share: float) -> tuple[str, str, str]:
    return f"{deepest:+.3f}", f"{words:+.3f}", f"{share:.1%}"


def _tokens(found: xr.Dataset) -> list[str]:
    return _shown(found["source_token"])


def _shown(labels: Any) -> list[str]:
    return [printable(str(label)) for label in labels.to_numpy()]
