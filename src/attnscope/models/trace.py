"""A record of one forward pass: which tensor was made from which, and where it can be caught again.

Architectures are not described by hand anywhere in this package. One small forward pass is watched: every
torch function that is called, every module that is entered and left, every attention that is dispatched. What
comes out is a graph in which the way from an attention's output to the residual stream can simply be followed
(`structure.py`), and for each tensor on that way the module input or output ("tap") at which a later, unwatched
pass will find it again.
"""

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


@dataclass(frozen=True, slots=True)
class Tap:
    """A place where a tensor passes by in every forward pass: the n-th call of a module, one input or output."""

    module: str
    call: int
    side: str
    """`in` or `out`."""
    path: tuple[int | str, ...]
    """How to find the tensor among the arguments (position or keyword) or in the returned value."""


@dataclass(eq=False, slots=True)
class Value:
    """One tensor of the pass (one version of it, where it is changed in place)."""

    tensor: Tensor
    producer: "Operation | None" = None
    consumers: "list[Operation]" = field(default_factory=list)
    taps: list[Tap] = field(default_factory=list)
    overwritten: bool = False
    """A later operation changed this tensor in place: a tap has to copy it."""


@dataclass(eq=False, slots=True)
class Operation:
    """One torch function, one normalisation module or one dispatched attention."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    module: str
    """The innermost module that was running."""
    call: int
    ordinal: int
    """Which of the operations of this name within this call of this module, counted from 0."""

    @property
    def output(self) -> Value:
        return self.outputs[0]


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of one module, with the tensors that went in and came out."""

    module: str
    call: int
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


@dataclass(eq=False)
class Trace:
    """The graph of one forward pass."""

    operations: list[Operation]
    calls: list[ModuleCall]

    def named(self, name: str) -> Iterator[Operation]:
        return (operation for operation in self.operations if operation.name == name)


NORM = "norm"
ATTENTION = "attention"


def is_norm(module: nn.Module) -> bool:
    """Whether a module is taken as one normalisation step; `norms.py` proves it is one before it is believed."""
    if "norm" not in type(module).__name__.lower():
        return False
    return not any(isinstance(child, nn.Linear | nn.Embedding) for child in module.modules())


def base_name(function: Callable[..., Any]) -> str:
    """`Tensor.__radd__`, `torch.add` and `Tensor.add_` are all `add`."""
    name = getattr(function, "__name__", "")
    if name.startswith("__") and name.endswith("__"):
        name = name.strip("_")
        if name[:1] in "ir" and name[1:] in {"add", "sub", "mul", "truediv", "matmul"}:
            name = name[1:]
        return name
    return name.rstrip("_")


def writes_in_place(function: Callable[..., Any]) -> bool:
    """Whether a torch function changes its first argument."""
    name = getattr(function, "__name__", "")
    if name.startswith("__") and name.endswith("__"):
        return name in {"__iadd__", "__isub__", "__imul__", "__itruediv__", "__setitem__"}
    return name.endswith("_")


def tensors_in(thing: Any) -> Iterator[tuple[tuple[int | str, ...], Tensor]]:
    """Every tensor in nested tuples, lists and mappings, with the path that leads to it."""
    if isinstance(thing, Tensor):
        yield (), thing
    elif isinstance(thing, dict):
        for key, item in thing.items():
            if isinstance(key, str):
                yield from (((key, *path), tensor) for path, tensor in tensors_in(item))
    elif isinstance(thing, tuple | list):
        for position, item in enumerate(thing):
            yield from (((position, *path), tensor) for path, tensor in tensors_in(item))


def look_up(thing: Any, path: Sequence[int | str]) -> Any:
    """What `tensors_in` found under a path."""
    for step in path:
        thing = thing[step]
    return thing


class Tracer(TorchFunctionMode):
    """Records the graph while it is active. Every tensor is kept alive, so that identities stay unique."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._model = model
        self._names = {module: name for name, module in model.named_modules()}
        self._norms = {module for module in self._names if is_norm(module)}
        self._values: dict[int, Value] = {}
        self._stack: list[tuple[str, int]] = [("", 0)]
        self._counts: dict[str, int] = {}
        self._ordinals: dict[tuple[str, int, str], int] = {}
        self._quiet = 0
        self.trace = Trace([], [])

    def __torch_function__(self, func, types, args=(), kwargs=None):
        keywords = kwargs or {}
        result = func(*args, **keywords)
        if not self._quiet:
            self._record(base_name(func), func, args, keywords, result, in_place=writes_in_place(func))
        return result

    @contextlib.contextmanager
    def watching(self) -> Generator["Tracer"]:
        handles = []
        for module in self._names:
            handles.append(module.register_forward_pre_hook(self._enter, with_kwargs=True))
            handles.append(module.register_forward_hook(self._leave, with_kwargs=True))
        try:
            with self:
                yield self
        finally:
            for handle in handles:
                handle.remove()

    def attend(self, function: Callable[..., Any], module: nn.Module, *args: Any, **keywords: Any) -> Any:
        """Run a dispatched attention as one operation."""
        with self._silence():
            result = function(module, *args, **keywords)
        self._record(ATTENTION, function, args, {"module": module, **keywords}, result)
        return result

    @contextlib.contextmanager
    def _silence(self) -> Generator[None]:
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    def _value(self, tensor: Tensor) -> Value:
        return self._values.setdefault(id(tensor), Value(tensor))

    def _record(
        self,
        name: str,
        function: Callable[..., Any],
        args: Any,
        keywords: dict[str, Any],
        result: Any,
        in_place: bool = False,
    ) -> None:
        made = [tensor for _, tensor in tensors_in(result)]
        if not made:
            if not (name == "setitem" and in_place):
                return
            made = [args[0]]
        inputs = tuple(self._value(tensor) for _, tensor in tensors_in((args, keywords)))
        if not in_place and any(tensor is value.tensor for tensor in made for value in inputs):
            return  # `contiguous`, `to`, ...: nothing had to be done, it is the same tensor
        if in_place and args and isinstance(args[0], Tensor):
            self._value(args[0]).overwritten = True
            self._values[id(args[0])] = Value(args[0])
        outputs = tuple(self._value(tensor) for tensor in made)
        module, call = self._stack[-1]
        ordinal = self._ordinals.get((module, call, name), 0)
        self._ordinals[module, call, name] = ordinal + 1
        operation = Operation(name, function, inputs, outputs, tuple(args), dict(keywords), module, call, ordinal)
        for value in inputs:
            value.consumers.append(operation)
        for value in outputs:
            value.producer = operation
        self.trace.operations.append(operation)

    def _enter(self, module: nn.Module, args: Any, keywords: dict[str, Any]) -> None:
        name = self._names[module]
        call = self._counts.get(name, 0)
        self._counts[name] = call + 1
        self._stack.append((name, call))
        if self._quiet == 0:
            self._tap(name, call, "in", (args, keywords))
        if module in self._norms:
            self._quiet += 1

    def _leave(self, module: nn.Module, args: Any, keywords: dict[str, Any], result: Any) -> None:
        name, call = self._stack.pop()
        if module in self._norms:
            self._quiet -= 1
            if self._quiet == 0:
                self._record(NORM, module, args, {"module": module, **keywords}, result)
        if self._quiet == 0:
            outputs = self._tap(name, call, "out", result)
            inputs = tuple(self._value(tensor) for _, tensor in tensors_in((args, keywords)))
            self.trace.calls.append(ModuleCall(name, call, inputs, outputs))

    def _tap(self, name: str, call: int, side: str, thing: Any) -> tuple[Value, ...]:
        values = []
        for path, tensor in tensors_in(thing):
            value = self._value(tensor)
            value.taps.append(Tap(name, call, side, path))
            values.append(value)
        return tuple(values)
