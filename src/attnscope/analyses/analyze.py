"""The basic question: for one text, what flows from every key to every query, by each measure."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.reductions import RANK, REDUCTIONS, Keeper, Kept, keeper
from attnscope.axes import CATEGORY, HEAD, KEY, LAYER, QUERY
from attnscope.decompose.laws import LawErrors
from attnscope.decompose.parts import Parts
from attnscope.errors import InputError, UnsupportedModel, one_of, whole_number
from attnscope.measures import Measure, lookup
from attnscope.models import replays
from attnscope.models.encode import Encoded
from attnscope.models.memory import within_memory
from attnscope.models.model import Model
from attnscope.models.structure import Site
from attnscope.record import LayerRecord
from attnscope.result import Array, dataset, joined, versions
from attnscope.text.categories import Categories, Scheme, categorise, check_scheme
from attnscope.text.tokens import Tokens
from attnscope.text.words import mean_over_query_pieces, sum_over_key_pieces, units

DEFAULT_MEASURES = ("weight", "attention_norm", "block_norm")
UNITS = ("token", "word")
_DENSE_ROWS = 128
"""Query rows per step where a layer's weights are in memory anyway."""
_BLOCK_ROWS = 256
"""Query rows per step where weights are only ever held in blocks."""

Unit = Literal["token", "word"]
Reduce = Literal["keys", "queries", "categories", "topk"]
Variables = dict[str, tuple[tuple[str, ...], Array]]
Progress = Callable[[int, int], None]
"""Called with the number of layers done and the number there are."""
Fold = Callable[[Mapping[str, NDArray[np.float32]]], Mapping[str, tuple[tuple[str, ...], Array]]]
"""What is to be kept of a layer: from its maps by measure, (head, query, key) or (query, key), to variables by name,
each with its axes. Maps for which the layers are run again come in a call of their own."""


@dataclass(frozen=True)
class Request:
    """What is asked of a text."""

    measures: tuple[Measure, ...]
    heads: tuple[int, ...] | None
    unit: Unit
    reduce: Reduce | None
    categories: str | Scheme
    top: int
    fold: Fold | None = None

    @property
    def scopes(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(scope for measure in self.measures if measure.is_map for scope in measure.scopes))

    @property
    def replayed(self) -> tuple[Measure, ...]:
        """The measures for which layers have to be run again."""
        return tuple(measure for measure in self.measures if measure.replay is not None)


def analyze(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    measures: str | Iterable[str] = DEFAULT_MEASURES,
    layers: Collection[int] | None = None,
    heads: Collection[int] | None = None,
    stack: str | None = None,
    unit: Unit = "token",
    reduce: Reduce | None = None,
    categories: str | Scheme = "auto",
    top: int = 5,
    stride: int | None = None,
    fold: Fold | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Measure what flows between the tokens of a text, layer by layer.

    text       a string; an image for vision models; a mapping of ready tensors for anything else
    pair       the second text of a pair, or the target of an encoder–decoder
    measures   names of measures (`attnscope.measures.MEASURES`)
    layers     which layers, counted from 1; all if None
    heads      which heads are reported, counted from 1; sums over heads always run over all
    stack      "self" in most models; "encoder", "decoder" or "cross" in encoder–decoders
    unit       "token", or "word": summed over the pieces of keys, averaged over the pieces of queries
    reduce     keep less than query × key, in memory of the order of one block of rows:
               "keys" (sum), "queries" (mean), "categories" (sum over the category's keys, mean over queries) or
               "topk" (the `top` largest keys of each query)
    categories the kinds of tokens for reduce="categories": "auto", "encoder", "decoder", or a mapping of your own
    stride     analyse a text longer than the model's positions in windows this many tokens apart (axis `window`)
    fold       a function that is given the maps of each layer, of tokens, and says what to keep in their place, so
               that never more than one layer's are in memory

    Every result carries the reconstruction error of each layer; a layer that does not add up is refused.
    """
    if not isinstance(model, Model):
        raise InputError(f"the first argument is an attnscope Model, not {type(model).__name__}")
    request = _request(
        measures, None if heads is None else _numbers("heads", _listed("heads", heads)), unit, reduce, categories, top
    )
    if fold is not None:
        if unit == "word" or reduce is not None:
            raise InputError("fold= gets whole maps of tokens; leave unit= and reduce= out")
        request = replace(request, fold=fold)
    layers = None if layers is None else _layer_list(layers)
    if stride is None:
        encoded = [model.encode(text, pair)]
    elif pair is not None or not isinstance(text, str):
        raise InputError("stride= cuts one text into windows; it can't be used with a pair or with ready tensors")
    else:
        encoded = model.encode_windows(text, stride)
    stack = stack or model.default_stack(pair is not None or encoded[0].target is not None)
    one_of("stack", stack, model.structure.stacks)
    if stack in {"decoder", "cross"} and isinstance(text, str) and encoded[0].target is None:
        raise InputError(f"the {stack} stack reads a target; give one as the pair")
    sites = _sites(model, stack, layers, request)
    total = len(sites) * len(encoded)
    found: list[xr.Dataset] = []
    with within_memory(model.name):
        for index, inputs in enumerate(encoded):
            step = None if progress is None else partial(_report, progress, index * len(sites), total)
            found.append(_one(model, inputs, sites, request, step, progress))
        result = found[0] if stride is None else _concatenated(found)
    result.attrs["reconstruction_error"] = float(result["law_error"].max().item())
    if isinstance(text, str):
        result.attrs |= {"text": text} | ({} if pair is None else {"pair": pair})
    return result


def _listed(what: str, given: Any) -> list[Any]:
    """A list that was given, as a list."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{what} must be a list, not {given!r}")
    return list(cast("Iterable[Any]", given))


def _layer_list(given: Any) -> list[int]:
    return _numbers("layers", _listed("layers", given))


def _numbers(what: str, given: list[Any]) -> list[int]:
    """Whole numbers of any kind (those of numpy are no `int`)."""
    if any(isinstance(number, bool) or not isinstance(number, int | np.integer) for number in given):
        raise InputError(f"{what} are numbers from 1, such as [1, 3]; got {given!r}")
    return [int(number) for number in given]


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _concatenated(windows: list[xr.Dataset]) -> xr.Dataset:
    """Windows of one length behind each other on a new axis."""
    joined: Any = xr.concat(windows, "window", combine_attrs="drop_conflicts", join="exact")
    return joined


def _request(
    measures: str | Iterable[str],
    heads: Collection[int] | None,
    unit: Unit,
    reduce: Reduce | None,
    categories: str | Scheme,
    top: int,
) -> Request:
    names = [measures] if isinstance(measures, str) else list(dict.fromkeys(_listed("measures", measures)))
    if not names:
        raise InputError("no measure was asked for; name at least one, for example weight")
    one_of("unit", unit, UNITS)
    if reduce is not None:
        one_of("reduction", reduce, REDUCTIONS)
    if unit == "word" and reduce == "topk":
        raise InputError("reduce='topk' is over tokens; use unit='token' with it")
    whole_number("top", top, 1)
    check_scheme(categories)
    if any(not isinstance(name, str) for name in names):
        raise InputError(f"measures are names, such as weight; got {names!r}")
    if heads is not None and not heads:
        raise InputError("no head was asked for; leave heads out to have all of them")
    chosen = tuple(lookup(name) for name in names)
    return Request(chosen, None if heads is None else tuple(dict.fromkeys(heads)), unit, reduce, categories, top)


def _sites(model: Model, stack: str, layers: Collection[int] | None, request: Request) -> tuple[Site, ...]:
    """The layers asked for, if the measures asked for can be had in them."""
    sites = model.sites(stack, layers)
    if not sites:
        raise InputError("no layer was asked for; leave layers out to have all of them")
    for measure in request.measures:
        gap = next((site for site in sites if site.step is None), None)
        if measure.needs_block and gap is not None:
            raise UnsupportedModel(model.name, f"{measure.name} needs the residual stream, but {gap.step_reason}")
        if measure.needs_tail:
            replays.check_playable(model, sites, measure)
        if measure.self_only and any(site.is_cross for site in sites):
            raise InputError(f"{measure.name} is of tokens among themselves; it has no meaning in cross-attention")
        gated = next((site for site in sites if site.gated), None)
        if measure.name == "value_norm" and gated is not None:
            raise UnsupportedModel(
                model.name,
                f"value_norm has no meaning in layer {gated.layer}: a gate behind the attention makes a key's vector "
                "another one for each query; ask for head_norm",
            )
    for head in request.heads or ():
        count = min(site.heads for site in sites)
        if not 1 <= head <= count:
            raise InputError(f"there is no head {head}; the layers have heads 1 to {count}")
    return sites


@dataclass(frozen=True)
class _Layer:
    """What was found about one layer as a whole."""

    number: int
    errors: LawErrors
    least_row_sum: float
    record: LayerRecord | None
    """Kept only where the layer is to be run again."""


@dataclass
class _Visit:
    """Visits the layers of one text, and fills the arrays of the result."""

    request: Request
    keys: Tokens | None
    count: int
    step: Callable[[int], None] | None
    categories: Categories | None = None
    layers: list[_Layer] = field(default_factory=list[_Layer])
    variables: dict[str, tuple[tuple[str, ...], Array]] = field(
        default_factory=dict[str, tuple[tuple[str, ...], Array]]
    )

    def __call__(self, _: int, record: LayerRecord) -> None:
        request = self.request
        parts = Parts(record, request.scopes)
        errors, least = self._maps(record, parts)
        for measure in request.measures:
            if not measure.is_map:
                kept = Kept(_tail(measure), _numpy(self._heads(measure, measure.compute(parts))))
                self._keep(measure, "", kept, len(self.layers))
        self.layers.append(_Layer(record.layer, errors, least, record if request.replayed else None))
        if self.step is not None:
            self.step(len(self.layers))

    def replayed(self, played: replays.Played) -> None:
        """Take in the maps of layers that were run again."""
        for index, layer in enumerate(self.layers):
            assert layer.record is not None
            keepers = {again.name: self._keeper(again, layer.record, index) for again in self.request.replayed}
            for name, one in keepers.items():
                one.add(played.maps[name][index])
            self._finish(keepers, index)

    def _maps(self, record: LayerRecord, parts: Parts) -> tuple[LawErrors, float]:
        """The pass over blocks of query rows: every map, Law 1 and the sums of the weights."""
        maps = [measure for measure in self.request.measures if measure.is_map and measure.replay is None]
        index = len(self.layers)
        keepers = {measure.name: self._keeper(measure, record, index) for measure in maps}
        errors: list[torch.Tensor] = []
        sums: list[torch.Tensor] = []
        for rows in record.row_blocks(_BLOCK_ROWS if self.request.reduce else _DENSE_ROWS):
            block = parts.rows(rows)
            for measure in maps:
                keepers[measure.name].add(self._heads(measure, measure.compute(block)))
            errors.append(parts.sketched_error(block))
            sums.append(block.weight.sum(-1).min())
        self._finish(keepers, index)
        return parts.errors(torch.cat(errors)), float(torch.stack(sums).min())

    def _finish(self, keepers: Mapping[str, Keeper], index: int) -> None:
        """Take in what was kept of a layer's maps, or what its fold makes of them."""
        finished = {name: keeper.finish() for name, keeper in keepers.items()}
        if self.request.fold is None:
            for name, found in finished.items():
                for suffix, kept in found.items():
                    self._keep(lookup(name), suffix, kept, index)
        elif finished:
            whole = {name: found[""].array.astype(np.float32, copy=False) for name, found in finished.items()}
            for name, (dims, array) in self.request.fold(whole).items():
                self._place(name, dims, array.shape, array.dtype, index)[...] = array

    def _keeper(self, measure: Measure, record: LayerRecord, index: int) -> Keeper:
        if self.request.reduce == "categories" and self.categories is None:
            self.categories = _categories(self.keys, record, self.request)

        def allocate(shape: tuple[int, ...]) -> NDArray[np.float32]:
            if self.request.fold is not None:
                return np.empty(shape, np.float32)
            return self._place(measure.name, measure.dims, shape, np.dtype(np.float32), index)

        return keeper(self.request.reduce, record.queries, self.categories, self.request.top, allocate)

    def _keep(self, measure: Measure, suffix: str, kept: Kept, index: int) -> None:
        dims = (HEAD, *kept.dims) if HEAD in measure.dims else kept.dims
        place = self._place(measure.name + suffix, dims, kept.array.shape, kept.array.dtype, index)
        if not np.may_share_memory(place, kept.array):
            place[...] = kept.array

    def _place(
        self, name: str, dims: tuple[str, ...], shape: tuple[int, ...], dtype: np.dtype[Any], index: int
    ) -> NDArray[Any]:
        """Where an array of a layer, by its place among those asked for, goes in the result."""
        if name not in self.variables:
            self.variables[name] = ((LAYER, *dims), np.empty((self.count, *shape), dtype))
        array = self.variables[name][1]
        if array.shape[1:] != shape:
            raise InputError(
                f"{name} is of shape {array.shape[1:]} in one layer and {shape} in another, so they do not fit in one "
                "array; ask for layers= of one size"
            )
        return array[index, ...]

    def _heads(self, measure: Measure, values: torch.Tensor) -> torch.Tensor:
        if self.request.heads is None or HEAD not in measure.dims:
            return values
        return values[[head - 1 for head in self.request.heads]]


def _tail(measure: Measure) -> tuple[str, ...]:
    return tuple(dim for dim in measure.dims if dim != HEAD)


def _numpy(values: torch.Tensor) -> NDArray[np.float32]:
    return values.float().cpu().numpy()


def _categories(tokens: Tokens | None, record: LayerRecord, request: Request) -> Categories:
    if tokens is None:
        raise InputError("reduce='categories' needs tokens that have categories; this input is no text")
    scheme = request.categories
    if scheme == "auto" and _is_causal(record):
        scheme = "decoder"
    return categorise(tokens, scheme)


def _is_causal(record: LayerRecord) -> bool:
    """Whether the first token sees none but itself."""
    first = record.attention(slice(0, 1))[:, 0]
    return not record.is_cross and bool((first[:, 1:] == 0).all()) and record.keys > 1


def _one(
    model: Model,
    inputs: Encoded,
    sites: Sequence[Site],
    request: Request,
    step: Callable[[int], None] | None,
    progress: Progress | None,
) -> xr.Dataset:
    """One text, or one window of it; where layers are run again, `progress` counts those passes anew."""
    queries, keys = sides(inputs, sites[0].stack)
    visit = _Visit(request, keys, len(sites), step)
    tails = any(measure.needs_tail for measure in request.measures)
    model.run(inputs, visit, sites=sites, rows=_BLOCK_ROWS if request.reduce else None, tails=tails)
    if request.replayed:
        _play(model, inputs, sites, visit, progress)
    for layer in visit.layers:
        if not math.isfinite(layer.errors.worst):
            raise InputError(
                f"NaN or infinity came up in {sites[0].stack} layer {layer.number} of {model.name}: its weights hold "
                "some, or numbers grew too large for its precision; float32 holds larger ones than float16"
            )
        if not layer.errors.worst <= model.tolerance:
            raise UnsupportedModel(
                model.name,
                f"the parts of {sites[0].stack} layer {layer.number} do not add up to what the model computed (error "
                f"{layer.errors.worst:.1e}, rounding explains at most {model.tolerance:.0e})",
            )
    return _dataset(model, visit, sites, queries, keys)


def _play(model: Model, inputs: Encoded, sites: Sequence[Site], visit: _Visit, progress: Progress | None) -> None:
    """Run the layers again for the measures that need it, and prove what was carried through them."""
    layers = [(site, layer.record) for site, layer in zip(sites, visit.layers, strict=True) if layer.record is not None]
    played = replays.play(model, inputs, layers, visit.request.replayed, progress=progress)
    visit.replayed(played)
    visit.layers = [
        replace(layer, errors=replace(layer.errors, layer=error), record=None)
        for layer, error in zip(visit.layers, played.errors or [None] * len(layers), strict=True)
    ]


def sides(inputs: Encoded, stack: str) -> tuple[Tokens | None, Tokens | None]:
    """Which tokens look and which are looked at."""
    return {"decoder": (inputs.target, inputs.target), "cross": (inputs.target, inputs.source)}.get(
        stack, (inputs.source, inputs.source)
    )


def _dataset(
    model: Model, visit: _Visit, sites: Sequence[Site], queries: Tokens | None, keys: Tokens | None
) -> xr.Dataset:
    request, layers, variables = visit.request, visit.layers, visit.variables
    sizes = {dim: size for dims, array in variables.values() for dim, size in zip(dims, array.shape, strict=True)}
    labels: dict[str, tuple[tuple[str, ...], Sequence[object]]] = {
        LAYER: ((LAYER,), [layer.number for layer in layers]),
        HEAD: ((HEAD,), list(request.heads or range(1, sites[0].heads + 1))),
        RANK: ((RANK,), list(range(1, sizes.get(RANK, 0) + 1))),
        "law": (("law",), ["attention", "block", *(["layer"] if layers[0].errors.layer is not None else [])]),
    }
    if visit.categories is not None:
        labels[CATEGORY] = ((CATEGORY,), visit.categories.names)
    for measure in request.measures:
        labels |= {dim: ((dim,), names) for dim, names in measure.coordinates.items()}
    for side, tokens in ((QUERY, queries), (KEY, keys)):
        if side in sizes:
            variables, names = _in_units(variables, side, tokens, request.unit)
            labels[f"{side}_token"] = ((side,), names or _plain_labels(model, sizes[side]))
    laws = [(layer.errors.attention, layer.errors.block, layer.errors.layer) for layer in layers]
    errors = [[_or_nan(error) for error in found[: len(labels["law"][1])]] for found in laws]
    variables["law_error"] = ((LAYER, "law"), np.array(errors))
    long_names = {measure.name: f"{measure.summary} {measure.formula}" for measure in request.measures}
    long_names |= {
        "law_error": "relative reconstruction error of the attention, its block and the whole layer (Laws 1 to 3)"
    }
    return dataset(variables, labels, _attributes(model, visit, sites), long_names)


def _in_units(
    variables: Variables, side: str, tokens: Tokens | None, unit: Unit
) -> tuple[Variables, Sequence[str] | None]:
    """The variables with one axis in the units asked for, and the labels of that axis."""
    sizes = {array.shape[dims.index(side)] for dims, array in variables.values() if side in dims}
    if tokens is None or sizes != {len(tokens)}:
        return variables, None
    if unit == "token":
        return variables, tokens.strings
    put_together = mean_over_query_pieces if side == QUERY else sum_over_key_pieces
    return {
        name: (dims, put_together(array, tokens.words, dims.index(side)) if side in dims else array)
        for name, (dims, array) in variables.items()
    }, units(tokens).labels


def _plain_labels(model: Model, count: int) -> list[str]:
    """Labels for inputs without tokens: image patches by row and column, anything else by number."""
    side = int(count**0.5)
    if model.hf_model.main_input_name == "pixel_values":
        extra = count - side * side
        names = ["[CLS]", *(f"[extra {number}]" for number in range(2, extra + 1))][:extra]
        return names + [f"{row},{column}" for row in range(1, side + 1) for column in range(1, side + 1)]
    return [str(number) for number in range(1, count + 1)]


def _or_nan(error: float | None) -> float:
    return float("nan") if error is None else error


def _attributes(model: Model, visit: _Visit, sites: Sequence[Site]) -> dict[str, str | int | float]:
    request = visit.request
    attributes = versions() | {
        "model": model.name,
        "architecture": type(model.hf_model).__name__,
        "tokenizer": type(model.tokenizer).__name__ if model.tokenizer is not None else "none",
        "dtype": str(model.hf_model.dtype).removeprefix("torch."),
        "stack": sites[0].stack,
        "unit": request.unit,
        "reduce": request.reduce or "none",
        "measures": joined(measure.name for measure in request.measures),
        "least_weight_sum": min(layer.least_row_sum for layer in visit.layers),
    }
    others = model.structure.others
    return attributes | ({"layers_without_attention": "; ".join(others)} if others else {})
