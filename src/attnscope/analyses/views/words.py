"""What each word contributes to a decision, beside the attention it gets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnscope.analyses.analyze import Unit, analyze
from attnscope.analyses.attribute import attribute
from attnscope.analyses.attribution import lookup
from attnscope.analyses.flow import last_step
from attnscope.analyses.views.reading import Axes, axes, chosen, decided_on, default_target, inner_stack, is_causal
from attnscope.analyses.views.registry import Models, Progress, SlotRequest, view
from attnscope.artifacts.parcel import Parcel
from attnscope.artifacts.words import Words
from attnscope.axes import LAYER
from attnscope.errors import UnsupportedModel
from attnscope.methods.tracing import row_shares
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.text.words import sum_over_key_pieces

_MEASURES = {"weight": "weight", "norm": "attention_norm"}


class WordsRequest(SlotRequest):
    """For which target, and by which method."""

    target: str | None = None
    """A class or token by name; None for the predicted one."""
    unit: Unit = "token"
    method: str = "decomposed"


@view
def words(models: Models, request: WordsRequest, progress: Progress) -> Parcel:
    """What each token adds to a logit, and how much of the attention it gets, by weight and by norm.

    A model that decides nothing on the text has attention alone; `reason` says why.
    """
    model = chosen(models, request.slot)
    method = lookup(request.method)
    stack = inner_stack(model)
    both = axes(model, request.text, request.pair, stack, request.unit)
    inputs = model.encode(request.text, request.pair)
    decided = decided_on(model, inputs)
    received = _Received(both, decided.position)
    found = analyze(
        model,
        request.text,
        request.pair,
        measures=list(_MEASURES.values()),
        stack=stack,
        fold=received.fold,
        progress=lambda done, total: progress(done, total + 1),
    )
    arrays = {name: found[f"row_{name}"].to_numpy()[-1] for name in _MEASURES}
    arrays |= {f"layer_{name}": found[f"layer_{name}"].to_numpy() for name in _MEASURES}
    attributes: Mapping[str, Any] = {}
    if decided.task != "none":
        parts = attribute(
            model, request.text, request.pair, target=request.target, method=method.name, unit=request.unit
        )
        attributes = parts.attrs
        arrays["contribution"] = parts["contribution"].to_numpy().astype(np.float32)
        arrays |= _last(model, inputs, request, stack)
    progress(1, 1)
    target = attributes.get("target")
    artifact = Words(
        model=model.name,
        tokens=both.keys.listed(),
        unit=request.unit,
        stack=stack,
        layers=tuple(int(layer) for layer in found[LAYER].to_numpy()),
        query=received.query,
        target=target,
        classes=tuple(choice.name for choice in decided.choices),
        target_value=attributes.get("target_value"),
        probability=next((choice.probability for choice in decided.choices if choice.name == target), None),
        bias=attributes.get("bias"),
        completeness_error=attributes.get("completeness_error"),
        method=method.name,
        signed=method.signed,
        reason=decided.reason,
        reconstruction_error=float(found.attrs["reconstruction_error"]),
    )
    return Parcel(artifact, arrays)


def _last(model: Model, inputs: Encoded, request: WordsRequest, stack: str) -> dict[str, NDArray[np.float32]]:
    """The logit's first step back, where it can be had."""
    try:
        parts, _ = last_step(model, inputs, request.target, stack)
    except UnsupportedModel:
        return {}
    last = parts.contribution.cpu().numpy().astype(np.float32)
    if request.unit == "word" and inputs.source is not None:
        last = sum_over_key_pieces(last, inputs.source.words)
    return {"last": last}


class _Received:
    """What each token receives, layer by layer."""

    def __init__(self, both: Axes, position: int | None) -> None:
        self.axes, self.position = both, position
        self.query = 0

    def fold(self, layer: Mapping[str, NDArray[np.float32]]) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
        """The shares that a layer gives."""
        found: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
        for how, name in _MEASURES.items():
            rows = row_shares(self.axes.between(layer[name]))
            rows = rows.mean(0) if rows.ndim == 3 else rows
            if how == "weight":
                self.query = self._deciding(causal=is_causal(rows))
            found[f"row_{how}"] = (("unit",), rows[self.query])
            found[f"layer_{how}"] = (("unit",), rows.mean(0))
        return found

    def _deciding(self, *, causal: bool) -> int:
        """The unit behind which the decision is taken."""
        if self.position is None:
            return default_target(self.axes.queries.listed(), causal)
        return next(place for place, group in enumerate(self.axes.queries.groups) if self.position in group)
