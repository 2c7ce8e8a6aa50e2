"""The whole model at once: how much of each token, at each layer, goes back to each word, by the maps of all layers."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.analyze import Unit, analyze
from attnscope.axes import LAYER, QUERY, SOURCE
from attnscope.errors import InputError, unknown
from attnscope.measures import MEASURES, Measure
from attnscope.methods import max_flow as flows
from attnscope.methods import rollout as products
from attnscope.methods.rows import shares
from attnscope.models.model import Model
from attnscope.result import Attribute, dataset

LONG_NAMES = {
    "rollout": "share of a token that goes back to a source, by multiplying the layers' maps",
    "max_flow": "the most that could flow from a source to a token, through the layers' maps as a net of pipes",
}
Maps = NDArray[np.float64]
Progress = Callable[[int, int], None]


def rollout(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    measure: str = "block_norm",
    layers: Collection[int] | None = None,
    stack: str | None = None,
    unit: Unit = "token",
) -> xr.Dataset:
    """How much of each token, at each layer, goes back to each word, by the layers' maps multiplied through.

    measure    any measure that is a map; the mean over heads where it has some
    layers     which layers' tokens are reported, counted from 1; all layers below take part in any case
    stack      the encoder's or the decoder's own layers, in encoder–decoders
    unit       "token", or "word"

    Maps are taken in shares of each row. A measure without the residual connection (weight, attention_norm) gets it
    as (A + I) / 2; one that holds it (block_norm) is taken as it is. Which it was stands in the attribute `residual`.
    """
    return _followed(model, text, pair, "rollout", measure, layers, stack, unit)


def max_flow(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    measure: str = "block_norm",
    layers: Collection[int] | None = None,
    stack: str | None = None,
    unit: Unit = "token",
    progress: Progress | None = None,
) -> xr.Dataset:
    """The most that could flow to each token from each word, if the layers' maps were nets of pipes of that width.

    Options and maps are those of `rollout`. Every flow is solved for by itself, which takes a while over many layers:
    ask for the last of them, `layers=[12]`, where its tokens are what is asked about.
    """
    return _followed(model, text, pair, "max_flow", measure, layers, stack, unit, progress)


def _followed(
    model: Model,
    text: Any,
    pair: str | None,
    method: str,
    measure: str,
    layers: Collection[int] | None,
    stack: str | None,
    unit: Unit,
    progress: Progress | None = None,
) -> xr.Dataset:
    found, maps = mixing(model, text, pair, measure, stack, unit, progress if method == "rollout" else None)
    numbers = [int(number) for number in found[LAYER].to_numpy()]
    places = _places(numbers, layers)
    if method == "rollout":
        values = products.rollout(maps, identity=False)[places]
    else:
        values = flows.max_flow(maps, layers=[place + 1 for place in places], progress=progress)
    tokens = found["query_token"].to_numpy()
    coordinates = {
        LAYER: ((LAYER,), [numbers[place] for place in places]),
        "query_token": ((QUERY,), tokens),
        "source_token": ((SOURCE,), tokens),
    }
    variables = {method: ((LAYER, QUERY, SOURCE), values.astype(np.float32))}
    return dataset(variables, coordinates, attributes_of(found, method, measure, maps), LONG_NAMES)


def mixing(
    model: Model,
    text: Any,
    pair: str | None,
    measure: str,
    stack: str | None,
    unit: Unit,
    progress: Progress | None = None,
) -> tuple[xr.Dataset, Maps]:
    """The analysis of a text by one measure, and its maps as shares of rows, with the residual connection."""
    chosen = map_measure(measure)
    stack = _stack(model, stack, pair)
    found = analyze(model, text, pair, measures=measure, stack=stack, unit=unit, progress=progress)
    return found, shares(found[measure].to_numpy(), identity=not holds_residual(chosen))


def attributes_of(found: xr.Dataset, method: str, measure: str, maps: Maps) -> dict[str, Attribute]:
    """What is to be said of a result that was made of an analysis' maps."""
    attributes: dict[str, Attribute] = {str(name): value for name, value in found.attrs.items()}
    attributes |= {"measures": method, "method": method, "measure": measure}
    attributes |= {"residual": "in the measure" if holds_residual(map_measure(measure)) else "added as (A + I) / 2"}
    return attributes | ({"capacity_resolution": flows.resolution(maps)} if method == "max_flow" else {})


def map_measure(name: str) -> Measure:
    """The measure called `name`, if it is a map."""
    maps = [measure.name for measure in MEASURES.values() if measure.is_map]
    if name not in maps:
        raise unknown("map", name, maps)
    return MEASURES[name]


def holds_residual(measure: Measure) -> bool:
    """Whether a token's own residual is in the map, so that no identity is to be added."""
    return measure.needs_block


def _stack(model: Model, stack: str | None, pair: str | None) -> str | None:
    """Stacks of tokens that look at each other; between two texts there is no way back through the layers."""
    chosen = stack or (model.default_stack() if pair is not None else None)
    if chosen == "cross":
        raise InputError("the maps of cross-attention lead out of their stack; ask for stack='encoder' or 'decoder'")
    return chosen


def _places(numbers: list[int], layers: Collection[int] | None) -> list[int]:
    wanted = numbers if layers is None else sorted(set(layers))
    missing = [layer for layer in wanted if layer not in numbers]
    if not wanted:
        raise InputError("no layer was named; leave layers out for all of them")
    if missing:
        raise InputError(f"there is no attention layer {missing[0]}; the layers: {numbers}")
    return [numbers.index(layer) for layer in wanted]
