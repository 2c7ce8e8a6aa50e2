"""A model as its numbers are, while a pass runs: what users switch on beside them is put aside, and put back."""

import contextlib
from collections.abc import Generator

import torch
from torch import nn
from transformers import PreTrainedModel

from attnscope.models.dispatch import setting


@contextlib.contextmanager
def plainly(model: PreTrainedModel) -> Generator[None]:
    """No dropout, no rounding by autocast, no compiled code (no hook sees inside), no cache, no weights collected."""
    with contextlib.ExitStack() as aside:
        aside.enter_context(_evaluating(model))
        aside.enter_context(setting(model, "_output_attentions", False))
        aside.enter_context(setting(model, "use_cache", False))
        for kind in {"cpu", model.device.type}:
            aside.enter_context(torch.autocast(kind, enabled=False))
        if any(_is_compiled(module) for module in model.modules()):
            aside.enter_context(torch.compiler.set_stance("force_eager"))
        yield


@contextlib.contextmanager
def _evaluating(model: nn.Module) -> Generator[None]:
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _is_compiled(module: nn.Module) -> bool:
    return module._compiled_call_impl is not None or type(module).__name__ == "OptimizedModule"
