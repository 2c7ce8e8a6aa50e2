"""Relevance by the rules of AttnLRP, as gradient × state of a network with other derivatives.

Achtibat et al. 2024, AttnLRP: Attention-Aware Layer-Wise Relevance Propagation for Transformers (ICML). In terms of
derivatives:

    activation   the identity rule: g(s) = s · (g(s) / s), as in `frozen.py`
    product      of two factors that both carry relevance (query · key, weight · value, the two branches of a gated
                 unit): each gets half of it, so that nothing is counted twice
    softmax      its true derivative: what the weights depend on has a part in the decision
    norm         the standard deviation it divides by is held

Unlike the decomposition with weights held, this does not add up to the logit: softmax has no origin that a line could
go through. What is left over is reported, not hidden.
"""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from attnscope.models.attribution import Attribution, Target, multiplied
from attnscope.models.frozen import Frozen, carries
from attnscope.models.trace import Tap, base_name

_PRODUCTS = frozenset({"mul", "matmul", "bmm", "baddbmm", "einsum"})


class Relevance(Frozen):
    """While active, derivatives of the running model follow the rules above."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if not self._inside:
            name = base_name(func)
            if name == "softmax":
                return func(*args, **(kwargs or {}))
            if name in _PRODUCTS and len([arg for arg in _flat(args) if carries(arg)]) > 1:
                return func(*(_halved(arg) for arg in args), **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)

    def attend(self, eager: Callable[..., Any], module: nn.Module, *args: Any, **keywords: Any) -> Any:
        """Attention as it is: queries and keys carry relevance too."""
        return eager(module, *args, **keywords)


def attnlrp(
    model: PreTrainedModel, inputs: dict[str, Tensor], taps: Sequence[Tap], target: Target
) -> list[Attribution]:
    """The relevance of the states at some taps for each of the target's numbers."""
    return multiplied(model, inputs, taps, target, Relevance(model).running())


def _flat(args: Sequence[Any]) -> list[Tensor]:
    """The tensors among the arguments; `einsum` also takes a list of them."""
    listed = [item for arg in args for item in (arg if isinstance(arg, list | tuple) else [arg])]
    return [item for item in listed if isinstance(item, Tensor) and item.is_floating_point()]


def _halved(factor: Any) -> Any:
    """The same number, with half its derivative."""
    if isinstance(factor, list | tuple):
        return type(factor)(_halved(item) for item in factor)
    if not isinstance(factor, Tensor) or not carries(factor):
        return factor
    half = factor / 2
    return half + half.detach()
