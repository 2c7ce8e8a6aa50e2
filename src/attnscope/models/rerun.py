"""Passes over copies of one text, in which what flows is changed on the way: for questions of the kind "what if"."""

import contextlib
import functools
import importlib
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import functional_call
from transformers import PreTrainedModel

from attnscope.models.dispatch import call_options, listening, plain_experts, unpadded
from attnscope.models.editing import editing
from attnscope.models.frozen import Frozen, biases_of
from attnscope.models.trace import Tap


@dataclass
class Passing:
    """A tensor of the running pass, (copy, token, model), with the derivative that flows through it."""

    tensor: Tensor

    @property
    def values(self) -> Tensor:
        return self.tensor.detach()

    @property
    def part(self) -> Tensor | None:
        """The derivative, as it is now; None where none has reached the tensor."""
        part = forward_ad.unpack_dual(self.tensor).tangent
        return None if part is None else part.clone()

    @property
    def flowing(self) -> Tensor:
        """The derivative, zero where none has reached the tensor."""
        part = self.part
        return torch.zeros_like(self.values) if part is None else part

    def replace(self, values: Tensor) -> None:
        """Go on with other numbers, through which nothing flows."""
        self.tensor.copy_(values)

    def carry(self, part: Tensor) -> None:
        """Go on with the same numbers, and with this derivative in place of any that was there."""
        values = self.values.clone()
        self.tensor.copy_(forward_ad.make_dual(values, part.to(values).expand_as(values).contiguous()))


Change = Callable[[Passing], None]


def rerun(
    model: PreTrainedModel,
    inputs: Mapping[str, Tensor],
    changes: Mapping[Tap, Sequence[Change]],
    *,
    copies: int = 1,
    frozen: bool = False,
    with_biases: bool = False,
) -> Any:
    """One pass over so many copies of a text; `changes` see, and may change, what passes by at their taps.

    frozen       what flows is the decomposition: see `frozen.py`. Else no derivative flows at all.
    with_biases  every bias parameter carries itself as derivative, so that what flows is what the biases do
    """

    def edit(change: Change) -> Callable[[Tensor], None]:
        return lambda tensor: change(Passing(by_token(tensor, copies)))

    edits = {tap: [edit(change) for change in found] for tap, found in changes.items()}
    repeated = {name: copied(tensor, copies) for name, tensor in inputs.items()}
    with torch.no_grad(), unpadded(model), _mode(model, frozen), editing(model, edits):
        if not with_biases:
            return model(**call_options(model, repeated))
        duals = {name: _own(bias.detach()) for name, bias in biases_of(model).items()}
        return functional_call(model, duals, (), call_options(model, repeated))


_level = threading.RLock()
"""Held while derivatives flow: torch has one level of them for the whole process, whatever thread asks."""


@contextlib.contextmanager
def flowing() -> Generator[None]:
    """Where the derivatives of `rerun` live."""
    with _level:
        _prepare()
        with forward_ad.dual_level():
            yield


@functools.cache
def _prepare() -> None:
    """What torch compiles when it is first asked for derivatives of this kind, with a warning about its own ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module("torch._decomp.decompositions_for_jvp")


def part_of(tensor: Tensor) -> Tensor:
    """The derivative that has reached an output; zero where none has."""
    part = forward_ad.unpack_dual(tensor).tangent
    return torch.zeros_like(tensor) if part is None else part


@contextlib.contextmanager
def _mode(model: PreTrainedModel, frozen: bool) -> Generator[None]:
    if frozen:
        with plain_experts(model), Frozen(model).running():
            yield
        return
    with listening(model, _attend):
        yield


def _attend(eager: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    return eager(*args, **keywords)


def _own(bias: Tensor) -> Tensor:
    return forward_ad.make_dual(bias.clone(), bias.clone())


def copied(tensor: Tensor, copies: int) -> Tensor:
    """Inputs with a batch axis, as often as there are copies; others as they are."""
    return tensor.repeat(copies, *[1] * (tensor.ndim - 1)) if tensor.ndim > 1 and tensor.shape[0] == 1 else tensor


def by_token(tensor: Tensor, copies: int) -> Tensor:
    """(copy, token, model) of a tensor of the model, sharing its memory."""
    if tensor.ndim == 3 and tensor.shape[0] != copies and tensor.shape[1] == copies:
        return tensor.transpose(0, 1)
    return tensor.view(copies, -1, tensor.shape[-1])
