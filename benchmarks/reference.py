"""The formulas of METHODS 1 and 2, written down as they stand: every vector of every head is built.

This is the second opinion for the tests and the baseline for the benchmarks. It shares no code with `attnscope`
and spends (head · query · key · model) memory on purpose.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Place = Literal["post", "branch", "none"]
VARIANTS = ("weight", "residual_weight", "attention", "residual", "block")


@dataclass(frozen=True)
class Norm:
    """γ ⊙ (x − mean(x)) / sqrt(var(x) + eps) + β; without the mean where it is not centred (RMSNorm)."""

    gamma: Tensor
    beta: Tensor
    eps: float
    centred: bool

    def deviation(self, x: Tensor) -> Tensor:
        """s: the statistic of the real total."""
        return (self.centre(x).square().mean(-1, keepdim=True) + self.eps).sqrt()

    def centre(self, x: Tensor) -> Tensor:
        return x - x.mean(-1, keepdim=True) if self.centred else x

    def linear(self, x: Tensor, s: Tensor) -> Tensor:
        """g(u), without β."""
        return self.gamma * self.centre(x) / s

    def __call__(self, x: Tensor) -> Tensor:
        return self.linear(x, self.deviation(x)) + self.beta

    def to(self, dtype: torch.dtype) -> "Norm":
        return Norm(self.gamma.to(dtype), self.beta.to(dtype), self.eps, self.centred)


@dataclass(frozen=True)
class Layer:
    """One attention layer of one text, as plain tensors.

    `value` is what each head reads from each key (grouped heads already repeated). `attention_output` and
    `block_output` are what the model itself computed. `extra` is what a parallel feed-forward branch adds beside the
    attention before `block_output`.
    """

    alpha: Tensor  # head query key
    value: Tensor  # head key value
    W_O: Tensor  # head value model
    b_O: Tensor | None  # noqa: N815 (the papers' letters)
    residual: Tensor  # query model
    attention_output: Tensor  # query model
    block_output: Tensor  # query model
    W_V: Tensor | None = None  # input head value
    b_V: Tensor | None = None  # noqa: N815 (head value)
    norm: Norm | None = None
    place: Place = "none"
    scale: float = 1.0
    extra: Tensor | None = None
    cross: bool = False

    def to(self, dtype: torch.dtype) -> "Layer":
        values = {
            name: value.to(dtype) if isinstance(value, Tensor | Norm) else value for name, value in vars(self).items()
        }
        return Layer(**values)


@dataclass(frozen=True)
class Reference:
    """What the reference says of one layer."""

    measures: Mapping[str, Tensor]
    law1: Tensor
    """Σ_h Σ_j α f + b_O"""
    law2: Tensor
    """Σ_j (decomposed vectors) + what belongs to no key: bias, β, a cross-attention's residual, a parallel branch"""


def length(vectors: Tensor) -> Tensor:
    return vectors.square().sum(-1).sqrt()


def sent(layer: Layer) -> Tensor:
    """f^h(x_j) = v^h_j W_O^h: (head, key, model)."""
    return torch.einsum("hkv,hvd->hkd", layer.value, layer.W_O)


def weighted(layer: Layer) -> Tensor:
    """α^h_ij f^h(x_j): the (head, query, key, model) tensor."""
    return layer.alpha[..., None] * sent(layer)[:, None]


def own(residual: Tensor, keys: int) -> Tensor:
    """[i=j] r_i as (query, key, model)."""
    diagonal = torch.zeros(*residual.shape[:1], keys, residual.shape[1], dtype=residual.dtype)
    for i in range(residual.shape[0]):
        diagonal[i, i] = residual[i]
    return diagonal


def materialise(layer: Layer, dtype: torch.dtype = torch.float64) -> Reference:
    """Every measure and both laws of one layer."""
    layer = layer.to(dtype)
    parts = weighted(layer)  # head query key model
    together = parts.sum(0)  # query key model
    bias = torch.zeros_like(layer.attention_output[0]) if layer.b_O is None else layer.b_O
    law1 = together.sum(1) + bias

    no_key = bias.expand_as(layer.residual) * layer.scale
    scaled = together * layer.scale
    residual_scope = scaled if layer.cross else scaled + own(layer.residual, together.shape[1])

    block, block_residual = scaled, layer.residual
    if layer.place == "branch":
        norm = layer.norm
        s = norm.deviation(layer.scale * law1)
        block = norm.linear(block, s[:, None])
        no_key = norm.linear(no_key, s) + norm.beta
    if layer.place == "post":
        norm = layer.norm
        extra = 0 if layer.extra is None else layer.extra
        s = norm.deviation(layer.residual + layer.scale * law1 + extra)
        block, block_residual = norm.linear(block, s[:, None]), norm.linear(block_residual, s)
        no_key = norm.linear(no_key + extra, s) + norm.beta
    elif layer.extra is not None:
        no_key = no_key + layer.extra
    block_attention = block
    if layer.cross:
        no_key = no_key + block_residual
    else:
        block = block + own(block_residual, together.shape[1])

    mean_alpha = layer.alpha.mean(0)
    if layer.cross:
        by_weight = mean_alpha.sum(-1)
        mixing = [
            by_weight,
            by_weight / 2,
            _ratio(together.sum(1), torch.zeros_like(layer.residual)),
            _ratio(scaled.sum(1), layer.residual),
            _ratio(block_attention.sum(1), block_residual),
        ]
    else:
        others = ~torch.eye(*mean_alpha.shape, dtype=torch.bool)
        by_weight = (mean_alpha * others).sum(-1)
        mixing = [by_weight, by_weight / 2, *(_mixed(vectors, others) for vectors in (together, residual_scope, block))]
    measures = {
        "weight": layer.alpha,
        "value_norm": length(sent(layer)),
        "head_norm": length(parts),
        "attention_norm": length(together),
        "residual_norm": length(residual_scope),
        "block_norm": length(block),
        "mixing_ratio": torch.stack(mixing),
    }
    if layer.W_V is not None:
        measures["expansion_rate"] = expansion_rate(layer)
    return Reference(measures, law1, block.sum(1) + no_key)


def _mixed(vectors: Tensor, others: Tensor) -> Tensor:
    return _ratio((vectors * others[..., None]).sum(1), (vectors * ~others[..., None]).sum(1))


def _ratio(others: Tensor, kept: Tensor) -> Tensor:
    return length(others) / (length(others) + length(kept))


def augmented(layer: Layer) -> Tensor:
    """f̃ = [[W_V W_O, 0], [b_V W_O + b_O, 1]] of all heads together."""
    weight = torch.einsum("ihv,hvd->id", layer.W_V, layer.W_O)
    bias = torch.zeros_like(weight[0]) if layer.b_O is None else layer.b_O
    if layer.b_V is not None:
        bias = bias + torch.einsum("hv,hvd->d", layer.b_V, layer.W_O)
    upper = torch.cat([weight, weight.new_zeros(len(weight), 1)], 1)
    return torch.cat([upper, torch.cat([bias, bias.new_ones(1)])[None]])


def expansion_rate(layer: Layer) -> Tensor:
    """sqrt(Σσ²) / sqrt(d + 1), by the singular values themselves."""
    matrix = augmented(layer)
    return torch.linalg.svdvals(matrix).square().sum().sqrt() / matrix.shape[0] ** 0.5
