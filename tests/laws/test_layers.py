"""Whole layers: Law 3 on every architecture, and the same numbers from computations made by hand."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import jvp

import attnscope as ats
from attnscope.decompose.vectors import part_vectors
from attnscope.errors import InputError, UnsupportedModel
from attnscope.models.frozen import Frozen
from tests import zoo
from tests.conftest import zoo_model

LAYER_MEASURES = ("encoder_norm", "feedforward_norm", "value_zeroing")
STACKS = [
    (name, stack)
    for name in zoo.NAMES
    for stack in (("encoder", "cross") if zoo.kind_of(name) in {"encoder-decoder", "speech"} else ("self",))
]


@pytest.mark.parametrize(("name", "stack"), STACKS)
def test_tokens_and_biases_are_the_layers_output(name: str, stack: str) -> None:
    found = ats.analyze(zoo_model(name), zoo.inputs(name), measures=LAYER_MEASURES, stack=stack)
    assert float(found["law_error"].sel(law="layer").max()) < 1e-5
    assert bool((found["value_zeroing"] <= 2).all())
    assert float(found["feedforward_norm"].max()) > 0


def gauss_legendre(function, total: Tensor, parts: Tensor, nodes: int = 60) -> Tensor:
    """∫₀¹ J(t·total) parts dt of any function, by numerical integration: what the closed forms must give."""
    points, weights = np.polynomial.legendre.leggauss(nodes)
    found = torch.zeros((), dtype=parts.dtype)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        start = (point * total).expand_as(parts).clone()
        found = found + weight * jvp(function, (start,), (parts,))[1]
    return found


def parts_of(name: str) -> tuple[ats.Model, list]:
    model = ats.Model(zoo.build(name).double())
    return model, model.records(zoo.inputs(name), tails=True)


def normalised_parts(norm: nn.Module, parts: Tensor, total: Tensor) -> Tensor:
    """Parts (key, query, model) through a layer norm whose statistic is that of the total."""
    spread = torch.sqrt(total.var(-1, correction=0, keepdim=True) + norm.eps)
    return (parts - parts.mean(-1, keepdim=True)) / spread * norm.weight


@torch.no_grad()
def test_post_norm_layers_by_hand() -> None:
    model, records = parts_of("bert")
    found = ats.analyze(model, zoo.inputs("bert"), measures=(*LAYER_MEASURES, "alti"))
    for record, layer in zip(records, model.hf_model.encoder.layer, strict=True):
        parts, block = part_vectors(record, "block", slice(None)), record.block.output
        middle, act, down = layer.intermediate.dense, layer.intermediate.intermediate_act_fn, layer.output.dense
        before = middle(block)
        inner = gauss_legendre(act, before, parts @ middle.weight.T)
        total = down(act(before)) + block
        whole = normalised_parts(layer.output.LayerNorm, inner @ down.weight.T + parts, total)
        without = normalised_parts(layer.output.LayerNorm, parts, total)
        at = found.sel(layer=record.layer)
        np.testing.assert_allclose(at["feedforward_norm"], whole.norm(dim=-1).T, rtol=1e-5)
        np.testing.assert_allclose(at["encoder_norm"], without.norm(dim=-1).T, rtol=1e-5)
        near = (block.abs().sum(-1) - (block - parts).abs().sum(-1)).clamp_min(0).T
        np.testing.assert_allclose(at["alti"], near / near.sum(-1, keepdim=True), rtol=1e-5, atol=1e-7)
        for key in range(record.keys):
            changed = layer.attention.output.LayerNorm(record.block.residual + record.projected - sent(record, key))
            output = layer.output.LayerNorm(down(act(middle(changed))) + changed)
            distance = 1 - torch.cosine_similarity(output, record.tail.output, dim=-1)
            np.testing.assert_allclose(at["value_zeroing"][:, key], distance, rtol=1e-4, atol=1e-7)


def sent(record, key: int) -> Tensor:
    """Σ_h α^h_ij f^h(x_j) of one key."""
    vectors = torch.einsum("hv,hvm->hm", record.value[:, key], record.projection)
    return record.attention()[:, :, key].T @ vectors


@torch.no_grad()
def test_pre_norm_gated_layers_by_hand() -> None:
    model, records = parts_of("llama")
    found = ats.analyze(model, zoo.inputs("llama"), measures=LAYER_MEASURES)
    for record, layer in zip(records, model.hf_model.layers, strict=True):
        parts, block = part_vectors(record, "block", slice(None)), record.block.output
        norm, mlp = layer.post_attention_layernorm, layer.mlp
        spread = torch.sqrt(block.square().mean(-1, keepdim=True) + norm.variance_epsilon)
        whole = gauss_legendre(mlp, block / spread * norm.weight, parts / spread * norm.weight) + parts
        at = found.sel(layer=record.layer)
        np.testing.assert_allclose(at["feedforward_norm"], whole.norm(dim=-1).T, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(at["encoder_norm"], parts.norm(dim=-1).T, rtol=1e-5, atol=1e-7)
        for key in range(record.keys):
            changed = record.block.residual + record.projected - sent(record, key)
            output = changed + mlp(norm(changed))
            distance = 1 - torch.cosine_similarity(output, record.tail.output, dim=-1)
            np.testing.assert_allclose(at["value_zeroing"][:, key], distance, rtol=1e-4, atol=1e-7)


@torch.no_grad()
def test_a_parallel_feed_forward_is_no_part_of_the_block_that_alti_asks_about() -> None:
    model, records = parts_of("gpt-neox")
    found = ats.analyze(model, zoo.inputs("gpt-neox"), measures="alti")
    for record in records:
        parts = part_vectors(record, "block", slice(None))
        block = record.block.residual + record.projected
        near = (block.abs().sum(-1) - (block - parts).abs().sum(-1)).clamp_min(0).T
        np.testing.assert_allclose(
            found["alti"].sel(layer=record.layer), near / near.sum(-1, keepdim=True), rtol=1e-5, atol=1e-7
        )


@torch.no_grad()
def test_a_query_that_looks_at_one_key_alone_has_nothing_left_without_it() -> None:
    """In single precision too, where a difference would leave rounding for the branch's norm to blow up."""
    model = ats.Model(zoo.build("gemma2"))
    layer = model.hf_model.layers[0]
    layer.self_attn.o_proj.bias = None
    record = model.records(zoo.inputs("gemma2"), tails=True)[0]
    found = ats.analyze(model, zoo.inputs("gemma2"), measures="value_zeroing").sel(layer=1)
    state = record.block.residual[:1]
    output = state + layer.post_feedforward_layernorm(layer.mlp(layer.pre_feedforward_layernorm(state)))
    distance = 1 - torch.cosine_similarity(output.double(), record.tail.output[:1].double(), dim=-1)
    np.testing.assert_allclose(found["value_zeroing"][0, 0], distance[0], rtol=2e-5)


@torch.no_grad()
def test_shifted_gates_by_hand() -> None:
    """(b + 1) · g(a): the shift belongs to no token."""
    model = zoo_model("gpt-oss")
    records = model.records(zoo.inputs("gpt-oss"), tails=True)
    found = ats.analyze(model, zoo.inputs("gpt-oss"), measures="feedforward_norm")
    record, layer = records[0], model.hf_model.layers[0]
    parts, block = part_vectors(record, "block", slice(None)), record.block.output
    norm, experts = layer.post_attention_layernorm, layer.mlp.experts
    spread = torch.sqrt(block.square().mean(-1, keepdim=True) + norm.variance_epsilon)
    inputs = norm(block)
    _, scores, chosen = layer.mlp.router(inputs)
    whole = parts.clone()
    for token in range(record.queries):
        for score, expert in zip(scores[token], chosen[token], strict=True):
            weight, bias = experts.gate_up_proj[expert], experts.gate_up_proj_bias[expert]

            def gated(both: Tensor) -> Tensor:
                gate, up = both[..., ::2], both[..., 1::2]
                return (up + 1) * gate * torch.sigmoid(gate * experts.alpha)

            given = (parts[:, token] / spread[token] * norm.weight) @ weight
            inner = gauss_legendre(gated, inputs[token] @ weight + bias, given)
            whole[:, token] += score * inner @ experts.down_proj[expert]
    np.testing.assert_allclose(found["feedforward_norm"].sel(layer=1), whole.norm(dim=-1).T, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("function", "slope"), [("gelu", 0.5), ("silu", 0.5), ("tanh", 1.0), ("mish", 0.6)])
def test_at_zero_activations_have_their_slope_there(function: str, slope: float) -> None:
    """g(s) / s goes to g'(0), and of g(a) · (b + 1) the part of a to g'(0) · ∫ (1 + t b) dt, that of b to nothing."""
    act = getattr(torch, function, None) or getattr(nn.functional, function)
    x, a = (torch.zeros(3, requires_grad=True) for _ in range(2))
    b = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    with Frozen(zoo.build("bert")).running():
        line, product, shifted = act(x), act(a) * b, act(a) * (b + 1)
    np.testing.assert_allclose(torch.autograd.grad(line.sum(), x)[0], slope, atol=1e-3)
    for values, expected in ((product, b / 2), (shifted, 1 + b / 2)):
        of_a, of_b = torch.autograd.grad(values.sum(), (a, b), retain_graph=True)
        np.testing.assert_allclose(of_a, slope * expected.detach(), atol=2e-3)
        np.testing.assert_allclose(of_b, 0, atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "gpt-neox", "qwen3-next", "gemma2", "bart"])
def test_vectors_have_the_lengths_of_the_gram_form(name: str) -> None:
    model = zoo_model(name)
    stack = "encoder" if name == "bart" else "self"
    found = ats.analyze(
        model, zoo.inputs(name), stack=stack, measures=("attention_norm", "residual_norm", "block_norm")
    )
    for record in model.records(zoo.inputs(name), stack=stack):
        for scope in ("attention", "residual", "block"):
            lengths = part_vectors(record, scope, slice(1, 4), slice(2, 6)).norm(dim=-1).T
            expected = found[f"{scope}_norm"].sel(layer=record.layer)[2:6, 1:4]
            np.testing.assert_allclose(lengths, expected, rtol=1e-4, atol=1e-6)


def test_reductions_words_and_some_layers_work_on_layers_run_again() -> None:
    model, text = zoo_model("bert"), "the cats sat, oddly"
    whole = ats.analyze(model, text, measures=LAYER_MEASURES)
    for name in LAYER_MEASURES:
        kept = ats.analyze(model, text, measures=name, reduce="queries")
        np.testing.assert_allclose(kept[name], whole[name].mean("query"), rtol=1e-5, atol=1e-7)
        second = ats.analyze(model, text, measures=name, layers=[2])
        np.testing.assert_allclose(second[name].sel(layer=2), whole[name].sel(layer=2), rtol=1e-4, atol=1e-7)
        words = ats.analyze(model, text, measures=name, unit="word")
        assert words.sizes["key"] < whole.sizes["key"]


def test_two_models_can_be_run_again_at_the_same_time() -> None:
    def analyzed(model: ats.Model) -> np.ndarray:
        found = ats.analyze(model, "the cat sat on the mats", measures="value_zeroing")
        return found["value_zeroing"].to_numpy()

    both = [ats.Model(zoo.build("bert", seed=seed), zoo.tokenizer("bert")) for seed in (1, 2)]
    alone = [analyzed(model) for model in both]
    with ThreadPoolExecutor(2) as threads:
        for _ in range(3):
            for found, expected in zip(threads.map(analyzed, both), alone, strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_what_has_no_meaning_is_refused() -> None:
    bart = zoo_model("bart")
    with pytest.raises(UnsupportedModel, match="another attention stands between"):
        ats.analyze(bart, zoo.inputs("bart"), measures="feedforward_norm", stack="decoder")
    with pytest.raises(InputError, match="no meaning in cross-attention"):
        ats.analyze(bart, zoo.inputs("bart"), measures="alti", stack="cross")
