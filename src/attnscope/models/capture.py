"""One forward pass of a model in which every attention layer is caught, handed on and forgotten.

Hooks stand only where the plan (`structure.py`) says. As soon as everything one layer needs has passed by, its
records are built and visited; then its tensors are dropped, so that one layer is in memory at a time. When the
last wanted layer is done the pass is stopped: a vocabulary projection nobody asked for is not computed.
"""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from attnscope.models.dispatch import call, listening
from attnscope.models.structure import PRODUCTS, Site, Step, Summand
from attnscope.models.structure import Tail as TailSite
from attnscope.models.trace import ATTENTION, Tap, base_name, look_up
from attnscope.record import Block, LayerRecord, Tail

Visitor = Callable[[int, LayerRecord], None]
"""Called with the number of the text in the batch and the record of one of its layers."""


class NotCaptured(Exception):
    """A layer's attention did not show its weights, or not in the shape its plan says."""


class VisitorFailed(Exception):
    """What a visitor raised (its cause), told apart from what the model raises."""


class _Finished(BaseException):
    """All wanted layers have been visited. (No `Exception`: nothing on the way may swallow it.)"""


@dataclass
class _Attended:
    """What an attention was given and gave back."""

    output: Tensor
    """(batch, query, head, value)"""
    value: Tensor
    """(batch, key head, key, value)"""
    read: Callable[[int, slice], Tensor]
    diagonal: Tensor | None = None
    """(batch, head, query), where the weights themselves were not kept."""


class Capture:
    """The hooks of one forward pass over a batch of texts, padded on the right to one length."""

    def __init__(
        self,
        model: PreTrainedModel,
        sites: Sequence[Site],
        visit: Visitor,
        *,
        lengths: Sequence[tuple[int, int]],
        rows: int | None = None,
        stop: bool = True,
    ) -> None:
        """`lengths` are the real (query, key) lengths of each text; `rows` the size of query blocks, if any."""
        self._model = model
        self._visit = visit
        self._lengths = lengths
        self._rows = rows
        self._stop = stop
        self._sites = {site.source: site for site in sites}
        self._missing = {site.source: {site.source, *site.taps} for site in sites}
        self._waiting: dict[Tap, list[Tap]] = defaultdict(list)
        self._places: dict[tuple[str, int, str], set[Tap]] = defaultdict(set)
        self._copies = frozenset().union(*(site.copies for site in sites))
        for site in sites:
            for tap in {site.source, *site.taps}:
                self._waiting[tap].append(site.source)
                self._places[tap.module, tap.call, tap.side].add(tap)
        self._projections: dict[Tap, tuple[Tensor, Tensor | None]] = {}
        self._caught: dict[Tap, Any] = {}
        self._calls: Counter[str] = Counter()
        self._stack: list[tuple[str, int]] = []
        self._ordinals: Counter[tuple[str, int, str]] = Counter()

    def forward(self, inputs: Mapping[str, Any]) -> Any:
        """Run the model; its output, or None where the pass was stopped after the last wanted layer."""
        with torch.no_grad():
            # Before there are hooks: some projections have to be asked, by running them.
            self._projections = {source: site.projection.read(self._model) for source, site in self._sites.items()}
        with torch.no_grad(), self._hooks(), listening(self._model, self._attend), self._products():
            try:
                return call(self._model, inputs)
            except _Finished:
                return None

    @property
    def missed(self) -> list[Site]:
        """Wanted layers that the pass did not go through."""
        return [self._sites[source] for source in self._missing]

    @contextlib.contextmanager
    def _hooks(self) -> Generator[None]:
        names = {tap.module for tap in self._waiting}
        names |= {
            inner
            for site in self._sites.values()
            if not site.is_dispatched
            for inner in _inside(self._model, site.module)
        }
        handles = []
        for name in names:
            module = self._model.get_submodule(name)
            handles.append(module.register_forward_pre_hook(self._entering(name), with_kwargs=True))
            handles.append(module.register_forward_hook(self._leaving(name), with_kwargs=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            self._caught.clear()

    def _entering(self, name: str) -> Callable[..., None]:
        def enter(_module: nn.Module, args: Any, keywords: dict[str, Any]) -> None:
            call = self._calls[name]
            self._calls[name] += 1
            self._stack.append((name, call))
            self._pass_by(name, call, "in", (args, keywords))

        return enter

    def _leaving(self, name: str) -> Callable[..., None]:
        def leave(_module: nn.Module, _args: Any, _keywords: dict[str, Any], result: Any) -> None:
            _, call = self._stack.pop()
            self._pass_by(name, call, "out", result)

        return leave

    def _pass_by(self, name: str, call: int, side: str, thing: Any) -> None:
        for tap in self._places.get((name, call, side), ()):
            tensor = look_up(thing, tap.path)
            self._catch(tap, tensor.clone() if tap in self._copies else tensor)

    def _catch(self, tap: Tap, thing: Any) -> None:
        waiting = self._waiting.pop(tap, None)
        if waiting is None:
            return
        self._caught[tap] = thing
        for source in waiting:
            self._missing[source].discard(tap)
            if not self._missing[source]:
                self._finish(self._sites[source])

    def _finish(self, site: Site) -> None:
        for text, (queries, keys) in enumerate(self._lengths):
            try:
                self._visit(text, self._record(site, text, queries, keys))
            except NotCaptured:
                raise
            except Exception as error:
                raise VisitorFailed from error
        del self._missing[site.source]
        needed = set().union(*self._missing_taps())
        for tap in [tap for tap in self._caught if tap not in needed]:
            del self._caught[tap]
        if self._stop and not self._missing:
            raise _Finished

    def _missing_taps(self) -> list[set[Tap]]:
        return [{source, *self._sites[source].taps} for source in self._missing]

    def _attend(
        self,
        eager: Callable[..., Any],
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *args: Any,
        **keywords: Any,
    ) -> Any:
        """Answer a dispatched attention, and note it if it belongs to a wanted layer."""
        place = self._count(ATTENTION)
        if place not in self._waiting:
            return eager(module, query, key, value, *args, **keywords)
        if self._rows is None or query.shape[-2] <= self._rows:
            output, weights = eager(module, query, key, value, *args, **keywords)
            if weights is None:
                raise NotCaptured(f"the attention of {place.module} does not give its weights")
            self._catch(place, _Attended(output, value, lambda text, rows: weights[text, :, rows]))
            return output, weights
        recompute = _RowReader(eager, module, query, key, value, args, keywords)
        blocks = [slice(start, start + self._rows) for start in range(0, query.shape[-2], self._rows)]
        outputs: list[Tensor] = []
        diagonals: list[Tensor] = []
        for rows in blocks:
            output, weights = recompute.attend(rows)
            if weights is None:
                raise NotCaptured(f"the attention of {place.module} does not give its weights")
            outputs.append(output)
            diagonals.append(weights.diagonal(rows.start, 2, 3).clone())
        output = torch.cat(outputs, 1)
        diagonal = torch.cat(diagonals, 2) if query.shape[-2] == key.shape[-2] else None
        self._catch(place, _Attended(output, value, lambda text, rows: recompute.attend(rows)[1][text], diagonal))
        return output, None

    def _count(self, name: str) -> Tap | None:
        if not self._stack:
            return None
        module, call = self._stack[-1]
        ordinal = self._ordinals[module, call, name]
        self._ordinals[module, call, name] += 1
        return Tap(module, call, name, (ordinal,))

    def _products(self) -> contextlib.AbstractContextManager[Any]:
        if all(site.is_dispatched for site in self._sites.values()):
            return contextlib.nullcontext()
        return _ProductWatch(self._multiplied)

    def _multiplied(self, name: str, args: Sequence[Any], result: Tensor) -> None:
        place = self._count(name)
        if place is None or place not in self._waiting:
            return
        site, batch = self._sites[place], len(self._lengths)
        weights, value = args[0], args[1]
        weights = weights.reshape(batch, -1, *weights.shape[-2:])
        value = value.reshape(batch, -1, *value.shape[-2:])
        output = result.reshape(batch, site.heads, *result.shape[-2:]).transpose(1, 2)
        self._catch(place, _Attended(output, value, lambda text, rows: weights[text, :, rows]))

    def _record(self, site: Site, text: int, queries: int, keys: int) -> LayerRecord:
        attended: _Attended = self._caught[site.source]

        def tensor(tap: Tap) -> Tensor:
            caught = self._caught[tap]
            return _plain(caught, len(self._lengths))[text, :queries].to(_working(caught))

        value = attended.value[text, :, :keys]
        if site.heads % value.shape[0]:
            raise NotCaptured(f"{site.heads} heads can't share {value.shape[0]} values in {site.module}")
        value = value.to(_working(value)).repeat_interleave(site.heads // value.shape[0], 0)
        dtype, device = value.dtype, value.device
        weight, bias = self._projections[site.source]
        weight, bias = weight.to(device, dtype), None if bias is None else bias.to(device, dtype)
        heads_out = attended.output[text, :queries].to(dtype)
        gate = row_scale = None
        if site.gated:
            before = tensor(site.before).reshape(heads_out.shape)
            gate = torch.nan_to_num(before / heads_out, nan=0.0, posinf=0.0, neginf=0.0).transpose(0, 1)
        if site.inner is not None:
            inner = site.inner.read(device, dtype)
            row_scale = 1 / inner.spread(heads_out.flatten(1))[:, 0]
            bias = inner.bias @ weight + (0 if bias is None else bias)
            weight = weight * inner.weight[:, None]
            weight = weight - weight.mean(0) if inner.centred else weight

        def read(rows: slice) -> Tensor:
            rows = slice(*rows.indices(queries))
            weights = attended.read(text, rows)[..., :keys].to(dtype)
            return weights * _row_factor(weights, value, heads_out[rows]) if site.rescaled else weights

        def diagonal() -> Tensor:
            assert attended.diagonal is not None
            return attended.diagonal[text, :, :queries].to(dtype)

        return LayerRecord(
            layer=site.layer,
            stack=site.stack,
            is_cross=site.is_cross,
            value=value,
            projection=weight.reshape(site.heads, -1, weight.shape[-1]),
            bias=bias,
            projected=tensor(site.projected),
            block=None if site.step is None else _block(site.step, tensor, device, dtype),
            tail=None if site.tail is None else _tail(site.tail, tensor, device, dtype),
            read_attention=read,
            read_diagonal=None if attended.diagonal is None or site.rescaled else diagonal,
            gate=gate,
            row_scale=row_scale,
            value_map=site.value_map,
        )


def _block(step: Step, tensor: Callable[[Tap], Tensor], device: torch.device, dtype: torch.dtype) -> Block:
    def summand(found: Summand) -> Tensor:
        return tensor(found.tap) if found.factor is None else tensor(found.tap) * found.factor.to(device, dtype)

    residual = summand(step.residual)
    extras = [summand(found) for found in step.extras]
    if step.constant is not None:
        extras.append(step.constant.to(device, dtype).expand_as(residual))
    return Block(
        residual=residual,
        output=tensor(step.output),
        scale=None if step.scale is None else step.scale.to(device, dtype),
        branch=None if step.branch is None else step.branch.read(device, dtype),
        post=None if step.post is None else step.post.read(device, dtype),
        extra=sum(extras[1:], extras[0]) if extras else None,
    )


def _tail(tail: TailSite, tensor: Callable[[Tap], Tensor], device: torch.device, dtype: torch.dtype) -> Tail:
    return Tail(
        output=tensor(tail.output),
        is_parallel=tail.is_parallel,
        scale=None if tail.scale is None else tail.scale.to(device, dtype),
        post=None if tail.post is None else tail.post.read(device, dtype),
        total=None if tail.total is None else tensor(tail.total),
    )


def _working(tensor: Tensor) -> torch.dtype:
    """Half-precision numbers are worked on in float32."""
    return tensor.dtype if tensor.dtype == torch.float64 else torch.float32


def _plain(tensor: Tensor, batch: int) -> Tensor:
    """(batch, token, model), whatever the module made of it: tokens first, or batch and tokens in one axis."""
    if tensor.ndim == 3 and tensor.shape[0] != batch and tensor.shape[1] == batch:
        return tensor.transpose(0, 1)
    return tensor.reshape(batch, -1, tensor.shape[-1])


def _row_factor(weights: Tensor, value: Tensor, output: Tensor) -> Tensor:
    """What an attention multiplies its weighted sums with, after having given its weights: (head, rows, 1)."""
    mixed, output = weights @ value, output.transpose(0, 1)
    return (mixed * output).sum(-1, keepdim=True) / mixed.square().sum(-1, keepdim=True).clamp_min(1e-30)


def _inside(model: nn.Module, name: str) -> Iterator[str]:
    for inner, _ in model.get_submodule(name).named_modules():
        yield f"{name}.{inner}" if inner else name


class _RowReader:
    """An attention that can be computed again for some of its query rows."""

    def __init__(
        self,
        eager: Callable[..., Any],
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> None:
        self._eager, self._module, self._query, self._key, self._value = eager, module, query, key, value
        self._args, self._keywords = args, keywords

    def attend(self, rows: slice) -> tuple[Tensor, Tensor]:
        """(output (batch, rows, head, value), weights (batch, head, rows, key))"""
        args = [self._rows_of(argument, rows) for argument in self._args]
        keywords = {name: self._rows_of(argument, rows) for name, argument in self._keywords.items()}
        return self._eager(self._module, self._query[..., rows, :], self._key, self._value, *args, **keywords)

    def _rows_of(self, argument: Any, rows: slice) -> Any:
        """Masks and position biases have a query axis before their key axis; other arguments have none."""
        has_rows = (
            isinstance(argument, Tensor)
            and argument.ndim >= 2
            and argument.shape[-2] == self._query.shape[-2]
            and argument.shape[-1] >= self._key.shape[-2]
        )
        return argument[..., rows, :] if has_rows else argument


class _ProductWatch(TorchFunctionMode):
    """Sees matrix products while a model runs that does not dispatch its attention."""

    def __init__(self, seen: Callable[[str, Sequence[Any], Tensor], None]) -> None:
        super().__init__()
        self._seen = seen

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = base_name(func)
        if name in PRODUCTS:
            self._seen(name, args, result)
        return result
