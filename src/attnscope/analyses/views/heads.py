"""Where each head looks, summed up."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnscope.analyses.analyze import Unit, analyze
from attnscope.analyses.views.reading import Axes, axes, chosen, inner_stack, is_causal
from attnscope.analyses.views.registry import Models, Progress, SlotRequest, view
from attnscope.artifacts.heads import Heads
from attnscope.artifacts.parcel import Parcel
from attnscope.axes import HEAD, LAYER
from attnscope.methods.comparison import category_mass, entropy, jensen_shannon, offset_mass
from attnscope.methods.tracing import row_shares
from attnscope.text.categories import Categories, categorise
from attnscope.text.roles import NEXT, PREVIOUS, SELF, kind_masks, role_of

OFFSETS = {SELF: 0, PREVIOUS: -1, NEXT: 1}
_MEASURES = {"weight": "weight", "norm": "head_norm"}


class HeadsRequest(SlotRequest):
    """In which units."""

    unit: Unit = "token"


@view
def heads(models: Models, request: HeadsRequest, progress: Progress) -> Parcel:
    """For every head the share of each kind of token and of the neighbours, its entropy, and what it is called."""
    model = chosen(models, request.slot)
    stack = inner_stack(model)
    both = axes(model, request.text, request.pair, stack, request.unit)
    habits = _Habits(both)
    found = analyze(
        model,
        request.text,
        request.pair,
        measures=list(_MEASURES.values()),
        stack=stack,
        fold=habits.fold,
        progress=progress,
    )
    arrays = {name: found[name].to_numpy() for name in habits.names}
    roles = tuple(
        tuple(role_of(masses, float(spread)) for masses, spread in zip(*of_layer, strict=True))
        for of_layer in zip(found["role_mass"].to_numpy(), arrays["entropy_weight"], strict=True)
    )
    artifact = Heads(
        model=model.name,
        stack=stack,
        unit=request.unit,
        tokens=both.keys.listed(),
        layers=tuple(int(layer) for layer in found[LAYER].to_numpy()),
        heads=tuple(int(head) for head in found[HEAD].to_numpy()),
        categories=habits.categories.names,
        offsets=tuple(OFFSETS),
        roles=roles,
        reconstruction_error=float(found.attrs["reconstruction_error"]),
    )
    return Parcel(artifact, arrays)


class _Habits:
    """Sums up the maps of a layer."""

    names = (
        *(f"{what}_{how}" for what in ("mass", "offset", "entropy") for how in _MEASURES),
        "disagreement",
    )
    categories: Categories

    def __init__(self, both: Axes) -> None:
        self.axes = both
        self.first = [group[0] for group in both.keys.groups]
        self.kinds = kind_masks(both.keys.tokens)[:, self.first]

    def fold(self, layer: Mapping[str, NDArray[np.float32]]) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
        """What is kept of a layer."""
        shares = {how: row_shares(self.axes.between(layer[name])) for how, name in _MEASURES.items()}
        if not hasattr(self, "categories"):
            self.categories = self._categorised(causal=is_causal(shares["weight"]))
        found: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
        for how, rows in shares.items():
            near = np.stack([offset_mass(rows, lag) for lag in OFFSETS.values()], -1)
            found[f"mass_{how}"] = ((HEAD, "category"), category_mass(rows, self.categories.masks))
            found[f"offset_{how}"] = ((HEAD, "offset"), near)
            found[f"entropy_{how}"] = ((HEAD,), entropy(rows))
        kinds = category_mass(shares["weight"], self.kinds)
        masses = np.concatenate([found["offset_weight"][1], kinds], -1)
        found["role_mass"] = ((HEAD, "role"), masses)
        found["disagreement"] = ((HEAD,), jensen_shannon(shares["weight"], shares["norm"]))
        return {name: (dims, array.astype(np.float32)) for name, (dims, array) in found.items()}

    def _categorised(self, *, causal: bool) -> Categories:
        named = categorise(self.axes.keys.tokens, "decoder" if causal else "auto")
        return Categories(named.names, named.index[self.first])
