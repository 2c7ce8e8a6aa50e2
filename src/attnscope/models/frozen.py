"""A forward pass through the network with everything but the flow of values frozen, so that derivatives decompose.

With attention weights, the statistics of norms and the slopes of activations held at what they are in this pass, the
network is an affine map of the states before layer 1. Backward, gradient × state summed over a token's numbers is then
exactly what the token contributes to a logit, and gradient × bias what the biases do; no tensor of token pairs is
built. Forward, the derivative along one token's state is the part of every later state that comes from this token.

What is frozen, and how:

    attention    its queries and keys, so that only the values carry a gradient
    norm         the standard deviation it divides by; centring and gain stay
    activation   g(s) = s · (g(s) / s), the slope of the straight line from the origin (METHODS 3)
    gated unit   g(a) · b = M · b + a · (b (g(a) − M) / a) with M the mean of g on the way from 0 to a: the integrated
                 gradients of the product; (b + 1) in place of b where a model shifts that branch
    gates        sigmoids, softplus and softmaxes, of routers and output gates
"""

import contextlib
import itertools
import threading
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary as _Notes
from transformers import PreTrainedModel, activations

from attnscope.models.dispatch import listening
from attnscope.models.norms import NormSource, NotANorm, understand
from attnscope.models.trace import base_name, is_norm

_ACTIVATIONS = frozenset(
    {"gelu", "silu", "relu", "tanh", "mish", "hardswish", "leaky_relu", "elu", "relu6", "quick_gelu", "clamp", "clip"}
)
_GATES = frozenset({"softmax", "sigmoid", "softplus", "erf"})
"""`erf` because GELU, written out, is x times a gate made of it."""
_NO_LINES = nn.Softmax | nn.Sigmoid | nn.Softplus | nn.GLU | nn.MultiheadAttention
"""What is beside the activations in torch, but gates, or is of several numbers."""
_NODES, _WEIGHTS = (torch.from_numpy(values) for values in np.polynomial.legendre.leggauss(24))
_SMALL = 1e-6
"""Below this size, g(s) / s is taken as the slope of g at 0."""

Function = Callable[[Tensor], Tensor]


class Frozen(TorchFunctionMode):
    """While active, activations and gates of the running model are straight lines; see the module's text."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self._model = model
        self._inside = 0
        self._thread = 0
        """The one that the pass runs in."""
        self._given: list[Tensor] = []
        """What the activations that are running were given."""
        # What is known of a tensor is given up with it, so that never more than a layer's numbers are held.
        self._activated = _Notes()
        """Activations' outputs, with their input and function, for gated units."""
        self._sigmoids = _Notes()
        """Sigmoids, with what they were made of: an activation may be written as x · σ(kx)."""
        self._scaled = _Notes()
        self._shifted = _Notes()
        """Products, and sums, of a tensor and a number."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        keywords = kwargs or {}
        name = base_name(func)
        if self._inside or not args or not isinstance(args[0], Tensor):
            return func(*args, **keywords)
        if name in _GATES:
            gate = func(*args, **keywords).detach()
            if name == "sigmoid" and carries(args[0]):
                self._sigmoids[gate] = args[0]
            return gate
        if name in _ACTIVATIONS and args[0].is_floating_point():
            return self._line(args[0], lambda x: func(x, *args[1:], **keywords))
        if name == "mul" and len(args) == 2 and isinstance(args[1], Tensor):
            return self._product(func, args[0], args[1])
        result = func(*args, **keywords)
        if name in {"mul", "add"} and len(args) == 2 and isinstance(args[1], int | float) and carries(args[0]):
            known = self._scaled if name == "mul" else self._shifted
            known[result] = (args[0], float(args[1]))
        return result

    @contextlib.contextmanager
    def running(self) -> Generator[None]:
        """The model frozen; it is as it was afterwards."""
        # Hooks on all modules, because some models make an activation anew in each pass.
        enter: Any = self._enter  # which torch lets answer with other arguments, but annotates as if it did not
        handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(self._leave)]
        self._thread = threading.get_ident()
        norms = [module for module in self._model.modules() if is_norm(module)]
        handles += [norm.register_forward_hook(self._norm_hook(), with_kwargs=True) for norm in norms]
        try:
            with listening(self._model, self.attend), self:
                yield
        finally:
            for handle in handles:
                handle.remove()

    def attend(
        self,
        eager: Callable[..., Any],
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *args: Any,
        **keywords: Any,
    ) -> Any:
        """Attention of which only the values carry a gradient."""
        return eager(module, query.detach(), key.detach(), value, *args, **keywords)

    def _enter(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The module's own code sees plain numbers: some has derivatives of its own, that know no other direction."""
        if not self._is_activation(module):
            return None
        self._inside += 1
        self._given.append(args[0])
        return (args[0].detach(), *args[1:])

    def _leave(self, module: nn.Module, _args: Any, result: Any) -> Any:
        if not self._is_activation(module):
            return None
        self._inside -= 1
        given = self._given.pop()
        if self._inside:
            return result

        def function(x: Tensor) -> Tensor:
            return type(module).forward(module, x)

        return self._line(given, function)

    def _is_activation(self, module: nn.Module) -> bool:
        """Whether a module that is called is an activation of this pass, not of one in another thread."""
        return threading.get_ident() == self._thread and _is_elementwise(module)

    def _line(self, x: Tensor, function: Function) -> Tensor:
        """g(x) as a straight line through (0, g(0)) and (x, g(x))."""
        held = x.detach()
        with self._plain(), torch.no_grad():
            origin = function(torch.zeros((), dtype=x.dtype, device=x.device))
            slope = _divided(function(held) - origin, held, lambda: _slope_at_zero(function, held))
        line = x * slope + origin
        self._activated[line] = (x, function)
        return line

    def _product(self, func: Callable[..., Tensor], left: Tensor, right: Tensor) -> Tensor:
        for one, other in ((left, right), (right, left)):
            known = self._activated.get(one)
            if known is not None and carries(other) and other.shape == one.shape:
                _, shift = self._shifted.get(other) or (other, 0.0)
                return _gated(known[0], other, one, known[1], self._plain, shift)
            factor = self._own_gate(one, other)
            if factor is not None:
                return self._line(one, lambda x, factor=factor: x * torch.sigmoid(factor * x))
        return func(left, right)

    def _own_gate(self, x: Tensor, gate: Tensor) -> float | None:
        """k, where a gate is σ(kx)."""
        source = self._sigmoids.get(gate)
        if source is None or source is x:
            return None if source is None else 1.0
        scaled, factor = self._scaled.get(source) or (None, 0.0)
        return factor if scaled is x else None

    @contextlib.contextmanager
    def _plain(self) -> Generator[None]:
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    def _norm_hook(self) -> Callable[..., Tensor]:
        known: list[NormSource] = []

        def hook(module: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any], result: Tensor) -> Tensor:
            if self._inside or not args or not carries(args[0]):
                return result
            if any(isinstance(given, Tensor) for given in (*args[1:], *keywords.values())):
                return result  # a gate goes in beside: this is more than a norm
            if not known:
                try:
                    known.append(understand(module, args[0].shape[-1]))
                except NotANorm:
                    return result  # queries' and keys' norms carry no gradient; any other shows in completeness
            with self._plain():
                return _frozen_norm(known[0], args[0])

        return hook


def carries(tensor: Tensor) -> bool:
    """Whether a derivative flows through a tensor, in either direction."""
    return tensor.requires_grad or forward_ad.unpack_dual(tensor).tangent is not None


def _is_elementwise(module: nn.Module) -> bool:
    home = type(module).__module__
    elementwise = home in {activations.__name__, nn.modules.activation.__name__} or "Gelu" in type(module).__name__
    return elementwise and not isinstance(module, _NO_LINES)


def _frozen_norm(source: NormSource, x: Tensor) -> Tensor:
    """A norm with its statistic held; its bias stays the parameter, so that its share can be asked for."""
    norm = source.read(x.device, torch.float32 if x.dtype in {torch.float16, torch.bfloat16} else x.dtype)
    spread = norm.spread(x.detach().to(norm.weight.dtype))
    bias: Any = source.module.bias if source.bias_stored else norm.bias
    return (norm.linear(x.to(norm.weight.dtype)) / spread + bias).to(x.dtype)


def _divided(rise: Tensor, x: Tensor, limit: Callable[[], Tensor]) -> Tensor:
    """Rise / x, and its limit where x is next to nothing."""
    small = x.abs() < _SMALL
    slope = rise / torch.where(small, torch.ones_like(x), x)
    return torch.where(small, limit(), slope) if bool(small.any()) else slope


def _slope_at_zero(function: Function, x: Tensor) -> Tensor:
    step = torch.full((), 1e-3, dtype=x.dtype, device=x.device)
    return (function(step) - function(-step)) / (2 * step)


def _gated(a: Tensor, b: Tensor, activated: Tensor, function: Function, plain: Any, shift: float) -> Tensor:
    """g(a) · b as a sum of a part of b and a part of a. A constant `shift` in b is there all the way from 0."""
    held, other = a.detach(), b.detach()
    with plain(), torch.no_grad():
        mean = torch.zeros_like(held)
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            mean += (weight / 2) * function(held * ((node + 1) / 2))
        rise = other * activated.detach() - (other - shift) * mean
        slope = _divided(rise, held, lambda: _slope_at_zero(function, held) * (other + shift) / 2)
    with plain():
        return mean * (b - shift) + a * slope


def biases_of(model: PreTrainedModel) -> dict[str, Tensor]:
    """The parameters and buffers that are added rather than multiplied: what `bias` means in a decomposition."""
    return {
        name: tensor
        for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers())
        if name.endswith("bias") and tensor.is_floating_point()
    }
