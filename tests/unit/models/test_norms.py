"""What a normalisation module does, found out by asking it."""

import dataclasses

import pytest
import torch
import transformers.models.bitnet.modeling_bitnet as bitnet
import transformers.models.cohere.modeling_cohere as cohere
import transformers.models.gemma2.modeling_gemma2 as gemma2
import transformers.models.gemma3.modeling_gemma3 as gemma3
import transformers.models.llama.modeling_llama as llama
import transformers.models.olmo.modeling_olmo as olmo
import transformers.models.t5.modeling_t5 as t5
from torch import nn

from attnscope.models.norms import NotANorm, understand

WIDTH = 24


class Opposite(nn.Module):
    """A norm under no known name, with a buffer for its gain."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("hidden", torch.linspace(-2, 2, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 0.3) * self.hidden - 1


NORMS = {
    "LayerNorm": (lambda: nn.LayerNorm(WIDTH, eps=1e-12), True, 1e-12),
    "LayerNorm, large eps": (lambda: nn.LayerNorm(WIDTH, eps=1e-2), True, 1e-2),
    "LayerNorm without gain and bias": (lambda: nn.LayerNorm(WIDTH, elementwise_affine=False), True, 1e-5),
    "LayerNorm without bias": (lambda: nn.LayerNorm(WIDTH, bias=False), True, 1e-5),
    "OLMo": (lambda: olmo.OlmoLayerNorm(WIDTH), True, 1e-5),
    "Cohere": (lambda: cohere.CohereLayerNorm(WIDTH, eps=1e-5), True, 1e-5),
    "RMSNorm": (lambda: nn.RMSNorm(WIDTH, eps=1e-6), False, 1e-6),
    "RMSNorm without gain": (lambda: nn.RMSNorm(WIDTH, eps=1e-6, elementwise_affine=False), False, 1e-6),
    "Llama": (lambda: llama.LlamaRMSNorm(WIDTH, eps=1e-6), False, 1e-6),
    "Gemma 2": (lambda: gemma2.Gemma2RMSNorm(WIDTH, eps=1e-6), False, 1e-6),
    "Gemma 3": (lambda: gemma3.Gemma3RMSNorm(WIDTH, eps=1e-6), False, 1e-6),
    "T5": (lambda: t5.T5LayerNorm(WIDTH, eps=1e-6), False, 1e-6),
    "BitNet": (lambda: bitnet.BitNetRMSNorm(WIDTH, eps=1e-5), False, 1e-5),
    "unknown": (Opposite, False, 0.3),
}


def randomised(module: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=generator))
    return module


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_is_understood(name: str, dtype: torch.dtype) -> None:
    make, centred, eps = NORMS[name]
    module = randomised(make()).to(dtype)
    norm = understand(module, WIDTH).read(torch.device("cpu"), torch.float64)
    assert norm.centred == centred
    assert norm.eps == pytest.approx(eps, rel=2e-2, abs=1e-13)
    x = torch.randn(5, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64) + 0.4
    for scale in (0.1, 1, 100):
        expected = module.double()(scale * x)
        found = norm.linear(scale * x) / norm.spread(scale * x) + norm.bias
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4, check_dtype=False)


def test_the_module_is_not_touched() -> None:
    module = nn.LayerNorm(WIDTH, dtype=torch.bfloat16).train()
    handle = module.register_forward_hook(lambda *_: pytest.fail("a hook was called"))
    understand(module, WIDTH)
    assert module.weight.dtype == torch.bfloat16
    assert module.training
    assert len(module._forward_hooks) == 1
    handle.remove()


class Tanh(nn.Module):
    """Dynamic tanh, which some use in place of a norm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(0.7 * x)


class Groups(nn.Module):
    """Two groups of dimensions, each with a statistic of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(x.unflatten(-1, (2, -1)), (WIDTH // 2,)).flatten(-2)


class Running(nn.Module):
    """A statistic of the batch instead of the vector."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()


class Normed(nn.Module):
    def __init__(self, then: nn.Module) -> None:
        super().__init__()
        self.norm, self.then = nn.LayerNorm(WIDTH), then

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.then(self.norm(x))


class Pair(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x


STRANGERS = {
    "tanh": Tanh,
    "groups": Groups,
    "batch": Running,
    "GroupNorm": lambda: nn.GroupNorm(4, WIDTH),
    "BatchNorm": lambda: nn.BatchNorm1d(WIDTH),
    "norm and activation": lambda: Normed(nn.GELU()),
    "norm and mixing": lambda: Normed(nn.Linear(WIDTH, WIDTH)),
    "another width": lambda: nn.Linear(WIDTH, WIDTH - 1),
    "two outputs": Pair,
    "length one": lambda: nn.LayerNorm(WIDTH + 1),
}


def test_a_factor_that_follows_is_of_gain_and_bias() -> None:
    module = randomised(nn.LayerNorm(WIDTH))
    source = dataclasses.replace(understand(module, WIDTH), factor=torch.tensor([0.3]))
    norm = source.read(torch.device("cpu"), torch.float32)
    vectors = torch.randn(5, WIDTH, generator=torch.Generator().manual_seed(3))
    found = norm.linear(vectors) / norm.spread(vectors) + norm.bias
    torch.testing.assert_close(found, 0.3 * module(vectors).detach())


@pytest.mark.parametrize("name", STRANGERS)
def test_what_is_no_norm_is_refused(name: str) -> None:
    module = STRANGERS[name]()
    with pytest.raises(NotANorm, match=type(module).__name__):
        understand(randomised(module), WIDTH)
