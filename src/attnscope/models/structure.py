"""From the record of one forward pass to a plan of how to catch every attention layer in later passes.

Each attention's output is followed through the graph: first in head space (layout changes, a gate, an inner
normalisation) to the linear map that mixes the heads, then in model space (multipliers, a branch normalisation,
additions) to the residual stream. Nothing is guessed from names: the residual is the summand from which the
attention's own query was made; whatever else is added is a parallel branch. A step that is not understood ends in
a reason, never in a number; the plan is believed only after Laws 1 and 2 have been checked with it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from attnscope.models.norms import NormSource, NotANorm, understand
from attnscope.models.trace import ATTENTION, NORM, ModuleCall, Operation, Tap, Trace, Value
from attnscope.record import ValueMap

_LAYOUT = frozenset(
    [
        "view",
        "reshape",
        "transpose",
        "permute",
        "contiguous",
        "flatten",
        "unflatten",
        "clone",
        "to",
        "type",
        "type_as",
        "float",
        "half",
        "bfloat16",
        "double",
        "dropout",
        "squeeze",
        "unsqueeze",
        "view_as",
        "reshape_as",
        "swapaxes",
        "swapdims",
        "movedim",
        "moveaxis",
        "detach",
        "getitem",
        "narrow",
        "clamp",
        "clip",
        "nan_to_num",
        "identity",
        "split",
        "chunk",
    ]
)
"""Operations that move numbers about or change their type. (Clamping guards half precision against overflow.)"""

_EXPANDING = frozenset({"expand", "broadcast_to", "repeat_interleave"})
"""Operations that give one value to several heads."""

_CUTTING_OFF = frozenset({"clamp", "clip", "nan_to_num"})
"""Layout only as long as they change nothing, which no one input tells."""

_CASTS = frozenset({"to", "type", "type_as", "float", "half", "bfloat16", "double"})

_OF_VALUES = (_LAYOUT - _CUTTING_OFF) | _EXPANDING | {"unbind"}
"""What may stand between a linear layer and the values of its heads, if these are to be an affine map of its input."""

_UNCHANGED = frozenset(
    [
        "contiguous",
        "clone",
        "to",
        "type",
        "type_as",
        "float",
        "half",
        "bfloat16",
        "double",
        "dropout",
        "view",
        "reshape",
        "detach",
    ]
)
PRODUCTS = frozenset({"matmul", "bmm"})


class NotFollowed(Exception):
    """The way from an attention to the residual stream has a step that is not understood."""


@dataclass(frozen=True)
class _Answer:
    """What a linear map answered that does not simply store its numbers (adapters, quantised weights)."""

    sample: Tensor
    image: Tensor
    weight: Tensor
    bias: Tensor

    def still_holds(self, module: nn.Module) -> bool:
        """Whether the map is what it was: two random vectors tell, at next to no cost."""
        like = _stored_like(module)
        return like.dtype == self.sample.dtype and torch.equal(module(self.sample.to(like.device)), self.image)


@dataclass(eq=False)
class Projection:
    """A linear map of the model, with its rows as the vectors it multiplies: x W + b."""

    module: str
    width: int
    answer: _Answer | None = None
    """Of a map that had to be asked, when it was asked last."""

    def read(self, model: nn.Module) -> tuple[Tensor, Tensor | None]:
        """W and b as they are now; not copied where they are stored, and asked again only if they have changed."""
        module = model.get_submodule(self.module)
        if type(module) in _STORING:
            return _stored(module)
        if self.answer is None or not self.answer.still_holds(module):
            self.answer = _asked(module, self.width) or self.answer
        assert self.answer is not None
        return self.answer.weight, self.answer.bias


@dataclass(frozen=True)
class Step:
    """The way from the projection's output to the residual stream."""

    residual: "Summand"
    output: Tap
    scale: Tensor | None
    branch: NormSource | None
    post: NormSource | None
    extras: "tuple[Summand, ...]"
    constant: Tensor | None
    """A bias that is added apart from the projection's own."""


@dataclass(frozen=True)
class Tail:
    """The way from the block's output, through the feed-forward block, to the end of the layer."""

    output: Tap
    scale: Tensor | None
    """A constant factor on the sum of block and feed-forward."""
    post: NormSource | None
    """The normalisation that closes the layer."""
    total: Tap | None
    """What it reads."""
    is_parallel: bool
    """The feed-forward runs beside the attention, and is in the block's output already."""
    copies: frozenset[Tap] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Summand:
    """A tensor that is added on the way, with a constant factor of its own."""

    tap: Tap
    factor: Tensor | None


@dataclass(frozen=True)
class Site:
    """One attention in the forward pass."""

    module: str
    call: int
    source: Tap
    """The dispatched attention, or the watched product of softmax and values, by its running number in the call."""
    heads: int
    queries: int
    keys: int
    projection: Projection
    before: Tap
    """The projection's input."""
    projected: Tap
    """The projection's output."""
    crosses: bool
    """Whether the keys come from elsewhere than the stream that the queries belong to."""
    rescaled: bool
    """The attention multiplies its sums by a number for each query and head (a sink, applied afterwards)."""
    gated: bool
    inner: NormSource | None
    step: Step | None
    step_reason: str | None
    tail: Tail | None
    tail_reason: str | None
    value_map: ValueMap | None
    copies: frozenset[Tap] = field(default_factory=frozenset)
    """Taps whose tensor is changed in place later on."""
    stack: str = ""
    layer: int = 0

    @property
    def parent(self) -> str:
        """The layer list the attention belongs to."""
        return _parent(self.module)

    @property
    def is_dispatched(self) -> bool:
        return self.source.side == ATTENTION

    @property
    def is_cross(self) -> bool:
        return self.crosses or self.queries != self.keys

    @property
    def taps(self) -> tuple[Tap, ...]:
        if self.step is None:
            return (self.before, self.projected)
        summands = (self.step.residual, *self.step.extras)
        taps = (self.before, self.projected, self.step.output, *(summand.tap for summand in summands))
        if self.tail is None:
            return taps
        return (*taps, self.tail.output, *([] if self.tail.total is None else [self.tail.total]))

    def without_tail(self) -> "Site":
        """The same attention, caught no further than to the end of its block."""
        return replace(self, tail=None)


@dataclass(frozen=True)
class Refusal:
    """An attention that was seen but could not be followed."""

    module: str
    reason: str

    @property
    def parent(self) -> str:
        return _parent(self.module)


@dataclass(frozen=True)
class Structure:
    """Everything that was found out about a model."""

    sites: tuple[Site, ...]
    refusals: tuple[Refusal, ...]
    others: tuple[str, ...]
    """Layers without softmax attention (linear attention, state spaces), by module name and class."""

    @property
    def stacks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(site.stack for site in self.sites))

    def stack(self, name: str) -> tuple[Site, ...]:
        return tuple(site for site in self.sites if site.stack == name)


def discover(model: nn.Module, trace: Trace, is_encoder_decoder: bool) -> Structure:
    """The structure of `model` as seen in one traced forward pass."""
    follower = _Follower(model, trace)
    found: list[Site] = []
    refusals: list[Refusal] = []
    for attention in _attentions(trace):
        try:
            found.append(follower.site(attention))
        except NotFollowed as error:
            refusals.append(Refusal(attention.module, str(error)))
    sites = _labelled(found, is_encoder_decoder)
    return Structure(tuple(sites), tuple(refusals), tuple(_others(model, [*found, *refusals])))


@dataclass(frozen=True)
class _Attention:
    """A dispatched attention, or a softmax–value product that was recognised."""

    module: str
    call: int
    source: Tap
    query: Value
    value: Value
    output: Value
    weights: Tensor | None
    heads: int
    queries: int
    keys: int
    batch: int


def _attentions(trace: Trace) -> list[_Attention]:
    found = []
    for operation in trace.operations:
        if operation.name == ATTENTION:
            found.append(_dispatched(operation))
        elif operation.name == "softmax":
            product = _product_of(operation.output)
            if product is not None:
                found.append(_watched(operation.output, product))
    return found


def _dispatched(operation: Operation) -> _Attention:
    query, key = operation.inputs[0], operation.inputs[1]
    batch, heads, queries, _ = query.tensor.shape
    keys = key.tensor.shape[-2]
    return _Attention(
        operation.module,
        operation.call,
        _place(operation),
        query,
        operation.inputs[2],
        operation.output,
        operation.outputs[1].tensor if len(operation.outputs) > 1 else None,
        heads,
        queries,
        keys,
        batch,
    )


def _place(operation: Operation) -> Tap:
    return Tap(operation.module, operation.call, operation.name, (operation.ordinal,))


def _product_of(weights: Value) -> Operation | None:
    """The product of a softmax's output with the values, if that is what it is used for."""
    while True:
        for operation in weights.consumers:
            if operation.name in PRODUCTS and operation.inputs[0] is weights and len(operation.inputs) == 2:
                return operation
        onward = [operation for operation in weights.consumers if operation.name in _LAYOUT | {"masked_fill", "where"}]
        if len(onward) != 1 or len(onward[0].outputs) != 1:
            return None
        weights = onward[0].output


def _watched(softmax: Value, product: Operation) -> _Attention:
    *lead, queries, keys = softmax.tensor.shape
    maps = softmax.tensor.numel() // (queries * keys)
    batch = maps // lead[1] if len(lead) > 1 else 1  # an axis beside batch and heads is one of windows
    return _Attention(
        product.module,
        product.call,
        _place(product),
        softmax,
        product.inputs[1],
        product.output,
        None,
        maps // batch,
        queries,
        keys,
        batch,
    )


class _Follower:
    """Follows values through one trace."""

    def __init__(self, model: nn.Module, trace: Trace) -> None:
        self._model = model
        self._static = {id(tensor) for tensor in [*model.parameters(), *model.buffers()]}
        self._by_input: dict[int, list[ModuleCall]] = defaultdict(list)
        for call in trace.calls:
            if len(call.inputs) == 1 and len(call.outputs) == 1:
                self._by_input[id(call.inputs[0])].append(call)
        self._made_by = {
            id(call.outputs[0]): call
            for call in reversed(trace.calls)
            if len(call.inputs) == 1 and len(call.outputs) == 1 and call.inputs[0] is not call.outputs[0]
        }
        self._norms: dict[str, NormSource] = {}
        self._operations = trace.operations
        self._places = {id(operation): place for place, operation in enumerate(trace.operations)}
        self._attended = {id(attention.output) for attention in _attentions(trace)}

    def site(self, attention: _Attention) -> Site:
        if attention.batch != 1:
            raise NotFollowed(f"attention runs over {attention.batch} windows of the input, not over the whole input")
        value, gated, inner, call, projection = self._to_projection(attention)
        before, projected = self._tap(value), self._tap(call.outputs[0])
        copies = {tap for found in (value, call.outputs[0]) if found.overwritten for tap in found.taps[:1]}
        step, reason, crosses = None, None, attention.queries != attention.keys
        tail, tail_reason = None, None
        try:
            step, walk = self._to_residual(call.outputs[0], attention)
            copies |= walk.copies
            crosses = id(walk.stream) not in _ancestors(attention.value)
            tail = self._to_end(walk)
            copies |= tail.copies
        except NotFollowed as error:
            reason, tail_reason = (str(error), None) if step is None else (None, str(error))
        return Site(
            module=attention.module,
            call=attention.call,
            source=attention.source,
            heads=attention.heads,
            queries=attention.queries,
            keys=attention.keys,
            projection=projection,
            before=before,
            projected=projected,
            crosses=crosses,
            rescaled=_is_rescaled(attention),
            gated=gated,
            inner=inner,
            step=step,
            step_reason=reason,
            tail=tail,
            tail_reason=tail_reason or reason,
            value_map=self._value_map(attention),
            copies=frozenset(copies),
        )

    def _to_projection(self, attention: _Attention) -> tuple[Value, bool, NormSource | None, ModuleCall, Projection]:
        """Head space: from the attention's output to the linear map that mixes the heads."""
        value, gated, inner = attention.output, False, None
        while True:
            for call in reversed(self._by_input[id(value)]):
                width = value.tensor.shape[-1]
                if _linear(self._model.get_submodule(call.module), width) is not None:
                    return value, gated, inner, call, Projection(call.module, width)
            operation = _only(value, "the attention's output")
            if operation.name in _LAYOUT:
                pass
            elif operation.name == "mul" and inner is None:
                other = _other(operation, value)
                if other is None or self._is_static(other):
                    raise NotFollowed(f"a constant factor stands before the output projection in {operation.module}")
                gated = True
            elif operation.name == NORM and inner is None and not gated:
                inner = self._norm(operation)
            else:
                raise NotFollowed(f"no output projection: `{operation.name}` in {operation.module or 'the model'}")
            value = operation.output

    def _to_residual(self, start: Value, attention: _Attention) -> "tuple[Step, _Walk]":
        """Model space: from the projection's output to the residual stream, or to the norm that closes the block."""
        walk = _Walk(start, _ancestors(attention.query), _container(attention.module))
        while not walk.is_done():
            operation = _only(walk.value, "the projected attention output")
            if operation.name in _LAYOUT:
                _check_order(walk.value, operation)
            elif operation.name == "add":
                self._add(walk, operation)
            elif operation.name in {"mul", "truediv", "div"}:
                self._multiply(walk, operation)
            elif operation.name == NORM:
                self._normalise(walk, operation)
            else:
                where = operation.module or "the model"
                raise NotFollowed(f"`{operation.name}` in {where} stands between attention and residual stream")
            if not walk.closed:
                walk.value = operation.output
        if walk.residual is None:
            raise NotFollowed("the attention output is never added to the stream its query came from")
        output = self._tap_onward(walk)
        extras = tuple(walk.extras)
        return Step(walk.residual, output, walk.scale, walk.branch, walk.post, extras, walk.constant), walk

    def _to_end(self, walk: "_Walk") -> Tail:
        """From the block's output to the end of the layer: the sum with what the feed-forward makes of it."""
        containers = _containers(walk.container)
        found, container = next(
            ((found, name) for name in containers if (found := self._feed_forward_sum(walk, name))),
            (None, walk.container),
        )
        if found is None:
            if not walk.extras:
                raise NotFollowed("no feed-forward block follows the attention in its layer")
            output = self._tap_onward(walk)
            return Tail(output, None, None, None, is_parallel=True)
        onward = replace(walk, value=found.output, copies=set())
        scale = total = post = None
        while len(follow := [operation for operation in onward.value.consumers if _makes_something(operation)]) == 1:
            operation = follow[0]
            if not _belongs(operation, container):
                break
            if operation.name in {"mul", "div", "truediv"}:
                factor = self._factor(operation, onward.value)
                scale = factor if scale is None else scale * factor
            elif operation.name == NORM:
                total, post = self._tap(onward.value), self._norm(operation)
            elif operation.name not in _UNCHANGED:
                break
            onward.value = operation.output
            if post is not None:
                break
        output = self._tap_onward(onward)
        return Tail(output, scale, post, total, is_parallel=False, copies=frozenset(onward.copies))

    def _feed_forward_sum(self, walk: "_Walk", container: str) -> Operation | None:
        """The last addition, within the layer, of the stream to something made of it since the block's output."""
        stream, made, attended = {id(walk.value)}, set[int](), set[int]()
        found: Operation | None = None
        producer = walk.value.producer
        for operation in self._operations[0 if producer is None else self._places[id(producer)] + 1 :]:
            given = {id(value) for value in operation.inputs}
            if not given & (stream | made):
                continue
            # What else is outside may be shared by layers, such as an activation: its name is that of the first one's.
            if given & stream and not _belongs(operation, container):
                break  # the stream has left the layer
            outputs = {id(value) for value in operation.outputs}
            if operation.name == "add" and given & stream and given & made:
                if given & attended and found is None:
                    raise NotFollowed("another attention stands between this one and the feed-forward block")
                if given & attended:
                    break  # a layer whose module serves again as the next one
                found, stream = operation, outputs
            elif given & stream and _is_same(operation, walk.value):
                stream |= outputs
            else:
                made |= outputs
                if outputs & self._attended or given & attended:
                    attended |= outputs
        return found

    def _add(self, walk: "_Walk", operation: Operation) -> None:
        other = _other(operation, walk.value)
        if other is None:
            raise NotFollowed(f"a number is added to the attention output in {operation.module}")
        if float(operation.keywords.get("alpha", 1)) != 1:
            raise NotFollowed(f"a weighted addition in {operation.module}")
        if self._is_static(other):
            row = other.tensor.detach().float().reshape(-1, other.tensor.shape[-1])[0]
            walk.constant = row if walk.constant is None else walk.constant + row
            return
        if other.tensor.shape[-2:] != walk.value.tensor.shape[-2:]:
            raise NotFollowed(f"tensors of different shapes are added in {operation.module}")
        if id(other) in walk.ancestors and walk.residual is None:
            walk.residual, walk.stream = self._summand(walk, other), other
        else:
            walk.extras.append(self._summand(walk, other))

    def _summand(self, walk: "_Walk", value: Value) -> Summand:
        """What is added, caught where it can be: itself, or before a constant factor or a change of layout."""
        if value.taps or value.producer is None or value.producer.name != "mul":
            return Summand(self._tap_back(walk, value), None)
        for found in value.producer.inputs:
            if found.tensor.shape == value.tensor.shape and not self._is_static(found):
                return Summand(self._tap_back(walk, found), self._factor(value.producer, found))
        return Summand(self._tap_back(walk, value), None)

    def _multiply(self, walk: "_Walk", operation: Operation) -> None:
        factor = self._factor(operation, walk.value)
        if walk.residual is not None or walk.constant is not None:
            raise NotFollowed(f"a factor after something was added in {operation.module}")
        if walk.branch is not None:
            walk.branch = _rescaled(walk.branch, factor)
        else:
            walk.scale = factor if walk.scale is None else walk.scale * factor

    def _normalise(self, walk: "_Walk", operation: Operation) -> None:
        if walk.residual is None and walk.branch is None and walk.constant is None and not walk.extras:
            walk.branch = self._norm(operation)
        elif walk.residual is not None and _belongs(operation, walk.container):
            walk.post = self._norm(operation)
            walk.value = operation.output
            walk.closed = True
        elif walk.residual is not None:
            walk.closed = True
        else:
            raise NotFollowed(f"a second normalisation before the residual in {operation.module}")

    def _value_map(self, attention: _Attention) -> ValueMap | None:
        """The linear layer the values come from, if only layout changes lie between."""
        path: list[Operation] = []
        value = attention.value
        while (source := self._linear_source(value)) is None:
            if value.producer is None or value.producer.name not in _OF_VALUES:
                return None
            path.append(value.producer)
            value = value.producer.inputs[0]
        if not any(tap.module == attention.module for tap in source.inputs[0].taps):
            return None
        module = self._model.get_submodule(source.module)
        columns = _columns(path, value, attention)
        if columns is None:
            return None
        return ValueMap(module.parameters, lambda: _value_rows(module, source, columns))

    def _linear_source(self, value: Value) -> ModuleCall | None:
        """The call of a linear layer that made a value."""
        call = self._made_by.get(id(value))
        if call is None:
            return None
        width = call.inputs[0].tensor.shape[-1]
        return None if _linear(self._model.get_submodule(call.module), width) is None else call

    def _norm(self, operation: Operation) -> NormSource:
        name = self._name_of(operation.keywords["module"])
        if name not in self._norms:
            try:
                self._norms[name] = understand(operation.keywords["module"], operation.output.tensor.shape[-1])
            except NotANorm as error:
                raise NotFollowed(f"{name}: {error}") from error
        return self._norms[name]

    def _name_of(self, module: nn.Module) -> str:
        return next(name for name, candidate in self._model.named_modules() if candidate is module)

    def _is_static(self, value: Value) -> bool:
        """Whether a value is made of parameters alone."""
        pending, seen = [value], {id(value)}
        while pending:
            found = pending.pop()
            if id(found.tensor) in self._static:
                continue
            if found.producer is None or not found.producer.inputs:
                return False
            given = found.producer.inputs[:1] if found.producer.name == "expand_as" else found.producer.inputs
            fresh = [one for one in given if id(one) not in seen]
            seen |= {id(one) for one in fresh}
            pending += fresh
        return True

    def _factor(self, operation: Operation, value: Value) -> Tensor:
        """The constant a value is multiplied with (a number, or one number for each model dimension)."""
        other = _other(operation, value)
        if other is None:
            number = next((a for a in operation.arguments if isinstance(a, int | float)), None)
            if number is None:
                raise NotFollowed(f"`{operation.name}` in {operation.module} has no readable factor")
            factor = torch.tensor([float(number)])
        elif self._is_static(other) and other.tensor.numel() in {1, value.tensor.shape[-1]}:
            factor = other.tensor.detach().float().reshape(-1)
        else:
            raise NotFollowed(f"a gate that depends on the input stands behind the projection in {operation.module}")
        if operation.name == "mul":
            return factor
        if operation.arguments and operation.arguments[0] is not value.tensor:
            raise NotFollowed(f"something is divided by the attention output in {operation.module}")
        return 1 / factor

    def _tap(self, value: Value) -> Tap:
        if not value.taps:
            raise NotFollowed("a tensor on the way is neither input nor output of any module")
        return value.taps[0]

    def _tap_back(self, walk: "_Walk", value: Value) -> Tap:
        """The tap of a value, or of the same numbers before a change of type or layout."""
        while not value.taps:
            producer = value.producer
            if producer is None or producer.name not in _UNCHANGED or len(producer.inputs) != 1:
                where = "the input" if producer is None else f"`{producer.name}` in {producer.module or 'the model'}"
                raise NotFollowed(f"a summand from {where} is neither input nor output of any module")
            value = producer.inputs[0]
        return walk.kept(value)

    def _tap_onward(self, walk: "_Walk") -> Tap:
        """The tap of the walk's end, or of the same numbers after a change of type or layout."""
        value = walk.value
        while not value.taps:
            onward = [operation for operation in value.consumers if operation.name in _UNCHANGED]
            if not onward:
                raise NotFollowed("the sum of attention and residual is neither input nor output of any module")
            value = onward[0].output
        return walk.kept(value)


@dataclass
class _Walk:
    """How far the way through model space has been followed."""

    value: Value
    ancestors: set[int]
    container: str
    residual: Summand | None = None
    stream: Value | None = None
    """The residual itself."""
    scale: Tensor | None = None
    branch: NormSource | None = None
    post: NormSource | None = None
    constant: Tensor | None = None
    extras: list[Summand] = field(default_factory=list)
    copies: set[Tap] = field(default_factory=set)
    closed: bool = False

    def is_done(self) -> bool:
        """With the residual in it, the stream is reached where it can be caught or goes several ways."""
        if self.closed or self.residual is None:
            return self.closed
        follow = [operation for operation in self.value.consumers if _makes_something(operation)]
        if len(follow) == 1 and follow[0].name == NORM:
            return False
        return bool(self.value.taps) or len(follow) != 1

    def kept(self, value: Value) -> Tap:
        """The first tap of a value, marked for copying if the tensor is changed in place later."""
        if value.overwritten:
            self.copies.add(value.taps[0])
        return value.taps[0]


def _check_order(value: Value, operation: Operation) -> None:
    """A change of layout must leave the numbers in their order: rows stay the queries they were."""
    before, after = value.tensor.flatten(), operation.output.tensor.flatten()
    if before.shape != after.shape or not torch.equal(before, after.to(before.dtype)):
        where = operation.module or "the model"
        raise NotFollowed(f"`{operation.name}` in {where} re-orders or cuts the tokens (windows or patches)")


def _is_rescaled(attention: _Attention) -> bool:
    """Whether a dispatched attention's output is its weighted sum of values, or that times a factor for each row."""
    if attention.weights is None:
        return False
    value, output = attention.value.tensor.float(), attention.output.tensor.float()
    if value.ndim != 4 or output.ndim != 4 or value.shape[1] == 0 or attention.heads % value.shape[1]:
        raise NotFollowed("its values have no axes (batch, head, key, value)")
    mixed = attention.weights.float() @ value.repeat_interleave(attention.heads // value.shape[1], 1)
    mixed = mixed.transpose(1, 2)
    if mixed.shape != output.shape:
        raise NotFollowed("its output is not of the shape of a weighted sum of its values")
    tolerance = 1e-4 if attention.output.tensor.dtype in {torch.float32, torch.float64} else 5e-2
    size = float(output.abs().max())
    if torch.allclose(mixed, output, rtol=tolerance, atol=tolerance * size):
        return False
    factor = (mixed * output).sum(-1, keepdim=True) / mixed.square().sum(-1, keepdim=True).clamp_min(1e-30)
    if torch.allclose(factor * mixed, output, rtol=tolerance, atol=tolerance * size):
        return True
    raise NotFollowed("its output is not the sum of its values by its weights")


def _columns(path: list[Operation], start: Value, attention: _Attention) -> Tensor | None:
    """Which output of the linear layer each value number is: the layout changes, replayed on column numbers."""
    numbers = torch.arange(start.tensor.shape[-1], device=start.tensor.device).expand(start.tensor.shape)
    for operation in reversed(path):
        replaced = [numbers if argument is start.tensor else argument for argument in operation.arguments]
        made = numbers if operation.name in _CASTS else operation.function(*replaced, **operation.keywords)
        which = next(i for i, value in enumerate(operation.outputs) if _leads(value, path, attention.value))
        start, numbers = operation.outputs[which], made[which] if isinstance(made, tuple | list) else made
    numbers = numbers.reshape(-1, attention.keys, numbers.shape[-1])
    if not torch.equal(numbers, numbers[:, :1].expand_as(numbers)):
        return None
    return numbers[:, 0].repeat_interleave(attention.heads // numbers.shape[0], 0).flatten()


def _leads(value: Value, path: list[Operation], end: Value) -> bool:
    return value is end or any(operation.inputs[0] is value for operation in path)


def _value_rows(module: nn.Module, source: ModuleCall, columns: Tensor) -> tuple[Tensor, Tensor | None]:
    found = _linear(module, source.inputs[0].tensor.shape[-1])
    assert found is not None
    weight, bias = found
    return weight[:, columns], None if bias is None else bias[columns]


def _makes_something(operation: Operation) -> bool:
    """Reading a slice or a shape does not count as a use of its own."""
    return operation.name not in {"isinf", "isnan", "any", "all", "dim", "size"}


def _only(value: Value, what: str) -> Operation:
    follow = [operation for operation in value.consumers if _makes_something(operation)]
    if len(follow) != 1:
        names = ", ".join(sorted({f"`{operation.name}`" for operation in follow})) or "nothing"
        raise NotFollowed(f"{what} is used by {names}, so its way cannot be told")
    return follow[0]


def _other(operation: Operation, value: Value) -> Value | None:
    others = [found for found in operation.inputs if found is not value]
    return others[0] if len(others) == 1 else None


def _rescaled(norm: NormSource, factor: Tensor) -> NormSource:
    return replace(norm, factor=factor if norm.factor is None else norm.factor * factor)


def _ancestors(value: Value) -> set[int]:
    """Identities of all values that `value` was made from."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        found = pending.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if found.producer is not None:
            pending.extend(found.producer.inputs)
    return seen


_STORING = frozenset({nn.Linear, Conv1D})


def _stored(module: Any) -> tuple[Tensor, Tensor | None]:
    weight, bias = module.weight.detach(), module.bias
    weight = weight if isinstance(module, Conv1D) else weight.T
    return weight, None if bias is None else bias.detach()


def _linear(module: nn.Module, width: int) -> tuple[Tensor, Tensor | None] | None:
    """W and b of the linear map a module applies; None if it is none (dropout, a norm, something with more steps)."""
    if type(module) in _STORING:
        return _stored(module)
    if not any(True for _ in module.parameters()) and not any(True for _ in module.buffers()):
        return None
    answer = _asked(module, width)
    return None if answer is None else (answer.weight, answer.bias)


def _stored_like(module: nn.Module) -> Tensor:
    """A tensor of the type and on the device of a module's numbers."""
    found = (p for p in [*module.parameters(), *module.buffers()] if p.is_floating_point())
    return next(found, torch.empty(0))


def _asked(module: nn.Module, width: int) -> _Answer | None:
    """Ask a module that is not a plain linear layer (adapters, quantised weights): f(e_k) − f(0) are its rows."""
    like = _stored_like(module)
    dtype, device = like.dtype, like.device
    generator = torch.Generator().manual_seed(0)
    sample = torch.randn(1, 2, width, generator=generator).to(device, dtype)
    with torch.no_grad():
        try:
            bias = module(torch.zeros(1, 1, width, device=device, dtype=dtype))
            image = module(sample)
            if not isinstance(bias, Tensor) or bias.shape[:-1] != (1, 1):
                return None
            rows = module(torch.eye(width, device=device, dtype=dtype)[None]) - bias
        except (RuntimeError, ValueError, TypeError, IndexError):
            return None
    linear = sample.double() @ rows[0].double() + bias[0].double()
    tolerance = {torch.float32: 1e-4, torch.float64: 1e-8}.get(dtype, 5e-2)
    if not torch.allclose(image.double(), linear, rtol=tolerance, atol=tolerance * float(image.abs().max())):
        return None
    return _Answer(sample, image, rows[0], bias[0, 0])


def _numbers(module: str) -> list[int]:
    return [position for position, part in enumerate(module.split(".")) if part.isdigit()]


def _parent(module: str) -> str:
    template = ".".join("*" if part.isdigit() else part for part in module.split("."))
    return template.rpartition("*")[0] or template


def _container(module: str) -> str:
    """The layer a module belongs to: its path up to the last number.

    A module that is itself a member of a list has its layer, or what stands for it, around that list.
    """
    parts, numbers = module.split("."), _numbers(module)
    above = [number for number in numbers if number < len(parts) - 1]
    if above:
        return ".".join(parts[: above[-1] + 1])
    return ".".join(parts[:-2]) if numbers else ""


def _containers(innermost: str) -> Iterator[str]:
    """The containers around a module, from the inside out, as far as they are numbered members of a list."""
    parts = innermost.split(".")
    yield innermost
    for size in range(len(parts) - 1, 0, -1):
        if parts[size - 1].isdigit():
            yield ".".join(parts[:size])


def _is_same(operation: Operation, value: Value) -> bool:
    """Whether an operation hands on the same numbers, token by token."""
    tensor = operation.output.tensor
    return (
        operation.name in _UNCHANGED | {"getitem"}
        and tensor.numel() == value.tensor.numel()
        and tensor.shape[-1] == value.tensor.shape[-1]
        and (operation.name != "getitem" or torch.equal(tensor.reshape(-1), value.tensor.reshape(-1)))
    )


def _belongs(operation: Operation, container: str) -> bool:
    return operation.module == container or operation.module.startswith(container + ".") or not container


def _labelled(sites: Sequence[Site], is_encoder_decoder: bool) -> list[Site]:
    """Give each site its stack and its layer number, counted from 1 as the papers do."""
    groups: dict[tuple[str, bool, int | str], list[int]] = defaultdict(list)
    for index, site in enumerate(sites):
        groups[site.parent, site.crosses, site.source.path[0]].append(index)
    labelled = list(sites)
    taken: set[str] = set()
    for (parent, crosses, _), members in groups.items():
        layers = _layer_numbers([sites[index] for index in members])
        name = _stack_name(parent, crosses, is_encoder_decoder, alone=len(groups) == 1)
        name = next(n for n in _candidates(name, parent) if n not in taken)
        taken.add(name)
        for index, layer in zip(members, layers, strict=True):
            labelled[index] = replace(sites[index], stack=name, layer=layer)
    return labelled


def _candidates(name: str, parent: str) -> Iterator[str]:
    """A stack's name, and what it is called if another one has that name already."""
    path = parent.rstrip(".*")
    yield name
    yield f"{name} {path}"
    yield from (f"{name} {path} {number}" for number in count(2))


def _stack_name(parent: str, crosses: bool, is_encoder_decoder: bool, alone: bool) -> str:
    if is_encoder_decoder:
        if crosses:
            return "cross"
        return "decoder" if any("decoder" in part for part in parent.split(".")) else "encoder"
    if alone:
        return "self"
    return "cross" if crosses else parent.rstrip(".*").removesuffix(".") or "self"


def _layer_numbers(sites: Sequence[Site]) -> list[int]:
    """The number in the module's path where it tells the layers apart; else the order of the calls."""
    paths = [site.module.split(".") for site in sites]
    for position in _numbers(sites[0].module):
        numbers = [int(path[position]) + 1 for path in paths]
        if len(set(numbers)) == len(sites):
            return numbers
    return list(range(1, len(sites) + 1))


def _others(model: nn.Module, seen: Iterable[Site | Refusal]) -> list[str]:
    """Members of the layer lists in which attention was seen that have none themselves."""
    modules = [site.module for site in seen]
    lists = {
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and any(_within(path, name) for path in modules) and len(module) > 1
    }
    others = []
    for name in sorted(lists):
        if any(_within(name, outer) for outer in lists if outer != name):
            continue
        for index, layer in enumerate(model.get_submodule(name).children()):
            if not any(_within(path, f"{name}.{index}") or path == f"{name}.{index}" for path in modules):
                mixers = [type(m).__name__ for m in layer.children() if any(True for _ in m.parameters())]
                others.append(f"{name}.{index} ({', '.join(mixers) or type(layer).__name__})")
    return others


def _within(path: str, container: str) -> bool:
    return path.startswith(container + ".")
