"""One token, layer by layer: how much of it goes back to each word, by the methods that follow the whole model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.analyze import Unit
from attnscope.analyses.decomposed import decomposed
from attnscope.analyses.flow import LOGIT, labels_of, place_of
from attnscope.analyses.whole import LONG_NAMES, attributes_of, mixing
from attnscope.axes import LAYER, SOURCE
from attnscope.errors import InputError, one_of
from attnscope.methods.max_flow import max_flow
from attnscope.methods.rollout import rollout
from attnscope.methods.tracing import row_shares
from attnscope.models.model import Model
from attnscope.result import Attribute, dataset

TRAILS = ("rollout", "max_flow", "decomposed")
_NAMES = LONG_NAMES | {
    "decomposed": "how long the vector is that a source contributes to the token: ‖x_{i⇐k}‖",
    "share": "the same as a share of all sources'",
}
Progress = Callable[[int, int], None]


def trail(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    method: str = "rollout",
    measure: str = "block_norm",
    target: str | int | None = None,
    stack: str | None = None,
    unit: Unit = "token",
    progress: Progress | None = None,
) -> xr.Dataset:
    """How much of one token, behind each layer, goes back to each word.

    method     "rollout" and "max_flow" of a measure's maps, or "decomposed": the lengths of the exact parts
    measure    for the first two: any measure that is a map
    target     a token, as `flow` takes it: by label, by number from 0, or None for [CLS] or the last one
    stack      for the first two: the encoder's or the decoder's own layers, in encoder–decoders
    unit       "token", or "word"; lengths of exact parts are of tokens, because those of words are not their sums

    The result has the method's own values and their `share` in each layer.
    """
    one_of("method", method, TRAILS)
    if isinstance(target, str) and target.startswith(LOGIT):
        raise InputError(
            f"{method} leads from a token to the words; to lead from a class, take attribute, or flow as it is traced"
        )
    if method == "decomposed":
        found, values, place = _of_parts(model, text, pair, target, stack, unit, progress)
        sources: list[str] = found["source_token"].to_numpy().tolist()
        attributes: dict[str, Attribute] = {str(name): value for name, value in found.attrs.items()}
        for name in ("target", "target_value", "bias", "completeness_error"):  # of the logit, which is not asked for
            attributes.pop(name, None)
        attributes |= {"measures": method}
    else:
        found, maps = mixing(model, text, pair, measure, stack, unit)
        place = place_of(model, text, pair, target, found, list(maps[:, None]))
        if method == "rollout":
            values = rollout(maps, identity=False)[:, place]
        else:
            values = max_flow(maps, queries=[place], progress=progress)[:, 0]
        sources = found["query_token"].to_numpy().tolist()
        attributes = attributes_of(found, method, measure, maps)
    attributes |= {"target": labels_of(found)[place], "target_place": place, "unit": unit}
    variables = {name: ((LAYER, SOURCE), array) for name, array in ((method, values), ("share", row_shares(values)))}
    coordinates = {LAYER: ((LAYER,), found[LAYER].to_numpy().tolist()), "source_token": ((SOURCE,), sources)}
    return dataset(variables, coordinates, attributes, _NAMES)


def _of_parts(
    model: Model,
    text: Any,
    pair: str | None,
    target: str | int | None,
    stack: str | None,
    unit: Unit,
    progress: Progress | None,
) -> tuple[xr.Dataset, NDArray[np.float64], int]:
    if unit != "token":
        raise InputError("the lengths of exact parts are of tokens: those of words are not their sums; leave unit out")
    if stack is not None:
        raise InputError("decomposed goes through the whole model, so there is no stack to choose; leave it out")
    found = decomposed(model, text, pair, progress=progress)
    values = found["decomposed"].to_numpy().astype(np.float64)
    found = found.assign_attrs(stack="decoder" if model.is_encoder_decoder else model.default_stack())
    among_themselves = values[:, None, :, -found.sizes["query"] :]
    place = place_of(model, text, pair, target, found, list(among_themselves))
    return found, values[:, place], place
