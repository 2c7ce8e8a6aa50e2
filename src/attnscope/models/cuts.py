"""Quantised weights that let no gradient through, noticed while a pass runs: what lies behind them would count as 0."""

import contextlib
from collections.abc import Generator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnscope.errors import UnsupportedModel
from attnscope.models.trace import tensors_in


@contextlib.contextmanager
def refusing_cuts(model: PreTrainedModel, name: str) -> Generator[None]:
    """Raise where a module with quantised weights takes a state that carries gradients and gives one that does not."""
    quantised = [(path, module) for path, module in model.named_modules() if _is_quantised(module)]
    hooks = [module.register_forward_hook(partial(_check, name, path)) for path, module in quantised]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _is_quantised(module: nn.Module) -> bool:
    """Whether a module's own weight is kept as whole numbers."""
    held = {**module._parameters, **module._buffers}
    return any("weight" in name and tensor is not None and not _is_real(tensor) for name, tensor in held.items())


def _is_real(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _check(name: str, path: str, _module: nn.Module, given: Any, output: Any) -> None:
    if torch.is_grad_enabled() and _carries(given) and not _carries(output):
        raise UnsupportedModel(
            name,
            f"the quantised weights of {path} let no gradient through, so what lies behind them can't be attributed to "
            "tokens; load the model with unquantised weights (dtype=), or carry its parts forward: decomposed()",
        )


def _carries(values: Any) -> bool:
    return any(tensor.requires_grad for _, tensor in tensors_in(values))
