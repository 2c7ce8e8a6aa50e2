"""Back from a target to the words: which tokens, through which layers and heads, reach it (METHODS 7)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.analyze import Progress, Unit, analyze
from attnscope.analyses.attribute import check_complete
from attnscope.analyses.whole import holds_residual, map_measure
from attnscope.artifacts.flow import (
    EdgeChange,
    Flow,
    FlowChange,
    FlowEdge,
    FlowNode,
    FlowTarget,
    Histogram,
    NodeChange,
    Reading,
    Scale,
    Where,
)
from attnscope.axes import HEAD, KEY, LAYER, QUERY
from attnscope.errors import InputError, UnsupportedModel, one_of, unknown, whole_number
from attnscope.measures import Measure
from attnscope.methods.max_flow import max_flow
from attnscope.methods.rollout import rollout
from attnscope.methods.rows import shares
from attnscope.methods.tracing import Trace, row_shares, trace
from attnscope.models.attribution import Attribution
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.text.labels import unique, visible
from attnscope.text.tokens import Tokens
from attnscope.text.words import role_labels, sum_over_key_pieces

READINGS: tuple[Reading, ...] = ("direct", "cumulative", "flow")
SCALES: tuple[Scale, ...] = ("share", "value")
LOGIT = "logit:"
"""How a target that is a class is written: logit:positive; logit: alone is the predicted one."""
MOST_EDGES = 200_000
"""More can neither be drawn nor looked at."""
_BINS = 40
_FIRST = "[CLS]"


@dataclass(frozen=True)
class _Start:
    """Where tracing begins: a token, or a logit with what each token before the last layer gives to it."""

    target: FlowTarget
    place: int
    parts: NDArray[np.float64] | None = None


def flow(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    measure: str = "block_norm",
    target: str | int | None = None,
    threshold: float | int = 0.05,
    by: Scale = "share",
    reading: Reading = "direct",
    layers: Collection[int] | None = None,
    heads: Collection[int] | None = None,
    unit: Unit = "token",
    stack: str | None = None,
    decay: float | int = 0.5,
    top: int | None = None,
    progress: Progress | None = None,
) -> Flow:
    """Trace a token behind the top layer, or a class, back through the layers to the words.

    measure    any that is a map from keys to queries
    target     a token by its label or its number from 0; "[CLS]" is the special token in front, whatever its name;
               "logit:positive" is a class or token that the model's head names, "logit:" the predicted one.
               None: [CLS], or the last token of a text that is read from left to right
    threshold  how much of a query's whole a key must give (`by="share"`), or the least value (`by="value"`)
    reading    "direct": each layer's own map; "cumulative": what each token of a layer is made of, all layers up to
               it multiplied through (rollout); "flow": the same by maximum flow. In the last two, keys are words
    layers     a range of layers; tracing begins behind the last of it
    heads      which heads count, for measures that have them
    unit       "token", or "word"
    decay      λ: how much of a query's influence its keys inherit
    top        keep only so many keys of each query, the strongest

    For a logit the last step is its own decomposition: what each token that enters the last layer contributes to it,
    by size and as shares.
    """
    chosen = _map_measure(measure, heads)
    _check(threshold, by, reading, decay, top)
    wanted = None if layers is None else _range(layers)
    below = reading != "direct" and wanted is not None
    found = analyze(
        model,
        text,
        pair,
        measures=chosen.name,
        layers=range(1, wanted[-1] + 1) if below and wanted is not None else wanted,
        heads=heads,
        stack=stack,
        unit=unit,
        progress=progress,
    )
    if found.attrs["stack"] == "cross":
        raise InputError("flow is traced within one stack of layers; choose stack='encoder' or stack='decoder'")
    labels = labels_of(found)
    maps = _maps(found[chosen.name])
    start = _start(model, text, pair, target, found, labels, maps)
    numbers = [int(layer) for layer in found[LAYER].to_numpy()]
    read = _read(maps, chosen, reading, by, start)
    if wanted is not None:
        read = [values for values, number in zip(read, numbers, strict=True) if number in wanted]
        numbers = list(wanted)
    first = np.arange(len(labels)) == start.place
    traced = trace(read, first, threshold, decay=decay, top=top)
    many = sum(int(passing.any(0).sum()) for passing in traced.passing)
    if many > MOST_EDGES:
        raise InputError(
            f"the graph has {many} edges, more than the {MOST_EDGES} that can be looked at; raise the threshold, or "
            "keep only the strongest with top="
        )
    has_heads = HEAD in chosen.dims and reading == "direct"
    names = tuple(int(head) for head in found[HEAD].to_numpy()) if has_heads else ()
    return Flow(
        model=model.name,
        text=text if isinstance(text, str) else None,
        pair=pair,
        measure=chosen.name,
        reading=reading,
        stack=str(found.attrs["stack"]),
        unit=unit,
        tokens=labels,
        layers=tuple(numbers),
        heads=names,
        target=start.target,
        threshold=float(threshold),
        by=by,
        decay=float(decay),
        nodes=tuple(_nodes(traced, numbers, start)),
        edges=tuple(_edges(traced, read, numbers, names, start)),
        values=_histogram(read),
        reconstruction_error=float(found.attrs["reconstruction_error"]),
    )


def flow_change(base: Model, tuned: Model, text: Any, pair: str | None = None, **options: Any) -> FlowChange:
    """The graphs of two models over each other: which nodes and edges only one has, and which both have.

    `options` are those of `flow`. Models that cut the text differently are compared by words; models of different
    depth have graphs of their own, and none together.
    """
    flows = [flow(model, text, pair, **options) for model in (base, tuned)]
    if flows[0].tokens != flows[1].tokens and options.get("unit", "token") == "token":
        by_word: dict[str, Any] = options | {"unit": "word"}
        flows = [flow(model, text, pair, **by_word) for model in (base, tuned)]
    one, other = flows
    if one.unit == "word" and isinstance(text, str):
        names = [_roles(model, text, pair, found) for model, found in zip((base, tuned), flows, strict=True)]
        one, other = (found.model_copy(update={"tokens": roles}) for found, roles in zip(flows, names, strict=True))
    if one.layers != other.layers:
        raise InputError(
            f"{base.name} has layers {one.layers[0]} to {one.layers[-1]} and {tuned.name} {other.layers[0]} to "
            f"{other.layers[-1]}, so their graphs can't be laid over each other; trace each by itself"
        )
    if one.tokens != other.tokens:
        raise InputError(f"{base.name} and {tuned.name} do not read the same words in this text")
    return overlaid(one, other)


def _roles(model: Model, text: str, pair: str | None, found: Flow) -> tuple[str, ...]:
    """The words, with special tokens by what they do: the one in front is [CLS], the others are [SEP]."""
    tokens = _tokens(model, text, pair, found.stack)
    return found.tokens if tokens is None else role_labels(tokens)


def overlaid(base: Flow, tuned: Flow) -> FlowChange:
    """Two graphs of the same tokens and layers as one."""
    shares_of = [{(node.layer, node.token): node.share for node in one.nodes} for one in (base, tuned)]
    nodes = [
        NodeChange(
            layer=layer,
            token=token,
            where=_where((layer, token) in shares_of[0], (layer, token) in shares_of[1]),
            base_share=shares_of[0].get((layer, token)),
            tuned_share=shares_of[1].get((layer, token)),
        )
        for layer, token in sorted({*shares_of[0], *shares_of[1]}, key=_order)
    ]
    edges_of = [{(edge.layer, edge.query, edge.key): edge for edge in one.edges} for one in (base, tuned)]
    return FlowChange(
        base=base,
        tuned=tuned,
        nodes=tuple(nodes),
        edges=tuple(
            _edge_change(edges_of[0].get(place), edges_of[1].get(place))
            for place in sorted({*edges_of[0], *edges_of[1]}, key=_order)
        ),
    )


def _order(place: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(-1 if number is None else number for number in place)


def _where(in_base: bool, in_tuned: bool) -> Where:
    return "both" if in_base and in_tuned else "base" if in_base else "tuned"


def _edge_change(one: FlowEdge | None, other: FlowEdge | None) -> EdgeChange:
    known = one or other
    assert known is not None
    return EdgeChange(
        layer=known.layer,
        query=known.query,
        key=known.key,
        where=_where(one is not None, other is not None),
        base_heads=() if one is None else one.heads,
        tuned_heads=() if other is None else other.heads,
        base_strength=None if one is None else one.strength,
        tuned_strength=None if other is None else other.strength,
    )


def _map_measure(name: str, heads: Collection[int] | None) -> Measure:
    found = map_measure(name)
    if heads is not None and HEAD not in found.dims:
        raise InputError(f"{name} is of all heads together; to choose heads, take weight or head_norm")
    return found


def _check(threshold: float | int, by: str, reading: str, decay: float | int, top: int | None) -> None:
    one_of("scale", by, SCALES)
    one_of("reading", reading, READINGS)
    most = 1.0 if by == "share" else np.inf
    if not isinstance(threshold, int | float) or not 0 <= threshold <= most or threshold == np.inf:
        allowed = "from 0 to 1, a share of what a query takes in" if by == "share" else "of 0 or more"
        raise InputError(f"the threshold must be a number {allowed}, not {threshold!r}")
    if not isinstance(decay, int | float) or not 0 <= decay <= 1:
        raise InputError(f"decay must be a number from 0 to 1, not {decay!r}")
    if top is not None:
        whole_number("top", top, 1)


def _range(layers: Collection[int]) -> tuple[int, ...]:
    """The layers as a range without gaps: what is traced passes through each of them."""
    found = sorted(set(layers))
    if not found or found != list(range(found[0], found[0] + len(found))):
        raise InputError(f"layers must be a range without gaps, such as 2 to 5, not {layers!r}")
    return tuple(found)


def labels_of(found: xr.Dataset) -> tuple[str, ...]:
    """Labels of the tokens of an analysis, all different."""
    given = [str(label) for label in found["query_token"].to_numpy()]
    return tuple(given) if len(set(given)) == len(given) else tuple(unique([visible(label) for label in given]))


def _maps(found: xr.DataArray) -> list[NDArray[np.float64]]:
    """One (head, query, key) for each layer; a measure of all heads together has one."""
    if HEAD not in found.dims:
        found = found.expand_dims(HEAD)
    return list(found.transpose(LAYER, HEAD, QUERY, KEY).to_numpy().astype(np.float64))


def _start(
    model: Model,
    text: Any,
    pair: str | None,
    target: str | int | None,
    found: xr.Dataset,
    labels: tuple[str, ...],
    maps: Sequence[NDArray[np.float64]],
) -> _Start:
    if isinstance(target, str) and target.startswith(LOGIT) and target not in labels:
        return _logit(model, text, pair, target.removeprefix(LOGIT).strip(), found)
    place = place_of(model, text, pair, target, found, maps)
    return _Start(FlowTarget(kind="token", label=labels[place], token=place), place)


def place_of(
    model: Model,
    text: Any,
    pair: str | None,
    target: str | int | None,
    found: xr.Dataset,
    maps: Sequence[NDArray[np.floating[Any]]],
) -> int:
    """The number of the token that a target names, in an analysis of a text; see `flow`."""
    labels = labels_of(found)
    return _place(target, labels, _first_is_special(model, text, pair, found), _is_causal(maps))


def _place(target: str | int | None, labels: tuple[str, ...], first_is_special: bool, causal: bool) -> int:
    if target is None and causal:
        return len(labels) - 1
    if target is None and not (first_is_special or labels[0] == _FIRST):
        raise InputError(f"this text has no {_FIRST} to trace back from; name a token: {', '.join(labels[:8])}")
    name = _FIRST if target is None else target
    if isinstance(name, str) and name.isdecimal() and name not in labels:
        name = int(name)
    if isinstance(name, int):
        if not 0 <= name < len(labels):
            raise InputError(f"there is no token {name}; the text has {len(labels)}, counted from 0")
        return name
    if name in labels:
        return labels.index(name)
    if name == _FIRST and first_is_special:
        return 0
    lowered = [label.casefold() for label in labels]
    if name.casefold() in lowered:
        return lowered.index(name.casefold())
    raise unknown("target", name, labels)


def _first_is_special(model: Model, text: Any, pair: str | None, found: xr.Dataset) -> bool:
    tokens = _tokens(model, text, pair, str(found.attrs["stack"]))
    return tokens is not None and tokens.special[0]


def _tokens(model: Model, text: Any, pair: str | None, stack: str) -> Tokens | None:
    """The tokens of a text in a stack; None for what is no text."""
    if not isinstance(text, str):
        return None
    encoded = model.encode(text, pair)
    return encoded.target if stack == "decoder" and encoded.target is not None else encoded.source


def _is_causal(maps: Sequence[NDArray[np.floating[Any]]]) -> bool:
    """Whether no token takes anything from a later one."""
    return maps[0].shape[-1] > 1 and all(not np.triu(values, 1).any() for values in maps)


def _logit(model: Model, text: Any, pair: str | None, name: str, found: xr.Dataset) -> _Start:
    """A logit, and what each token that enters the last layer contributes to it, as shares by size."""
    stack = str(found.attrs["stack"])
    last = model.sites(stack)[-1].layer
    if int(found[LAYER].to_numpy()[-1]) != last:
        raise InputError(f"a class is decided behind the last layer, so layers must reach up to {last}")
    inputs = model.encode(text, pair)
    parts, label = last_step(model, inputs, name or None, stack)
    contribution = parts.contribution.cpu().numpy().astype(np.float64)
    if found.attrs["unit"] == "word" and inputs.source is not None:
        contribution = sum_over_key_pieces(contribution, inputs.source.words)
    return _Start(FlowTarget(kind="logit", label=label, value=parts.value), 0, row_shares(np.abs(contribution)))


def last_step(model: Model, inputs: Encoded, choice: str | None, stack: str) -> tuple[Attribution, str]:
    """What each token that enters the last layer contributes to a logit, and what the logit is called."""
    last = model.sites(stack)[-1]
    if last.step is None:
        raise UnsupportedModel(model.name, f"the states before layer {last.layer} were not found: {last.step_reason}")
    explained, target = model.attribute(inputs, choice, taps=[last.step.residual.tap])
    check_complete(model, explained)
    return explained[0], target.names[0]


def _read(
    maps: list[NDArray[np.float64]], measure: Measure, reading: Reading, by: Scale, start: _Start
) -> list[NDArray[np.float64]]:
    """The maps as they are to be read; the step from a logit stands in the place of the last layer's map."""
    if reading == "direct":
        read = [row_shares(values) for values in maps] if by == "share" else list(maps)
        return read if start.parts is None else [*read[:-1], _alike(start.parts)]
    mixing = shares(np.stack(maps), identity=not holds_residual(measure))
    if start.parts is not None:
        mixing[-1] = _alike(start.parts)[0]
    through = rollout(mixing, identity=False) if reading == "cumulative" else max_flow(mixing)
    scaled = row_shares(through) if by == "share" else through
    return list(scaled[:, None])


def _alike(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """A map of which every row is this one: whichever token stands for the logit, it is the logit's."""
    return np.broadcast_to(row, (1, len(row), len(row)))


def _nodes(traced: Trace, layers: Sequence[int], start: _Start) -> list[FlowNode]:
    levels = [layers[0] - 1, *layers]
    found: list[FlowNode] = []
    for level, reached, influence in zip(levels[:-1], traced.reached, traced.influence, strict=False):
        total = float(influence.sum()) or 1.0
        found += [
            FlowNode(layer=level, token=int(token), influence=influence[token], share=influence[token] / total)
            for token in np.flatnonzero(reached)
        ]
    return [*found, FlowNode(layer=levels[-1], token=start.target.token, influence=0.0, share=1.0)]


def _edges(
    traced: Trace,
    read: Sequence[NDArray[np.float64]],
    layers: Sequence[int],
    names: tuple[int, ...],
    start: _Start,
) -> list[FlowEdge]:
    found: list[FlowEdge] = []
    for layer, passing, values in zip(layers, traced.passing, read, strict=True):
        is_logit = start.parts is not None and layer == layers[-1]
        strengths = values.max(0)
        for query, key in np.argwhere(passing.any(0)):
            heads = () if is_logit or not names else tuple(names[h] for h in np.flatnonzero(passing[:, query, key]))
            found.append(
                FlowEdge(
                    layer=layer,
                    query=None if is_logit else int(query),
                    key=int(key),
                    heads=heads,
                    strength=float(strengths[query, key]),
                )
            )
    return found


def _histogram(read: Sequence[NDArray[np.float64]]) -> Histogram:
    strengths = np.concatenate([values.max(0).ravel() for values in read])
    counts, edges = np.histogram(strengths, bins=_BINS, range=(0, float(strengths.max()) or 1.0))
    return Histogram(edges=tuple(map(float, edges)), counts=tuple(map(int, counts)))
