"""What a comparison found, said in sentences; every number in them is read from the result."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.text.categories import OTHER
from attnscope.text.labels import short_name
from attnscope.text.roles import MIXED, ROLES

LEAST_TEXTS = 5
"""Texts below which nothing is said of a word in a corpus."""
SURE = 0.05
"""The false discovery rate at which something is said to be found."""
_MOST = 3
_LISTED = 12
_LEAST_SHOWN = 0.005
"""A word's change that is smaller rounds to nothing, and is not worth a sentence."""
_LEAST_SHARE = 0.001
"""A kind of tokens whose share changes by less neither falls nor rises, in the digits that are shown."""
_NOISY = 0.95
"""A word's change is told from noise if it is larger than that of so many words under noise."""


def sentences(result: xr.Dataset) -> list[str]:
    """The findings, the most general first."""
    matched = _matching(result)
    if float(result["total_variation"].max()) == 0:
        return [*matched, f"Nothing changed: {result.attrs['measure']} is the same in both models, in every layer."]
    found = [
        _layers(result),
        _heads(result),
        _noise(result),
        _edges(result),
        _categories(result),
        *_roles(result),
        _words(result),
        _draws(int(result.attrs["texts"])),
    ]
    return [*matched, *(sentence for sentence in found if sentence)]


def _matching(result: xr.Dataset) -> list[str]:
    """What stands for what, where that is not plain."""
    said: list[str] = []
    if result.attrs["tokenizers"] != "alike":
        said.append("The models cut texts differently, so they are compared by words, over the words that both have.")
    if "tuned_layer" in result.coords:
        pairs = zip(result["layer"].to_numpy(), result["tuned_layer"].to_numpy(), strict=True)
        listed = ", ".join(f"{one}→{other}" for one, other in pairs)
        heads = ", and heads to heads in them" if "tuned_head" in result else ""
        said.append(
            f"The models differ in depth or heads: layers were matched by {result.attrs['layer_match']}{heads} (layer "
            f"of {short_name(result.attrs['base'])} → of {short_name(result.attrs['tuned'])}: {listed})."
        )
    return said


def _layers(result: xr.Dataset) -> str:
    changed = _by_layer(result["total_variation"]).to_numpy() > 0
    numbers = result["layer"].to_numpy()
    begun = "" if changed.all() else f"{_named('Layer', numbers[~changed].tolist())} did not change at all. "
    values, numbers = _by_layer(result["jensen_shannon"]).to_numpy()[changed], numbers[changed].tolist()
    most = values >= (values.max() + values.min()) / 2
    moved = [number for number, high in zip(numbers, most, strict=True) if high]
    mean = nats(values[most].mean())
    said = f"{begun}{_named('Layer', moved)} moved most: Jensen–Shannon divergence {mean} nats on average"
    if most.all():
        return f"{said}."
    least = int(values.argmin())
    others = nats(values[~most].mean())
    return f"{said}, {others} in the others, least in layer {numbers[least]} ({nats(values[least])})."


def _heads(result: xr.Dataset) -> str:
    """Which heads moved most, and of a layer of which only some did, which."""
    values = result["jensen_shannon"]
    if "head" not in values.dims:
        return ""
    changed = (result["total_variation"] > 0).transpose("layer", "head").to_numpy()
    heads = result["head"].to_numpy()
    some = [
        f"In layer {int(layer)} only {_named('head', heads[row].tolist())} changed. "
        for layer, row in zip(result["layer"].to_numpy(), changed, strict=True)
        if row.any() and not row.all()
    ]
    array = values.transpose("layer", "head").to_numpy()
    order = np.argsort(-array, axis=None, kind="stable")[: min(_MOST, int(changed.sum()))]
    places = np.stack(np.unravel_index(order, array.shape), -1)
    said = [f"{_place_name(values, place)} ({nats(float(array[tuple(place)]))} nats)" for place in places]
    return f"{''.join(some)}Head{'s' if len(said) > 1 else ''} that moved most: {', '.join(said)}."


def nats(value: float) -> str:
    """A divergence, with as many digits as it needs to be more than 0."""
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.1e}"


def _noise(result: xr.Dataset) -> str:
    if "noise_jensen_shannon" not in result:
        return ""
    change, noise = result["jensen_shannon"], result["noise_jensen_shannon"]
    what = "heads" if "head" in change.dims else "layers"
    floor = f"that of {short_name(result.attrs['noise'])}, {nats(float(noise.mean()))} nats"
    if float(noise.mean()) == 0:
        said = f"The noise floor is {floor}"
    else:
        said = f"On average the change is {_times(float(change.mean()) / float(noise.mean()))} times {floor}"
    if "above_noise_q" not in result:
        return f"{said}."
    sure = above_noise(result).to_numpy()
    counted = f"{int(sure.sum())} of {change.size} {what} changed more than it (false discovery rate {SURE:g})"
    inside = [_place_name(change, place) for place in np.argwhere(~sure)]
    beyond = [_place_name(change, place) for place in np.argwhere(sure)]
    if not inside or not beyond:
        return f"{said}; {counted}."
    # The fewer of the two are worth a list.
    return (
        f"{said}; {counted}: {_first(beyond)}."
        if len(beyond) <= len(inside)
        else f"{said}; {counted}. Not told from it: {_first(inside)}."
    )


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more}"


def above_noise(result: xr.Dataset) -> xr.DataArray:
    """Which heads, or layers, changed more than the noise, beyond chance over texts."""
    return (result["above_noise_q"] < SURE) & (result["above_noise"] > 0)


def _place_name(values: xr.DataArray, place: NDArray[np.integer[Any]]) -> str:
    """Head 3-2, or layer 3."""
    at = values.isel(dict(zip(values.dims, place.tolist(), strict=True)))
    return f"{int(at['layer'])}-{int(at['head'])}" if "head" in values.dims else f"layer {int(at['layer'])}"


def _times(ratio: float) -> str:
    if ratio < 0.05:
        return "less than 0.1"
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _edges(result: xr.Dataset) -> str:
    edges = result["edges"].mean([dim for dim in result["edges"].dims if dim != "where"])
    total = float(edges.sum())
    if not total:
        return ""
    base, tuned, both = (float(edges.sel(where=name)) / total for name in ("base", "tuned", "both"))
    return (
        f"Of the edges with at least {result.attrs['threshold']:.0%} of a row, {both:.0%} are in both models, "
        f"{base:.0%} only before and {tuned:.0%} only after."
    )


def _categories(result: xr.Dataset) -> str:
    masses = result["category_mass"]
    means = masses.mean([dim for dim in masses.dims if dim not in ("model", "category")])
    named = means.sel(category=means["category"] != OTHER)
    means = named if named.sizes["category"] else means
    changes = (means.sel(model="tuned") - means.sel(model="base")).to_numpy()
    place = int(np.abs(changes).argmax())
    if abs(changes[place]) < _LEAST_SHARE:
        names = _listing([str(name) for name in means["category"].to_numpy()])
        return f"The share of {names} changed by less than {100 * _LEAST_SHARE:g} points, over all layers."
    name = str(means["category"].to_numpy()[place])
    before, after = (float(means.sel(model=model)[place]) for model in ("base", "tuned"))
    verb = "fell" if after < before else "rose"
    return f"The share of {name} {verb} from {before:.1%} to {after:.1%}, over all layers."


def _roles(result: xr.Dataset) -> list[str]:
    roles = result["head_role"]
    changed = (roles.sel(model="base") != roles.sel(model="tuned")).to_numpy()
    if not changed.any():
        return []
    has_heads = "head" in roles.dims
    moved = np.where(changed, result["jensen_shannon"].to_numpy(), -1)
    order = np.argsort(moved, axis=None)[::-1][: min(_MOST, int(changed.sum()))]
    places = [[int(index) for index in np.unravel_index(int(place), moved.shape)] for place in order]
    said = [_one_role(result, place) for place in places]
    what = "heads" if has_heads else "layers"
    return [f"{int(changed.sum())} of {changed.size} {what} changed their role: {'; '.join(said)}."]


def _one_role(result: xr.Dataset, place: Sequence[int]) -> str:
    at = dict(zip(("layer", "head"), place, strict=False))
    chosen = result[["head_role", "role_mass"]].isel(at)
    name = f"layer {int(chosen['layer'])}" if len(at) == 1 else f"head {int(chosen['layer'])}-{int(chosen['head'])}"
    before, after = (str(chosen["head_role"].sel(model=model).item()) for model in ("base", "tuned"))
    shown = [role for role in dict.fromkeys((before, after)) if role in ROLES]
    masses = [
        f"{role} {float(chosen['role_mass'].sel(model='base', role=role)):.0%} → "
        f"{float(chosen['role_mass'].sel(model='tuned', role=role)):.0%}"
        for role in shown
    ]
    note = f" ({', '.join(masses)})" if masses else ""
    return f"{name} went from {_plain(before)} to {_plain(after)}{note}"


def _plain(role: str) -> str:
    return "no role" if role == MIXED else role


def _words(result: xr.Dataset) -> str:
    gained, lost = words_that_moved(result)
    parts = [
        f"{verb} most: {', '.join(_listed(result, words))}"
        for verb, words in (("gained", gained), ("lost", lost))
        if words
    ]
    if parts:
        return f"Words that {'; that '.join(parts)} (in even shares)."
    noisy = "noise_word_mean_change" in result
    if "word_q" not in result:
        return f"No word gained or lost attention beyond {'noise' if noisy else f'{_LEAST_SHOWN:g} even shares'}."
    if int(result["word_texts"].max()) < LEAST_TEXTS:
        return f"No word stands in {LEAST_TEXTS} texts, which it takes to tell its change from chance."
    return f"No word gained or lost attention beyond chance{' and noise' * noisy}."


def _draws(texts: int) -> str:
    """What so few texts can't tell."""
    if texts == 1:
        return "One text does not tell a change from chance."
    if texts < LEAST_TEXTS:
        return f"Intervals over {texts} texts are too narrow, being few to draw from; take {LEAST_TEXTS} or more."
    return ""


def words_that_moved(result: xr.Dataset, count: int = _MOST) -> tuple[list[int], list[int]]:
    """The places of the words that gained and that lost most, mean over layers, where that is more than chance.

    In one text every word counts. In a corpus a word needs some texts, to pass the test, and to have changed more than
    nearly all words do under noise, where that was measured.
    """
    changes = result["word_mean_change"].to_numpy()
    sure = np.abs(changes) >= _LEAST_SHOWN
    often = np.ones(changes.shape, dtype=np.bool_)
    if "word_q" in result:
        often = result["word_texts"].to_numpy() >= LEAST_TEXTS
        sure &= often & (result["word_q"].to_numpy() < SURE)
    sure &= np.abs(changes) > word_noise(result)
    return extremes(changes, sure, count)


def extremes(values: NDArray[np.floating[Any]], sure: NDArray[np.bool_], count: int) -> tuple[list[int], list[int]]:
    """The places of the largest values above 0 and of the least below, of those that are sure."""
    order = [int(place) for place in np.argsort(values) if sure[place]]
    up = [place for place in reversed(order) if values[place] > 0]
    return up[:count], [place for place in order if values[place] < 0][:count]


def word_noise(result: xr.Dataset) -> float:
    """What a word's change must exceed to be told from noise: 0 where no noise was measured."""
    if "noise_word_mean_change" not in result:
        return 0.0
    noise = result["noise_word_mean_change"]
    often = result["word_texts"] >= (LEAST_TEXTS if int(result.attrs["texts"]) > 1 else 1)
    known = np.abs(noise.to_numpy()[often.to_numpy() & noise.notnull().to_numpy()])
    return float(np.quantile(known, _NOISY)) if known.size else 0.0


def _listed(result: xr.Dataset, places: Sequence[int]) -> list[str]:
    names, changes = result["word"].to_numpy(), result["word_mean_change"].to_numpy()
    return [f"{names[place]} ({changes[place]:+.2f})" for place in places]


def _by_layer(values: xr.DataArray) -> xr.DataArray:
    return values.mean("head") if "head" in values.dims else values


def _named(what: str, numbers: Sequence[int]) -> str:
    """Layer 3, or Layers 2 and 4–6."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    return f"{what}{'s' if len(numbers) > 1 else ''} {_listing(parts)}"


def _listing(parts: Sequence[str]) -> str:
    """One, one and two, or one, two and three."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
