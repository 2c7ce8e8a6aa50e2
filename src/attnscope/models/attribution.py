"""What each token contributes to one number a model puts out, by one backward pass through the frozen network."""

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnscope.models.dispatch import call
from attnscope.models.frozen import Frozen, bias_parameters
from attnscope.models.structure import Site
from attnscope.models.trace import Tap, look_up

Target = Callable[[Any], Tensor]
"""Picks the number to explain from a model's output."""


@dataclass(frozen=True)
class Attribution:
    """Σ contribution + bias = value, up to the completeness error."""

    contribution: Tensor
    """(source,) in the units of the value."""
    bias: float
    value: float
    completeness_error: float
    """What is left over, relative to the largest of value, bias and the sum of contributions."""


def decompose(model: PreTrainedModel, inputs: dict[str, Tensor], site: Site, target: Target) -> Attribution:
    """The contributions of the states that enter the layer of `site` (the first) to a target."""
    assert site.step is not None
    biases = bias_parameters(model)
    frozen = Frozen(model)
    with torch.enable_grad(), _without_gradients(model):
        with frozen.running(), _catching(model, site.step.residual.tap, biases) as caught:
            value = target(call(model, inputs)).float()
        gradients = torch.autograd.grad(value, [*caught, *biases], allow_unused=True)
    state = caught[0]
    contribution = (gradients[0].float() * state.detach().float()).sum(-1).reshape(-1)
    pairs = zip(gradients[1:], biases, strict=True)
    bias = sum((float((g.float() * b.detach().float()).sum()) for g, b in pairs if g is not None), start=0.0)
    total, actual = float(contribution.sum()), value.item()
    scale = max(abs(actual), abs(bias), abs(total), 1e-12)
    return Attribution(contribution, bias, actual, abs(total + bias - actual) / scale)


@contextlib.contextmanager
def _without_gradients(model: PreTrainedModel) -> Generator[None]:
    """No parameter asks for a gradient; afterwards those do that did before."""
    before = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        model.requires_grad_(False)
        yield
    finally:
        for parameter, required in before:
            parameter.requires_grad_(required)


@contextlib.contextmanager
def _catching(model: PreTrainedModel, tap: Tap, biases: Sequence[nn.Parameter]) -> Generator[list[Tensor]]:
    """The tensor at a tap. From there on it and the biases carry gradients: what lies before is part of it."""
    caught: list[Tensor] = []
    calls = [0]

    def catch(thing: Any) -> None:
        if calls[0] == tap.call:
            caught.append(look_up(thing, tap.path).requires_grad_())
            for bias in biases:
                bias.requires_grad_()
        calls[0] += 1

    def enter(_module: nn.Module, args: Any, keywords: dict[str, Any]) -> None:
        catch((args, keywords))

    def leave(_module: nn.Module, _args: Any, _keywords: dict[str, Any], result: Any) -> None:
        catch(result)

    module = model.get_submodule(tap.module)
    if tap.side == "in":
        handle = module.register_forward_pre_hook(enter, with_kwargs=True)
    else:
        handle = module.register_forward_hook(leave, with_kwargs=True)
    try:
        yield caught
    finally:
        handle.remove()
