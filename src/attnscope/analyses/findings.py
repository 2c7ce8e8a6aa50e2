"""What a comparison found, said in sentences; every number in them is read from the result."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from attnscope.text.categories import OTHER
from attnscope.text.roles import MIXED, ROLES

LEAST_COUNT = 5
"""Occurrences below which nothing is said of a word in a corpus."""
SURE = 0.05
"""The false discovery rate at which something is said to be found."""
_MOST = 3


def sentences(result: xr.Dataset) -> list[str]:
    """The findings, the most general first."""
    if float(result["total_variation"].max()) == 0:
        return [f"Nothing changed: {result.attrs['measure']} is the same in both models, in every layer."]
    found = [_layers(result), _noise(result), _edges(result), _categories(result), *_roles(result), _words(result)]
    return [sentence for sentence in found if sentence]


def _layers(result: xr.Dataset) -> str:
    values = _by_layer(result["jensen_shannon"]).to_numpy()
    numbers = [int(layer) for layer in result["layer"].to_numpy()]
    most = values >= (values.max() + values.min()) / 2
    moved = [number for number, high in zip(numbers, most, strict=True) if high]
    said = f"{_named('Layer', moved)} moved most: Jensen–Shannon divergence {values[most].mean():.3f} nats on average"
    if most.all():
        return f"{said}."
    least = int(values.argmin())
    return f"{said}, {values[~most].mean():.3f} in the others, least in layer {numbers[least]} ({values[least]:.3f})."


def _noise(result: xr.Dataset) -> str:
    if "noise_jensen_shannon" not in result:
        return ""
    change, noise = result["jensen_shannon"], result["noise_jensen_shannon"]
    what = "heads" if "head" in change.dims else "layers"
    times = float(change.mean()) / max(float(noise.mean()), 1e-12)
    floor = f"that of {result.attrs['noise']} ({float(noise.mean()):.2g} nats)"
    said = f"On average the change is {_times(times)} times {floor}"
    if "above_noise_q" not in result:
        return f"{said}; one text does not tell it from chance."
    sure = (result["above_noise_q"] < SURE) & (result["above_noise"] > 0)
    return f"{said}; {int(sure.sum())} of {change.size} {what} changed more than it (false discovery rate {SURE:g})."


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _edges(result: xr.Dataset) -> str:
    edges = result["edges"].mean([dim for dim in result["edges"].dims if dim != "where"])
    total = float(edges.sum())
    if not total:
        return ""
    base, tuned, both = (float(edges.sel(where=name)) / total for name in ("base", "tuned", "both"))
    return (
        f"Of the edges with at least {result.attrs['threshold']:.0%} of a row, {both:.0%} are in both models, "
        f"{base:.0%} only in {result.attrs['base']} and {tuned:.0%} only in {result.attrs['tuned']}."
    )


def _categories(result: xr.Dataset) -> str:
    masses = result["category_mass"]
    means = masses.mean([dim for dim in masses.dims if dim not in ("model", "category")])
    named = means.sel(category=means["category"] != OTHER)
    means = named if named.sizes["category"] else means
    changes = (means.sel(model="tuned") - means.sel(model="base")).to_numpy()
    place = int(np.abs(changes).argmax())
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
    chosen = result.isel(at)
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
        f"{verb} most: {', '.join(_listed(words))}" for verb, words in (("gained", gained), ("lost", lost)) if words
    ]
    return f"Words that {'; that '.join(parts)} (in even shares)." if parts else ""


def words_that_moved(result: xr.Dataset, count: int = _MOST) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The words that gained and that lost most, mean over layers, where that is more than chance.

    In one text every word counts. In a corpus a word needs some occurrences, and to pass the test.
    """
    changes = result["word_mean_change"].to_numpy()
    sure = np.ones(changes.shape, dtype=np.bool_)
    if "word_q" in result:
        sure = (result["word_count"].to_numpy() >= LEAST_COUNT) & (result["word_q"].to_numpy() < SURE)
    names = result["word"].to_numpy()
    order = [int(place) for place in np.argsort(changes) if sure[place]]
    pairs = [(str(names[place]), float(changes[place])) for place in order]
    return [one for one in reversed(pairs) if one[1] > 0][:count], [one for one in pairs if one[1] < 0][:count]


def _listed(words: Sequence[tuple[str, float]]) -> list[str]:
    return [f"{word} ({change:+.2f})" for word, change in words]


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
    joined = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{what}{'s' if len(numbers) > 1 else ''} {joined}"
