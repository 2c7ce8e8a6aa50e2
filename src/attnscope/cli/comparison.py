"""A comparison of two models as tables for a terminal, and as a figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from attnscope.analyses.classes import words_that_moved as class_words
from attnscope.analyses.findings import SURE, above_noise, nats, word_noise, words_that_moved
from attnscope.cli.screen import printable
from attnscope.cli.tables import table
from attnscope.text.labels import short_name
from attnscope.text.roles import MIXED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEADS = 10
_WORDS = 10
_DRAWN = 12
_NAMES = {
    "jensen_shannon": "Jensen–Shannon",
    "total_variation": "moved",
    "cosine": "cosine",
    "spearman": "Spearman",
    "kernel_alignment": "alignment",
}


def report(result: xr.Dataset) -> list[RenderableType]:
    """Everything that is said of a comparison."""
    attributes = result.attrs
    texts = f"{attributes['texts']} text{'s' if attributes['texts'] > 1 else ''}"
    heading = f"{short_name(attributes['base'])} → {short_name(attributes['tuned'])}: {attributes['measure']}, {texts}"
    parts: list[RenderableType] = [Text(heading, style="bold"), ""]
    parts += [Text(f"• {sentence}") for sentence in str(attributes["summary"]).splitlines()]
    parts += ["", _layer_table(result)]
    if "head" in result["jensen_shannon"].dims:
        parts.append(_head_table(result))
    parts.append(_category_table(result))
    words = _word_table(result)
    parts += [words] if words.row_count else []
    return [*parts, *(Text(line) for line in _notes(result))]


def _layer_table(result: xr.Dataset) -> Table:
    """Every layer: how far the maps lie apart, mean over heads."""
    has_noise = "noise_jensen_shannon" in result
    matched = "tuned_layer" in result.coords
    found = table(
        "by layer: how far the two lie apart" + (", mean over heads" if "head" in result.dims else ""),
        [
            "layer",
            *(["tuned layer"] if matched else []),
            *_NAMES.values(),
            *(["noise", "× noise"] if has_noise else []),
        ],
        left=0,
    )
    columns = [_by_layer(result[name]) for name in _NAMES]
    noise = _by_layer(result["noise_jensen_shannon"]) if has_noise else None
    for row, layer in enumerate(result["layer"].to_numpy()):
        cells = [str(layer)] + ([str(result["tuned_layer"].to_numpy()[row])] if matched else [])
        cells += [nats(columns[0][row]), f"{columns[1][row]:.1%}", *(_short(column[row]) for column in columns[2:])]
        if noise is not None:
            cells += [nats(noise[row]), _ratio(columns[0][row], noise[row])]
        found.add_row(*map(Text, cells))
    return found


def _head_table(result: xr.Dataset) -> Table:
    """The heads that moved most, and what they look at before and after."""
    has_noise = "noise_jensen_shannon" in result
    found = table(
        "heads that moved most, and what they look at",
        ["head", "Jensen–Shannon", *(["× noise"] if has_noise else []), "role before", "after", "what changed most"],
    )
    for column in found.columns[-3:]:
        column.justify = "left"
    values = result["jensen_shannon"].to_numpy()
    for place in np.argsort(values, axis=None)[::-1][:_HEADS]:
        layer, head = (int(index) for index in np.unravel_index(int(place), values.shape))
        one = result.isel(layer=layer, head=head)
        cells = [f"{int(one['layer'])}-{int(one['head'])}", nats(float(one["jensen_shannon"]))]
        if has_noise:
            cells.append(_ratio(float(one["jensen_shannon"]), float(one["noise_jensen_shannon"])))
        roles = [str(role) for role in one["head_role"].to_numpy()]
        cells += ["none" if role == MIXED else role for role in roles]
        found.add_row(*map(Text, [*cells, _largest_change(one)]))
    return found


def _largest_change(one: xr.Dataset) -> str:
    change = np.abs(one["role_change"].to_numpy())
    place = int(change.argmax())
    before, after = one["role_mass"].to_numpy()[:, place]
    sure = ""
    if "role_change_q" in one:
        sure = "" if float(one["role_change_q"][place]) < SURE else ", may be chance"
    return f"{one['role'].to_numpy()[place]} {before:.0%} → {after:.0%}{sure}"


def _category_table(result: xr.Dataset) -> Table:
    """Where the rows go, by kind of token, over all layers."""
    found = table("share of each kind of token, mean over layers", ["kind", "before", "after", "change"])
    masses = result["category_mass"]
    means = masses.mean([dim for dim in masses.dims if dim not in {"model", "category"}])
    for name, before, after in zip(
        means["category"].to_numpy(), *means.transpose("model", ...).to_numpy(), strict=True
    ):
        found.add_row(*map(Text, (str(name), f"{before:.1%}", f"{after:.1%}", f"{100 * (after - before):+.1f} points")))
    return found


def _word_table(result: xr.Dataset) -> Table:
    """The words whose change is told from chance and noise, the largest gain first."""
    gained, lost = words_that_moved(result, _WORDS)
    tested = "word_q" in result
    found = table(
        "words that gained and lost",
        ["word", "change", *(["±", "q", "texts"] if tested else [])],
    )
    for place in [*gained, *reversed(lost)]:
        one = result.isel(word=place)
        cells = [printable(str(one["word"].item())), f"{float(one['word_mean_change']):+.3f}"]
        if tested:
            q = float(one["word_q"])
            cells += [f"{float(one['word_mean_error']):.3f}", _q(q), str(int(one["word_texts"]))]
        found.add_row(*map(Text, cells))
    return found


def _notes(result: xr.Dataset) -> list[str]:
    """What the tables don't say: what was tested, and what was not."""
    said = ["Words are in even shares, mean over layers: 1 is what a token would get if all got the same."]
    if "word_q" in result:
        said.append(
            f"Words are listed if they change at a false discovery rate of {SURE:g} (q); ± is one standard error, over "
            "texts."
        )
    if result.attrs["noise"] == "none":
        said.append("No noise floor was measured: --noise int8 compares with what rounding the weights does.")
    elif "above_noise_q" in result:
        inside = int((~above_noise(result)).sum())
        count = result["jensen_shannon"].size
        what = "heads" if "head" in result["jensen_shannon"].dims else "layers"
        least = word_noise(result)
        words = f", and words that change by less than {least:.2g} even shares" if least else ""
        said.append(f"Not told from the noise: {inside} of {count} {what}{words}.")
    return said


def class_report(classes: xr.Dataset) -> list[RenderableType]:
    """What is said of the classes."""
    accuracy = [
        f"{name} {float(value):.1%} [{low:.1%}, {high:.1%}]"
        for name, value, (low, high) in zip(
            classes["model"].to_numpy(), classes["accuracy"], classes["accuracy_interval"].to_numpy().T, strict=True
        )
    ]
    parts: list[RenderableType] = [Text(f"Correct of {classes.attrs['sentences']} sentences: {', '.join(accuracy)}.")]
    up, down = class_words(classes, _WORDS)
    both = "toward_correct_change" in classes
    name = "toward_correct_change" if both else "toward_correct"
    title = (
        "words that came to speak for the correct class, or against it"
        if both
        else ("words that speak for the correct class, or against it")
    )
    found = table(f"{title}, in logits", ["word", "logits", "±", "q", "sentences"])
    for place in [*up, *reversed(down)]:
        one = classes.isel(word=place)
        value = one[name] if both else one[name].sel(model="tuned")
        found.add_row(
            Text(printable(str(one["word"].item()))),
            Text(f"{float(value):+.3f}"),
            Text(f"{float(one['toward_correct_error']):.3f}"),
            Text(_q(float(one["toward_correct_q"]))),
            Text(str(int(one["word_texts"]))),
        )
    if not both:
        parts.append(Text(f"The base has no such classes, so this is {short_name(classes.attrs['tuned'])} alone."))
    if found.row_count:
        parts.append(found)
    else:
        parts.append(Text("No word speaks for or against the correct class beyond chance."))
    return parts


def drawn(result: xr.Dataset, classes: xr.Dataset | None) -> "Figure":
    """The page of figures."""
    from attnscope.plot.changes import comparison_figure

    gained, lost = words_that_moved(result, _DRAWN)
    spoken = None if classes is None else [place for side in class_words(classes, _DRAWN) for place in side]
    return comparison_figure(result, [*gained, *reversed(lost)], classes, spoken)


def _by_layer(values: xr.DataArray) -> Sequence[float]:
    means = values.mean("head") if "head" in values.dims else values
    return [float(value) for value in means]


def _ratio(value: float, noise: float) -> str:
    if noise == 0:
        return "–" if value == 0 else "∞"
    ratio = value / noise
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _short(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _q(q: float) -> str:
    return "–" if np.isnan(q) else f"{q:.3f}" if q >= 0.001 else "<0.001"
