"""The propagation of METHODS 4 written down as it stands, for BERT: a (token, source, model) tensor through all layers.

Attention, the statistics of norms and the slopes of activations are held, as in `attnscope.decomposed`, of which this
is the baseline; it shares no code with it and spends (token · source · model) memory, four times that in the
feed-forward block, on purpose.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import BertForSequenceClassification
from transformers.models.bert.modeling_bert import BertLayer


@dataclass(frozen=True)
class Carried:
    """What each source, and what the biases, contribute to the logits, and how long the parts of every state are."""

    logits: Tensor  # source label
    bias: Tensor  # label
    lengths: Tensor  # layer token source


@torch.no_grad()
def carried(model: BertForSequenceClassification, inputs: dict[str, Tensor]) -> Carried:
    out = model(**inputs, output_hidden_states=True, output_attentions=True)
    state = out.hidden_states[0][0]
    parts = torch.diag_embed(state.T).permute(1, 2, 0)  # token source model
    bias, lengths = torch.zeros_like(state), []
    for layer, alpha in zip(model.bert.encoder.layer, out.attentions, strict=True):
        parts, bias = _through_layer(layer, alpha[0], parts, bias)
        lengths.append(parts.norm(dim=-1))
    pooler = model.bert.pooler.dense
    pooled, pooled_bias = linear(parts[0], pooler.weight), linear(bias[0], pooler.weight, pooler.bias)
    before = pooled.sum(0) + pooled_bias
    slope = torch.tanh(before) / before
    head = model.classifier
    return Carried(
        linear(pooled * slope, head.weight), linear(pooled_bias * slope, head.weight, head.bias), torch.stack(lengths)
    )


def _through_layer(layer: BertLayer, alpha: Tensor, parts: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    attention, middle, down = layer.attention, layer.intermediate.dense, layer.output.dense
    mixed = _attend(attention, alpha, parts) + parts
    mixed_bias = _attend(attention, alpha, bias[:, None], with_bias=True)[:, 0] + bias
    parts, bias = _normalised(attention.output.LayerNorm, mixed, mixed_bias)
    inner, inner_bias = linear(parts, middle.weight), linear(bias, middle.weight, middle.bias)
    before = inner.sum(1) + inner_bias
    slope = layer.intermediate.intermediate_act_fn(before) / before
    fed = linear(inner * slope[:, None], down.weight) + parts
    fed_bias = linear(inner_bias * slope, down.weight, down.bias) + bias
    return _normalised(layer.output.LayerNorm, fed, fed_bias)


def _attend(attention: nn.Module, alpha: Tensor, x: Tensor, *, with_bias: bool = False) -> Tensor:
    value, dense = attention.self.value, attention.output.dense
    vectors = linear(x, value.weight, value.bias if with_bias else None).unflatten(-1, (alpha.shape[0], -1))
    mixed = torch.einsum("hqk,kshv->qshv", alpha, vectors).flatten(-2)
    return linear(mixed, dense.weight, dense.bias if with_bias else None)


def _normalised(norm: nn.LayerNorm, parts: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    total = parts.sum(1) + bias
    spread = torch.sqrt(total.var(-1, correction=0, keepdim=True) + norm.eps)
    parts = (parts - parts.mean(-1, keepdim=True)) / spread[:, None] * norm.weight
    return parts, (bias - bias.mean(-1, keepdim=True)) / spread * norm.weight + norm.bias
