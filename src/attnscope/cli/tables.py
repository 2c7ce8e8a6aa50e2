"""Results as tables for a terminal."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from rich import box
from rich.table import Table
from rich.text import Text

from attnscope.cli.screen import printable
from attnscope.measures import MEASURES
from attnscope.plot.shares import by_category, received
from attnscope.result import measures_of

MOST_ROWS = 40
_LONGEST = 40
"""Columns that a word may take."""
_BAR = 14
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def table(title: str, columns: Iterable[str], *, left: int = 1) -> Table:
    """An empty table in our style; the first `left` columns hold words, the others numbers."""
    found = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        if position < left:
            found.add_column(Text(column), no_wrap=True, max_width=_LONGEST)
        else:
            found.add_column(Text(column), justify="right", no_wrap=True)
    return found


def wrapped(found: Table) -> None:
    """Let the last column hold as many words as there are, in lines below each other."""
    found.columns[-1].justify, found.columns[-1].no_wrap, found.columns[-1].overflow = "left", False, "fold"


def analysis_tables(result: xr.Dataset) -> list[Table | Text]:
    """Every table that a result has something to say in."""
    found: list[Table | Text] = []
    maps = [name for name in measures_of(result) if MEASURES[name].is_map]
    match result.attrs["reduce"]:
        case "keys":
            found += _by_query(result, maps)
        case "categories":
            found += [category_table(category_shares(result, maps))] if maps else []
        case "topk":
            found += [_top_table(window, name) for window in _each_window(result) for name in maps]
        case _:
            found += _by_key(result, maps)
    others = [name for name in measures_of(result) if not MEASURES[name].is_map]
    return found + _layer_tables(result, others)


def law_line(result: xr.Dataset) -> str:
    """How exactly the parts add up, and to what."""
    attributes = result.attrs
    layers = f"{result.sizes['layer']} layer{'s' if result.sizes['layer'] > 1 else ''}"
    law_2 = result["law_error"].sel(law="block")
    laws = "Law 1 and 2 hold" if bool(law_2.notnull().all()) else "Law 1 holds"
    where = f"{attributes['model']} ({attributes['architecture']}, {attributes['stack']} attention, {layers})"
    return f"{laws} to {attributes['reconstruction_error']:.0e} in {where}."


def meanings(names: Sequence[str]) -> Table:
    """What each measure is, in a sentence."""
    grid = Table.grid(padding=(0, 2))
    for name in names:
        measure = MEASURES[name]
        grid.add_row(Text(name, style="bold"), Text(f"{measure.formula}: {_small(measure.summary)}"))
    return grid


def category_table(shares: xr.Dataset, title: str = "share of each kind of token, by layer") -> Table:
    """Shares (layer, category) of several measures beside each other."""
    names = [str(name) for name in shares.data_vars]
    categories = [str(name) for name in shares["category"].values]
    columns = [f"{name}\n{category}" for name in names for category in categories]
    found = table(title, ["\nlayer", *(_heading(column, categories) for column in columns)], left=0)
    rows = [*shares["layer"].to_numpy().tolist(), "mean"]
    whole = xr.concat([shares.drop_vars("layer"), shares.mean("layer")], "layer", coords="minimal", compat="override")
    for position, layer in enumerate(rows):
        if layer == "mean":
            found.add_section()
        values = [whole[name].transpose("layer", "category").to_numpy()[position] for name in names]
        found.add_row(Text(str(layer)), *(Text(f"{value:.1%}") for value in np.concatenate(values)))
    return found


def token_table(result: xr.Dataset, maps: Sequence[str], extra: Sequence[str] = ()) -> Table:
    """One row a token: the share of each map that it receives, with a bar."""
    shares = {name: received(result[name]) for name in maps}
    amounts = {name: _means(result[name], "key") for name in extra}
    return _shares_table(_tokens(result, "key"), shares, amounts, _windows(result))


def _by_key(result: xr.Dataset, maps: Sequence[str]) -> list[Table | Text]:
    extra = [name for name in measures_of(result) if "key" in result[name].dims and name not in maps]
    if not maps and not extra:
        return []
    found: list[Table | Text] = [token_table(result, maps, extra)]
    count = result.sizes["key"] * result.sizes.get("window", 1)
    if count > MOST_ROWS:
        found.append(Text(f"These {MOST_ROWS} of {count} tokens receive the most; --json or --out has them all."))
    return found


def _shares_table(
    tokens: Sequence[str],
    shares: dict[str, xr.DataArray],
    amounts: dict[str, NDArray[np.floating[Any]]],
    windows: Sequence[int] | None,
) -> Table:
    columns = {name: np.ravel(array.transpose(..., "key").to_numpy()) for name, array in shares.items()}
    most = max((float(np.nanmax(values)) for values in columns.values()), default=1.0) or 1.0
    headings = ["#", "token", *columns, *amounts] if windows is None else ["window", "token", *columns, *amounts]
    found = table("share of each token: mean over queries, heads and layers", headings, left=2)
    for column in found.columns[2 : 2 + len(columns)]:
        column.justify = "left"
    for row in _largest([*columns.values()] or [*amounts.values()]):
        place = row + 1 if windows is None else windows[row]
        cells = [Text(f"{values[row]:6.1%} {bar(float(values[row]) / most)}") for values in columns.values()]
        more = [Text(f"{values[row]:.3g}") for values in amounts.values()]
        found.add_row(Text(f"{place:>3}"), Text(printable(tokens[row])), *cells, *more)
    return found


def bar(share: float) -> str:
    """A bar of so much of the full width, in eighths of a character."""
    eighths = round(max(0.0, min(1.0, share if np.isfinite(share) else 0.0)) * _BAR * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(_BAR)


def _largest(columns: Sequence[NDArray[np.floating[Any]]]) -> list[int]:
    """The rows to show, in the order of the text: all, or those with the largest share of anything."""
    most = np.max(columns, axis=0)
    return sorted(np.argsort(-most, kind="stable")[:MOST_ROWS].tolist())


def _by_query(result: xr.Dataset, maps: Sequence[str]) -> list[Table | Text]:
    """reduce="keys": what each query takes in, in all."""
    if not maps:
        return []
    found = table("what each query takes in: sum over keys, mean over heads and layers", ["#", "token", *maps], left=2)
    columns = [_means(result[name], "query") for name in maps]
    tokens = _tokens(result, "query")
    for row in _largest(columns):
        cells = [Text(f"{values[row]:.4g}") for values in columns]
        found.add_row(Text(f"{row + 1:>3}"), Text(printable(tokens[row])), *cells)
    rest = Text(f"These {MOST_ROWS} of {len(tokens)} take in the most; --json or --out has them all.")
    return [found, rest] if len(tokens) > MOST_ROWS else [found]


def category_shares(result: xr.Dataset, maps: Sequence[str]) -> xr.Dataset:
    """The share of each kind of token by layer, for some measures."""
    return xr.Dataset({name: by_category(result[name]) for name in maps})


def _top_table(result: xr.Dataset, name: str) -> Table:
    """reduce="topk": for each query, which keys stand most often among the largest, and with how much of them."""
    ranks = result.sizes["rank"]
    found = table(
        f"{name}: keys by their share of the {ranks} largest entries of each row", ["#", "query", "keys"], left=2
    )
    wrapped(found)
    values = result[name].transpose(..., "query", "rank").to_numpy()
    keys = result[f"{name}_key"].transpose(..., "query", "rank").to_numpy()
    queries, tokens = _tokens(result, "query"), _key_tokens(result, int(keys.max()) + 1)
    for row in range(min(values.shape[-2], MOST_ROWS)):
        amounts = np.bincount(keys[..., row, :].ravel(), values[..., row, :].ravel())
        best = [int(key) for key in np.argsort(-amounts, kind="stable")[:ranks]]
        total = amounts.sum() or 1.0
        said = [f"{printable(tokens[key])} {amounts[key] / total:.0%}" for key in best if amounts[key] > 0]
        found.add_row(Text(f"{row + 1:>3}"), Text(printable(queries[row])), Text("  ".join(said)))
    return found


def _key_tokens(result: xr.Dataset, count: int) -> list[str]:
    """The keys' labels: where only ranks are left, the keys of self-attention are its queries."""
    if result.attrs["stack"] == "cross":
        return [f"key {number}" for number in range(1, count + 1)]
    return _tokens(result, "query")


def _layer_tables(result: xr.Dataset, names: Sequence[str]) -> list[Table | Text]:
    """Measures that are no maps, by layer: one table of their means, and one for each that comes in several kinds."""
    plain: dict[str, NDArray[np.floating[Any]]] = {}
    found: list[Table | Text] = []
    for name in names:
        kinds = [dim for dim in MEASURES[name].coordinates if dim in result[name].dims]
        means = _mean_but(result[name], ("layer", *kinds))
        if kinds:
            columns = {str(kind): means.sel({kinds[0]: kind}).to_numpy() for kind in means[kinds[0]].to_numpy()}
            found.append(_layer_table(result, f"{name} by layer: mean over tokens", columns))
        else:
            plain[name] = means.to_numpy()
    return [_layer_table(result, "by layer: mean over tokens and heads", plain), *found] if plain else found


def _layer_table(result: xr.Dataset, title: str, columns: dict[str, NDArray[np.floating[Any]]]) -> Table:
    found = table(title, ["layer", *columns], left=0)
    for position, layer in enumerate(result["layer"].to_numpy().tolist()):
        found.add_row(Text(str(layer)), *(Text(f"{values[position]:.3g}") for values in columns.values()))
    return found


def _tokens(result: xr.Dataset, side: str) -> list[str]:
    """The labels of one side, window after window; where all windows read the same, there is one row of labels."""
    labels = [str(token) for token in np.ravel(result[f"{side}_token"].to_numpy())]
    return labels * (result.sizes.get("window", 1) if result[f"{side}_token"].ndim == 1 else 1)


def _each_window(result: xr.Dataset) -> list[xr.Dataset]:
    return (
        [result.isel(window=number) for number in range(result.sizes["window"])]
        if "window" in result.dims
        else [result]
    )


def _windows(result: xr.Dataset) -> list[int] | None:
    """The window of each row, where a text was analysed in several."""
    count = result.sizes.get("window", 1)
    return None if count == 1 else [row // result.sizes["key"] + 1 for row in range(count * result.sizes["key"])]


def _means(array: xr.DataArray, side: str) -> NDArray[np.floating[Any]]:
    return np.ravel(_mean_but(array, ("window", side)).transpose(..., side).to_numpy())


def _mean_but(array: xr.DataArray, kept: Sequence[str]) -> xr.DataArray:
    return array.mean([dim for dim in array.dims if dim not in kept])


def _heading(column: str, categories: Sequence[str]) -> str:
    """The measure's name only over its first category; kinds in a word."""
    name, category = column.split("\n")
    return f"{name if category == categories[0] else ''}\n{category.replace('comma and full stop', ', and .')}"


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
