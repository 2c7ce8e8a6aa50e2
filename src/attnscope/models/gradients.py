"""Attribution by gradients of the network as it is: no exact decomposition, but what is usually compared with."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnscope.models.attribution import Attribution, Explainer, Target, catching, multiplied, without_gradients
from attnscope.models.dispatch import call, eagerly, unpadded
from attnscope.models.editing import editing
from attnscope.models.rerun import by_token, copied
from attnscope.models.trace import Tap

_AT_ONCE = 2048
"""Tokens in one pass over several copies of a text."""


def gradient_x_input(
    model: PreTrainedModel, inputs: dict[str, Tensor], taps: Sequence[Tap], target: Target
) -> list[Attribution]:
    """Gradient × state: what the number would lose if the network were the straight line it is near this state."""
    found = multiplied(model, inputs, taps, target, eagerly(model))
    return [Attribution(one.contribution, 0.0, one.value) for one in found]


def integrated_gradients(steps: int) -> Explainer:
    """State × the mean gradient on the straight way from zero to the state (Sundararajan et al. 2017).

    What the contributions add up to is the number less what the network puts out for states of zero, which is
    returned as the bias; how nearly they do depends on the number of steps (Gauss-Legendre).
    """
    return partial(_integrated, steps=steps)


def _integrated(
    model: PreTrainedModel, inputs: dict[str, Tensor], taps: Sequence[Tap], target: Target, *, steps: int
) -> list[Attribution]:
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    ways = [((node + 1) / 2, weight / 2) for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True)]
    ways.append((0.0, 0.0))  # the baseline itself: no part of the integral
    with torch.enable_grad(), without_gradients(model), eagerly(model):
        with catching(model, taps, []) as caught:
            output = call(model, inputs)
            values = [value.float() for value in target(output)]
        states = [state.detach().float() for state in caught]
        fixed = [_functional(value, output) for value in values]
        size = max(1, _AT_ONCE // sum(state.shape[-2] for state in states))
        sums = [[torch.zeros_like(state) for state in states] for _ in values]
        baselines: list[float] = []
        for start in range(0, len(ways), size):
            baselines = _pass(model, inputs, taps, fixed, ways[start : start + size], sums)
    found: list[Attribution] = []
    for value, baseline, gradients in zip(values, baselines, sums, strict=True):
        shares = [(gradient * state).sum(-1).reshape(-1) for gradient, state in zip(gradients, states, strict=True)]
        found.append(Attribution(torch.cat(shares), baseline, value.item()))
    return found


Functional = dict[str, Tensor]
"""A number that is picked from a model's output is a sum of some of its entries: each entry's factor."""


def _functional(value: Tensor, output: Any) -> Functional:
    """Which entries of the output a number is made of, so that it stays the same number wherever it is asked for."""
    fields = {name: field for name, field in output.items() if isinstance(field, Tensor) and field.requires_grad}
    found = torch.autograd.grad(value, list(fields.values()), allow_unused=True, retain_graph=True)
    return {name: factor for name, factor in zip(fields, found, strict=True) if factor is not None and factor.any()}


def _pass(
    model: PreTrainedModel,
    inputs: dict[str, Tensor],
    taps: Sequence[Tap],
    fixed: Sequence[Functional],
    ways: Sequence[tuple[float, float]],
    sums: Sequence[Sequence[Tensor]],
) -> list[float]:
    """Add the gradients at some points of the way; returns the numbers at the last of them."""
    copies = {name: copied(tensor, len(ways)) for name, tensor in inputs.items()}

    def scale(state: Tensor) -> None:
        factors = torch.tensor([factor for factor, _ in ways], dtype=state.dtype, device=state.device)
        with torch.no_grad():
            by_token(state.detach(), len(ways)).mul_(factors[:, None, None])

    with unpadded(model), editing(model, {tap: [scale] for tap in taps}), catching(model, taps, []) as caught:
        output = call(model, copies)
    last: list[float] = []
    for functional, total in zip(fixed, sums, strict=True):
        entries = [(output[name] * factor).flatten(1).sum(1) for name, factor in functional.items()]
        values = torch.stack(entries).sum(0)
        gradients = torch.autograd.grad(values.sum(), caught, allow_unused=True, retain_graph=True)
        last.append(values[-1].item())
        for gradient, part in zip(gradients, total, strict=True):
            if gradient is not None:
                weights = torch.tensor([weight for _, weight in ways], device=gradient.device)
                by_copy = by_token(gradient.float(), len(ways))
                part += torch.einsum("c,ctm->tm", weights, by_copy).reshape(part.shape)
    return last


def sensitivity(
    model: PreTrainedModel, inputs: dict[str, Tensor], taps: Sequence[Tap], target: Target
) -> list[Attribution]:
    """How much the numbers depend on each state at all: the length of the gradient. Zero where it is not read."""
    with torch.enable_grad(), without_gradients(model):
        with eagerly(model), catching(model, taps, []) as caught:
            values = [value.float() for value in target(call(model, inputs))]
        found: list[Attribution] = []
        for value in values:
            gradients = torch.autograd.grad(value, caught, retain_graph=True)
            lengths = [gradient.float().norm(dim=-1).reshape(-1) for gradient in gradients]
            found.append(Attribution(torch.cat(lengths), 0.0, value.item()))
    return found
