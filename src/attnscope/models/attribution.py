"""What each token contributes to numbers a model puts out, by one backward pass each through the frozen network."""

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnscope.models.dispatch import call
from attnscope.models.editing import editing
from attnscope.models.frozen import Frozen, biases_of
from attnscope.models.trace import Tap

Target = Callable[[Any], Sequence[Tensor]]
"""Picks the numbers to explain from a model's output."""
Explainer = Callable[[PreTrainedModel, dict[str, Tensor], Sequence[Tap], Target], "list[Attribution]"]
"""Says what the states at some taps have to do with the numbers."""


@dataclass(frozen=True)
class Attribution:
    """Σ contribution + bias = value, up to the completeness error."""

    contribution: Tensor
    """(source,) in the units of the value."""
    bias: float
    value: float

    @property
    def completeness_error(self) -> float:
        """What is left over, relative to the largest of value, bias and the sum of contributions."""
        total = float(self.contribution.sum())
        return self._left_over / max(abs(self.value), abs(self.bias), abs(total), 1e-12)

    @property
    def rounding_error(self) -> float:
        """What is left over, relative to all that was added up: large parts may cancel to a small value."""
        sizes = float(self.contribution.abs().sum())
        return self._left_over / max(abs(self.value), abs(self.bias), sizes, 1e-12)

    @property
    def _left_over(self) -> float:
        return abs(float(self.contribution.sum()) + self.bias - self.value)


def decompose(
    model: PreTrainedModel, inputs: dict[str, Tensor], taps: Sequence[Tap], target: Target
) -> list[Attribution]:
    """The contributions of the states at some taps (where a stack of layers begins) to each of the target's numbers.

    The sources are the tokens of all taps, one after the other.
    """
    return multiplied(model, inputs, taps, target, Frozen(model).running())


def multiplied(
    model: PreTrainedModel,
    inputs: dict[str, Tensor],
    taps: Sequence[Tap],
    target: Target,
    running: contextlib.AbstractContextManager[None],
) -> list[Attribution]:
    """Gradient × state, and gradient × bias, of the network as it is while `running`."""
    biases = list(biases_of(model).values())
    with torch.enable_grad(), without_gradients(model):
        with running, catching(model, taps, biases) as caught:
            values = [value.float() for value in target(call(model, inputs))]
        return [_explained(value, caught, biases, keep=value is not values[-1]) for value in values]


def _explained(value: Tensor, caught: Sequence[Tensor], biases: Sequence[Tensor], keep: bool) -> Attribution:
    gradients = torch.autograd.grad(value, [*caught, *biases], allow_unused=True, retain_graph=keep)
    shares = [_share(gradient, state) for gradient, state in zip(gradients, caught, strict=False)]
    contribution = torch.cat([share.sum(-1).reshape(-1) for share in shares])
    pairs = zip(gradients[len(caught) :], biases, strict=True)
    bias = sum((float(_share(gradient, bias).sum()) for gradient, bias in pairs if gradient is not None), start=0.0)
    return Attribution(contribution, bias, value.item())


def _share(gradient: Tensor | None, state: Tensor) -> Tensor:
    """Gradient × state; a state that the value does not depend on has no part in it."""
    state = state.detach().float()
    return torch.zeros_like(state) if gradient is None else gradient.float() * state


@contextlib.contextmanager
def without_gradients(model: PreTrainedModel) -> Generator[None]:
    """No parameter asks for a gradient; afterwards those do that did before."""
    tensors = [*model.parameters(), *(buffer for buffer in model.buffers() if buffer.is_floating_point())]
    before = [(tensor, tensor.requires_grad) for tensor in tensors]
    try:
        for tensor in tensors:
            tensor.requires_grad_(False)
        yield
    finally:
        for tensor, required in before:
            tensor.requires_grad_(required)


@contextlib.contextmanager
def catching(model: PreTrainedModel, taps: Sequence[Tap], biases: Sequence[Tensor]) -> Generator[list[Tensor]]:
    """The tensors at some taps. From there on they and the biases carry gradients: what lies before is part of them."""
    caught: list[Tensor] = []

    def catch(state: Tensor) -> None:
        if state.requires_grad:  # the second of two stacks: its sources start here, whatever made them
            state.detach_()
        caught.append(state.requires_grad_())
        for bias in biases:
            bias.requires_grad_()

    with editing(model, {tap: [catch] for tap in taps}):
        yield caught
