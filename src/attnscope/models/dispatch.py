"""The attention function that is registered with Transformers, and how a model is switched over to it.

Architectures that dispatch their attention hand module, query, key, value and mask to a function looked up by
name. Ours calls the architecture's own eager function, so soft-caps, sinks, relative biases and shared key heads
are right by construction, and lets whoever is listening see what went in and came out. Called with nobody
listening it is plain eager attention.
"""

import contextlib
import inspect
import sys
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from typing import Any

from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedConfig, PreTrainedModel
from transformers.masking_utils import eager_mask


class _Eager(str):
    """A name of its own for looking functions up, and "eager" for all who ask which implementation this is.

    Some models do more in their eager code than attention (a sparse selection of keys): what is observed must be that.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "eager" or str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


NAME = _Eager("attnscope")

Attend = Callable[..., Any]
Listener = Callable[..., Any]
"""Called as listener(eager, module, query, key, value, mask, **keywords); answers what the attention answers."""

_listener: ContextVar[Listener | None] = ContextVar("attention listener", default=None)


def _attend(module: nn.Module, *args: Any, **keywords: Any) -> Any:
    eager = eager_attention(module)
    listener = _listener.get()
    if listener is None:
        return eager(module, *args, **keywords)
    return listener(eager, module, *args, **keywords)


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, eager_mask)


def eager_attention(module: nn.Module) -> Attend:
    """The eager attention function that stands beside the class of `module`."""
    for kind in type(module).__mro__:
        forward = inspect.unwrap(kind.__dict__["forward"]) if "forward" in kind.__dict__ else None
        scopes = (getattr(forward, "__globals__", {}), vars(sys.modules.get(kind.__module__, object())))
        for scope in scopes:
            if "eager_attention_forward" in scope:
                return scope["eager_attention_forward"]
    raise LookupError(f"{type(module).__name__} dispatches its attention but has no eager_attention_forward beside it")


def call(model: PreTrainedModel, inputs: Mapping[str, Any]) -> Any:
    """One forward pass."""
    return model(**call_options(model, inputs))


def call_options(model: PreTrainedModel, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What a pass is called with. No cache: keys and values of earlier calls are no part of any question here."""
    caches = "use_cache" in inspect.signature(model.forward).parameters
    return ({"use_cache": False} if caches else {}) | dict(inputs)


@contextlib.contextmanager
def eagerly(model: PreTrainedModel) -> Generator[None]:
    """The model with its own eager attention, unobserved."""
    with _implementation(model, "eager"):
        yield


@contextlib.contextmanager
def listening(model: PreTrainedModel, listener: Listener) -> Generator[None]:
    """Send the model's attention to `listener`; the model is as it was afterwards.

    Where a class can't be switched it has no dispatch, and its own eager code is all it can run.
    """
    token = _listener.set(listener)
    try:
        with _implementation(model, NAME):
            yield
    finally:
        _listener.reset(token)


@contextlib.contextmanager
def plain_experts(model: PreTrainedModel) -> Generator[None]:
    """Mixtures of experts in plain products: the grouped ones have no derivatives in forward direction."""
    with setting(model, "_experts_implementation_internal", "eager"):
        yield


@contextlib.contextmanager
def unpadded(model: PreTrainedModel) -> Generator[None]:
    """Let texts of one length into a pass together.

    Classifiers that decide at the last token look for it by the padding token, and take one text alone where their
    configuration names none. -1 is the id of no token, so the last one is found to be last.
    """
    nameless = [config for config in configs_of(model) if getattr(config, "pad_token_id", 0) is None]
    try:
        for config in nameless:
            config.pad_token_id = -1
        yield
    finally:
        for config in nameless:
            config.pad_token_id = None


def configs_of(model: PreTrainedModel) -> list[PreTrainedConfig]:
    """All configurations that modules look things up in: a layer that was copied by itself has one of its own."""
    found = [getattr(module, "config", None) for module in model.modules()]
    return list({id(config): config for config in found if isinstance(config, PreTrainedConfig)}.values())


@contextlib.contextmanager
def _implementation(model: PreTrainedModel, name: str) -> Generator[None]:
    with setting(model, "_attn_implementation_internal", name):
        yield


@contextlib.contextmanager
def setting(model: PreTrainedModel, field: str, value: object) -> Generator[None]:
    """One field of all the model's configurations that have it set otherwise for a while."""
    configs = [config for config in configs_of(model) if hasattr(config, field)]
    before = [(config, getattr(config, field)) for config in configs]
    try:
        for config in configs:
            setattr(config, field, value)
        yield
    finally:
        for config, found in before:
            setattr(config, field, found)
