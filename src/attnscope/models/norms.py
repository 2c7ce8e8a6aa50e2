"""Normalisation modules, understood by what they do and not by what they are called.

There are dozens of classes (`LlamaRMSNorm`, `Gemma3RMSNorm` that stores its gain minus one, `CohereLayerNorm`
without a bias, ...). Instead of a table of classes each module is asked: a few chosen inputs give away its gain,
bias, epsilon and whether it subtracts the mean, and random inputs then prove the answer.
"""

import copy
from dataclasses import replace

import torch
from torch import Tensor, nn

from attnscope.record import Norm

_LARGE = 1e4
"""An input of this scale makes any epsilon invisible."""


class NotANorm(ValueError):
    """The module is no layer or RMS normalisation with a gain and a bias."""


def understand(module: nn.Module, width: int) -> Norm:
    """The normalisation `module` applies to vectors of `width` numbers; raises `NotANorm` if it is something else."""
    probe = _frozen_copy(module)
    generator = torch.Generator().manual_seed(0)
    samples = torch.randn(3, width, generator=generator, dtype=torch.float64) + 0.7
    bias = _ask(probe, torch.zeros(width, dtype=torch.float64))
    if torch.allclose(_ask(probe, 2 * samples) - bias, 2 * (_ask(probe, samples) - bias), rtol=1e-5, atol=1e-6):
        gain = _ask(probe, torch.ones(width, dtype=torch.float64)) - bias
        return _proved(probe, Norm(gain, bias, 0.0, centred=False, fixed=True), samples)
    for centred in (True, False):
        shape = _standardised(samples, centred)
        gains = (_ask(probe, _LARGE * samples) - bias) / shape
        gain = gains.median(0).values
        if torch.allclose(gains, gain.expand_as(gains), rtol=2e-4, atol=1e-6):
            norm = Norm(gain, bias, _epsilon(probe, shape[0], gain, bias), centred)
            return _proved(probe, _read_exactly(module, norm), samples)
    raise NotANorm(f"{type(module).__name__} is not a layer or RMS normalisation")


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


def _read_exactly(module: nn.Module, norm: Norm) -> Norm:
    """Take the stored parameters where they are what was measured: they carry no rounding."""
    weight, eps = norm.weight, norm.eps
    stored = getattr(module, "weight", None)
    if isinstance(stored, Tensor) and stored.shape == weight.shape:
        exact = stored.detach().double().cpu()
        for candidate in (exact, exact + 1):
            if torch.allclose(candidate, weight, rtol=1e-4, atol=1e-5):
                weight = candidate
    for name in ("eps", "variance_epsilon", "layer_norm_eps", "epsilon", "norm_eps"):
        known = getattr(module, name, None)
        if isinstance(known, float) and abs(known - eps) <= 1e-3 * known + 1e-13:
            eps = known
    return Norm(weight, norm.bias, eps, norm.centred)


def _proved(probe: nn.Module, norm: Norm, samples: Tensor) -> Norm:
    for scale in (1e-2, 1.0, 30.0):
        vectors = scale * samples.flip(0)
        expected = norm.linear(vectors) / norm.spread(vectors) + norm.bias
        if not torch.allclose(_ask(probe, vectors), expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max())):
            raise NotANorm(f"{type(probe).__name__} does more than a layer or RMS normalisation")
    return replace(norm, weight=norm.weight.float(), bias=norm.bias.float())
