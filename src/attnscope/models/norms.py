"""Normalisation modules, understood by what they do and not by what they are called.

There are dozens of classes (`LlamaRMSNorm`, `Gemma3RMSNorm` that stores its gain minus one, `CohereLayerNorm`
without a bias, ...). Instead of a table of classes each module is asked: a few chosen inputs give away its gain,
bias, epsilon and whether it subtracts the mean, and random inputs then prove the answer.
"""

import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from attnscope.record import Norm

_LARGE = 1e4
"""An input of this scale makes any epsilon invisible."""


class NotANorm(ValueError):
    """The module is no layer or RMS normalisation with a gain and a bias."""


@dataclass(frozen=True)
class NormSource:
    """A normalisation module that has been understood: how to read its numbers as they are now.

    Weights change after a model has been wrapped (training, merging), so they are read again in every pass.
    """

    module: nn.Module
    norm: Norm
    """As it was when it was understood."""
    weight_offset: float | None
    """The gain is the stored weight plus this; None where it is none that is stored."""
    bias_stored: bool
    factor: Tensor | None = None
    """A constant multiplier that follows."""

    def read(self, device: torch.device, dtype: torch.dtype) -> Norm:
        """The normalisation with the present parameters."""
        weight, bias = self.norm.weight.to(device, dtype), self.norm.bias.to(device, dtype)
        if self.weight_offset is not None:
            weight = _parameter(self.module, "weight").to(device, dtype) + self.weight_offset
        if self.bias_stored:
            bias = _parameter(self.module, "bias").to(device, dtype)
        if self.factor is not None:
            factor = self.factor.to(device, dtype)
            weight, bias = weight * factor, bias * factor
        return replace(self.norm, weight=weight, bias=bias)


def understand(module: nn.Module, width: int) -> NormSource:
    """The normalisation `module` applies to vectors of `width` numbers; raises `NotANorm` if it is something else."""
    probe = _frozen_copy(module)
    generator = torch.Generator().manual_seed(0)
    samples = torch.randn(3, width, generator=generator, dtype=torch.float64) + 0.7
    norm = _measured(probe, samples)
    offset = next((offset for offset in (0.0, 1.0) if _is_stored(module, "weight", norm.weight - offset)), None)
    if offset is not None:
        norm = replace(norm, weight=_parameter(module, "weight").double().cpu() + offset)
    norm = replace(norm, eps=_stated_epsilon(module, norm.eps))
    _prove(probe, norm, samples)
    return NormSource(module, norm, offset, _is_stored(module, "bias", norm.bias))


def _measured(probe: nn.Module, samples: Tensor) -> Norm:
    """Gain, bias, epsilon and kind from the module's answers."""
    width = samples.shape[-1]
    bias = _ask(probe, torch.zeros(width, dtype=torch.float64))
    if torch.allclose(_ask(probe, 2 * samples) - bias, 2 * (_ask(probe, samples) - bias), rtol=1e-5, atol=1e-6):
        gain = _ask(probe, torch.ones(width, dtype=torch.float64)) - bias
        return Norm(gain, bias, 0.0, centred=False, fixed=True)
    for centred in (True, False):
        shape = _standardised(samples, centred)
        gains = (_ask(probe, _LARGE * samples) - bias) / shape
        gain = gains.median(0).values
        if torch.allclose(gains, gain.expand_as(gains), rtol=2e-4, atol=1e-6):
            return Norm(gain, bias, _epsilon(probe, shape[0], gain, bias), centred)
    raise NotANorm(f"{type(probe).__name__} is not a layer or RMS normalisation")


def _parameter(module: nn.Module, name: str) -> Tensor:
    return getattr(module, name).detach()


def _is_stored(module: nn.Module, name: str, measured: Tensor) -> bool:
    """Whether a module stores what was measured: then it can be read without rounding, and again later."""
    stored = getattr(module, name, None)
    if not isinstance(stored, Tensor) or stored.shape != measured.shape:
        return False
    return torch.allclose(stored.detach().double().cpu(), measured, rtol=1e-4, atol=1e-5)


def _frozen_copy(module: nn.Module) -> nn.Module:
    probe = copy.deepcopy(module).to(device="cpu", dtype=torch.float64).eval()
    for part in probe.modules():
        part._forward_hooks.clear()
        part._forward_pre_hooks.clear()
    return probe


def _ask(probe: nn.Module, vectors: Tensor) -> Tensor:
    with torch.no_grad():
        try:
            answer = probe(vectors)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
            raise NotANorm(f"{type(probe).__name__} does not take plain vectors: {error}") from error
    if not isinstance(answer, Tensor) or answer.shape != vectors.shape:
        raise NotANorm(f"{type(probe).__name__} does not give back vectors of the same size")
    return answer.double()


def _standardised(vectors: Tensor, centred: bool) -> Tensor:
    if centred:
        vectors = vectors - vectors.mean(-1, keepdim=True)
    return vectors / vectors.square().mean(-1, keepdim=True).sqrt()


def _epsilon(probe: nn.Module, shape: Tensor, gain: Tensor, bias: Tensor) -> float:
    """Shrink the input until epsilon holds back about half of it: a / sqrt(a² + eps) is then easy to solve."""
    where = gain.abs().argmax()
    for exponent in range(-2, -13, -1):
        scale = 10.0**exponent
        ratio = float(((_ask(probe, scale * shape) - bias) / (gain * shape))[where])
        if 0 < ratio < 0.9:
            return scale**2 * (1 / ratio**2 - 1)
    return 0.0


def _stated_epsilon(module: nn.Module, measured: float) -> float:
    """The epsilon a module states, if it is the one that was measured."""
    for name in ("eps", "variance_epsilon", "layer_norm_eps", "epsilon", "norm_eps"):
        stated = getattr(module, name, None)
        if isinstance(stated, float) and abs(stated - measured) <= 1e-3 * stated + 1e-13:
            return stated
    return measured


def _prove(probe: nn.Module, norm: Norm, samples: Tensor) -> None:
    for scale in (1e-2, 1.0, 30.0):
        vectors = scale * samples.flip(0)
        expected = norm.linear(vectors) / norm.spread(vectors) + norm.bias
        if not torch.allclose(_ask(probe, vectors), expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max())):
            raise NotANorm(f"{type(probe).__name__} does more than a layer or RMS normalisation")
