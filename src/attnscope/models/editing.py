"""Tensors of a running model, handed to functions that may change them in place."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from attnscope.models.trace import Tap, look_up

Edit = Callable[[Tensor], None]


@contextlib.contextmanager
def editing(model: nn.Module, edits: Mapping[Tap, Sequence[Edit]]) -> Generator[None]:
    """Call each tap's functions, in their order, with the tensor that passes by there."""
    places: dict[str, dict[tuple[int, str], list[Tap]]] = defaultdict(lambda: defaultdict(list))
    for tap in edits:
        places[tap.module][tap.call, tap.side].append(tap)
    calls: Counter[str] = Counter()

    def pass_by(name: str, call: int, side: str, thing: Any) -> None:
        for tap in places[name].get((call, side), ()):
            for edit in edits[tap]:
                edit(look_up(thing, tap.path))

    def hooks(name: str) -> tuple[Callable[..., None], Callable[..., None]]:
        running: list[int] = []

        def enter(_module: nn.Module, args: Any, keywords: dict[str, Any]) -> None:
            running.append(calls[name])
            calls[name] += 1
            pass_by(name, running[-1], "in", (args, keywords))

        def leave(_module: nn.Module, _args: Any, _keywords: dict[str, Any], result: Any) -> None:
            pass_by(name, running.pop(), "out", result)

        return enter, leave

    handles = []
    try:
        for name in places:
            module = model.get_submodule(name)
            enter, leave = hooks(name)
            handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
            handles.append(module.register_forward_hook(leave, with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()
