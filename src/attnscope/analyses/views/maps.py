"""The maps of all layers in a form that a browser can trace graphs from."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.analyze import Unit, analyze
from attnscope.analyses.decomposed import decomposed
from attnscope.analyses.views.reading import Axes, axes, chosen, default_target, inner_stack, is_causal
from attnscope.analyses.views.registry import Models, Progress, SlotRequest, view
from attnscope.analyses.whole import holds_residual, map_measure
from attnscope.artifacts.flow import Reading
from attnscope.artifacts.maps import Maps
from attnscope.artifacts.parcel import Parcel
from attnscope.axes import HEAD, LAYER, QUERY
from attnscope.errors import InputError
from attnscope.methods.max_flow import max_flow
from attnscope.methods.rollout import rollout
from attnscope.methods.rows import shares
from attnscope.methods.tracing import row_shares
from attnscope.models.model import Model

BINS = 40
MOST_FLOW = 64
"""Tokens up to which maximum flows are computed: their number grows with the square, and each takes longer."""
EXACT = "decomposed"
"""Not a measure of a layer but the whole model's own parts, which read as maps over layers do."""
_FINE = 1000
_Folded = dict[str, tuple[tuple[str, ...], NDArray[Any]]]


class MapsRequest(SlotRequest):
    """Which maps, and how they are read."""

    measure: str = "block_norm"
    reading: Reading = "direct"
    unit: Unit = "token"
    stack: str | None = None


@view
def maps(models: Models, request: MapsRequest, progress: Progress) -> Parcel:
    """The strongest keys of every query, by layer and head: what the flow graph is traced from.

    In the direct reading heads stay apart; cumulative and flow readings, which are over layers, take their mean.
    `decomposed` is over layers in itself: what each token is made of, exactly.
    """
    model = chosen(models, request.slot)
    stack = inner_stack(model, request.stack)
    both = axes(model, request.text, request.pair, stack, request.unit)
    if stack == "cross":
        raise InputError("flow is traced within one stack of layers; choose stack='encoder' or stack='decoder'")
    if request.reading == "flow" and len(both.keys) > MOST_FLOW:
        raise InputError(
            f"the flow reading takes texts of at most {MOST_FLOW} {request.unit}s, because it solves a problem for "
            f"each pair of them and this one has {len(both.keys)}; take the cumulative reading"
            + (", or words in the place of tokens" if request.unit == "token" else "")
        )
    strongest = _Strongest(both, kept_of(len(both.keys)))
    direct = request.reading == "direct"
    if request.measure == EXACT:
        found = _exact(model, request, both, progress)
        through = [strongest.mean({EXACT: layer})["mean"][1] for layer in found[EXACT].to_numpy()]
        has_heads, with_residual = False, True
    else:
        measure = map_measure(request.measure)
        found = analyze(
            model,
            request.text,
            request.pair,
            measures=measure.name,
            stack=stack,
            fold=strongest.fold if direct else strongest.mean,
            progress=progress,
        )
        has_heads, with_residual = direct and HEAD in measure.dims, holds_residual(measure)
        through = None if direct else _through(found, request.reading, with_residual, progress)
    if through is None:
        arrays = {name: found[name].to_numpy() for name in ("key", "share", "total")}
    else:
        columns = [strongest.of(layer[None]) for layer in through]
        arrays = {name: np.stack([column[name][1] for column in columns]) for name in columns[0]}
    edges, counts = strongest.histogram()
    tokens = both.keys.listed()
    artifact = Maps(
        model=model.name,
        measure=request.measure,
        reading=request.reading,
        stack=stack,
        unit=request.unit,
        tokens=tokens,
        layers=tuple(int(layer) for layer in found[LAYER].to_numpy()),
        heads=tuple(range(1, arrays["key"].shape[1] + 1)) if has_heads else (),
        kept=strongest.kept,
        floor=strongest.floor,
        causal=strongest.causal,
        default_target=default_target(tokens, strongest.causal),
        holds_residual=with_residual,
        reconstruction_error=float(found.attrs["reconstruction_error"]),
    )
    return Parcel(artifact, arrays | {"histogram_edge": edges, "histogram_count": counts})


def _through(found: xr.Dataset, reading: Reading, with_residual: bool, progress: Progress) -> NDArray[Any]:
    """Maps over layers, of those of single layers."""
    mixing = shares(found["mean"].to_numpy(), identity=not with_residual)
    return max_flow(mixing, progress=progress) if reading == "flow" else rollout(mixing, identity=False)


def _exact(model: Model, request: MapsRequest, both: Axes, progress: Progress) -> xr.Dataset:
    """The lengths of the exact parts, where they are a map between the tokens of one stack."""
    if request.reading != "cumulative":
        raise InputError(f"{EXACT} leads through all layers at once; take the cumulative reading")
    if request.unit != "token":
        raise InputError(
            "the lengths of exact parts are of tokens: those of words are not their sums; "
            "take tokens in the place of words"
        )
    if model.is_encoder_decoder:
        raise InputError(f"{EXACT} goes through encoder and decoder at once, and is no map within one of them")
    found = decomposed(model, request.text, request.pair, progress=progress)
    if found[EXACT].shape[1:] != (len(both.queries), len(both.keys)):
        raise InputError(f"{model.name} reads more than the tokens of the text, so that {EXACT} is no map of them")
    return found


def kept_of(tokens: int) -> int:
    """How many keys of each query are kept, so that no text makes more than some megabytes."""
    return min(tokens, 64) if tokens <= 128 else 32 if tokens <= 256 else 16


class _Strongest:
    """Takes the strongest keys of each query, layer by layer, and counts how the shares lie."""

    def __init__(self, both: Axes, kept: int) -> None:
        self.axes, self.kept = both, kept
        self.floor = 0.0
        self.causal = True
        self._fine: NDArray[np.int64] = np.zeros(_FINE, dtype=np.int64)

    def fold(self, layer: Mapping[str, NDArray[np.float32]]) -> _Folded:
        """The strongest keys of a layer's map."""
        return self.of(self._map(layer))

    def mean(self, layer: Mapping[str, NDArray[np.float32]]) -> _Folded:
        """The mean over heads of a layer's map."""
        return {"mean": ((QUERY, "other"), self._map(layer).mean(0))}

    def _map(self, layer: Mapping[str, NDArray[np.float32]]) -> NDArray[Any]:
        (values,) = layer.values()
        values = self.axes.between(values if values.ndim == 3 else values[None])
        self.causal = self.causal and is_causal(values)
        return values

    def of(self, values: NDArray[Any]) -> _Folded:
        """Keys, shares and totals of (head, query, key)."""
        share = row_shares(values)
        size = share.shape[-1]
        some = np.argpartition(-share, self.kept - 1, -1)[..., : self.kept]
        order = np.take_along_axis(some, np.argsort(-np.take_along_axis(share, some, -1), -1, kind="stable"), -1)
        best = np.take_along_axis(share, order, -1)
        if self.kept < size:
            self.floor = max(self.floor, float(best[..., -1].max()))
        places = np.minimum((share.max(0) * _FINE).astype(np.int64), _FINE - 1)
        self._fine += np.bincount(places.ravel(), minlength=_FINE)
        dims = ("map", QUERY)
        return {
            "key": ((*dims, "kept"), order.astype(np.uint16)),
            "share": ((*dims, "kept"), best.astype(np.float32)),
            "total": (dims, values.sum(-1).astype(np.float32)),
        }

    def histogram(self) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
        """Edges and counts, in bins as narrow as let the largest share in."""
        width = int(np.flatnonzero(self._fine).max(initial=0)) // BINS + 1
        counts = self._fine[: width * BINS].reshape(BINS, width).sum(1)
        edges = np.arange(BINS + 1) * width / _FINE
        return edges.astype(np.float32), counts.astype(np.uint32)
