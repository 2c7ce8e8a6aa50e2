"""How a model's layers are found and followed."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    BitNetConfig,
    BitNetModel,
    Dinov2Config,
    Dinov2Model,
    FalconH1Config,
    FalconH1Model,
    ModernBertConfig,
    ModernBertModel,
    OlmoConfig,
    OlmoModel,
    PreTrainedModel,
)

import attnscope as ats
from attnscope.errors import InputError, UnsupportedModel
from attnscope.models.trace import base_name, is_norm, look_up, tensors_in, writes_in_place
from tests import zoo
from tests.conftest import zoo_model
from tools.tiny import randomise


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("bert", {"post"}),
        ("albert", {"post"}),
        ("bart", {"post"}),
        ("opt-post-norm", {"post"}),
        ("gpt2", set()),
        ("llama", set()),
        ("gpt-neox", set()),
        ("falcon", set()),
        ("gemma2", {"branch"}),
        ("gemma3", {"branch"}),
        ("olmo2", {"branch"}),
    ],
)
def test_where_the_norm_stands(name: str, place: set[str]) -> None:
    for site in zoo_model(name).structure.sites:
        assert {where for where in ("branch", "post") if getattr(site.step, where) is not None} == place


@pytest.mark.parametrize(
    ("name", "parallel"),
    [("gpt-neox", True), ("gptj", True), ("phi", True), ("cohere", True), ("falcon", True), ("falcon-new", True),
     ("gpt-neox-sequential", False), ("falcon-alibi", False), ("llama", False), ("bert", False)],
)  # fmt: skip
def test_what_stands_beside_the_attention(name: str, parallel: bool) -> None:
    assert all(bool(site.step.extras) == parallel for site in zoo_model(name).structure.sites)


def test_the_multiplier_is_read() -> None:
    for site in zoo_model("granite").structure.sites:
        assert float(site.step.scale) == pytest.approx(zoo.SPECS["granite"].options["residual_multiplier"])


@pytest.mark.parametrize(("name", "gated"), [("qwen3-next", True), ("llama", False)])
def test_gates_are_seen(name: str, gated: bool) -> None:
    assert all(site.gated == gated for site in zoo_model(name).structure.sites)


def test_value_norm_has_no_meaning_behind_a_gate() -> None:
    with pytest.raises(UnsupportedModel, match=r"value_norm has no meaning .* ask for head_norm"):
        ats.analyze(zoo_model("qwen3-next"), zoo.inputs("qwen3-next"), measures="value_norm")


@pytest.mark.parametrize("name", ["qwen3-next", "jamba", "bamba"])
def test_layers_without_softmax_attention_are_named(name: str) -> None:
    model = zoo_model(name)
    result = ats.analyze(model, zoo.inputs(name))
    layers = model.hf_model.config.num_hidden_layers
    assert len(model.structure.others) == len(result.attrs["layers_without_attention"].split("; ")) == layers - 1
    with pytest.raises(InputError, match=r"no attention layer 1 .* without softmax attention"):
        ats.analyze(model, zoo.inputs(name), layers=[1])


def test_a_shared_layer_is_a_layer_each_time() -> None:
    sites = zoo_model("albert").structure.sites
    assert len({site.module for site in sites}) == 1
    assert [site.call for site in sites] == [0, 1, 2]


def test_stacks_of_an_encoder_decoder_and_the_one_meant() -> None:
    model = zoo_model("bart")
    assert set(model.structure.stacks) == {"encoder", "decoder", "cross"}
    assert model.default_stack() == "encoder"
    assert model.default_stack(pair=True) == "cross"
    assert zoo_model("bert").default_stack() == "self"


def test_an_encoder_alone_reads_a_text_of_an_encoder_decoder() -> None:
    assert ats.analyze(zoo_model("bart"), "the cat sat").attrs["stack"] == "encoder"
    with pytest.raises((InputError, UnsupportedModel)):
        ats.analyze(zoo_model("t5"), "the cat sat", stack="cross")


SMALL: dict[str, Any] = {"vocab_size": 64, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
                         "intermediate_size": 16, "max_position_embeddings": 32, "pad_token_id": 0}  # fmt: skip


def rates(hf_model: PreTrainedModel) -> np.ndarray:
    inputs = {"input_ids": torch.arange(5, 12)[None]}
    return ats.analyze(ats.Model(hf_model), inputs, measures="expansion_rate")["expansion_rate"].values


def test_values_are_found_in_a_projection_that_is_unbound() -> None:
    """ModernBERT's queries, keys and values come from one map, parted by an axis."""
    hf_model = ModernBertModel(ModernBertConfig(**SMALL, attention_bias=True)).eval()
    randomise(hf_model)
    expected = []
    for layer in hf_model.layers:
        (_, _, weight), (_, _, bias) = (stored.chunk(3) for stored in (layer.attn.Wqkv.weight, layer.attn.Wqkv.bias))
        augmented = torch.zeros(25, 25)
        augmented[:24, :24] = (layer.attn.Wo.weight @ weight).T
        augmented[24, :24] = layer.attn.Wo.weight @ bias + layer.attn.Wo.bias
        augmented[24, 24] = 1
        expected.append(float(torch.linalg.svdvals(augmented.detach()).square().sum() / 25) ** 0.5)
    np.testing.assert_allclose(rates(hf_model), expected, rtol=1e-5)


def test_values_that_are_cut_off_are_no_affine_map() -> None:
    """OLMo may clip queries, keys and values; the weights alone then don't say how far values stretch."""
    for clip in (0.5, 50.0):
        hf_model = OlmoModel(OlmoConfig(**SMALL, clip_qkv=clip)).eval()
        randomise(hf_model)
        assert ats.Model(hf_model).verify().passed
        assert np.isnan(rates(hf_model)).all()
    hf_model.config.clip_qkv = None
    assert np.isfinite(rates(hf_model)).all()


def calls_of(hf_model: PreTrainedModel, *modules: nn.Module) -> tuple[torch.Tensor, list[tuple[Any, Any]]]:
    """The weights of the first layer, and what went into some modules and came out, without batch axis."""
    found: dict[nn.Module, tuple[Any, Any]] = {}

    def keep(module: nn.Module, args: Any, out: Any) -> None:
        found.setdefault(module, (args[0][0] if args else None, out[0]))

    handles = [module.register_forward_hook(keep) for module in modules]
    hf_model.set_attn_implementation("eager")
    with torch.no_grad():
        weights = hf_model(**zoo_like(hf_model), output_attentions=True).attentions[0][0]
    for handle in handles:
        handle.remove()
    return weights, [found[module] for module in modules]


def zoo_like(hf_model: PreTrainedModel) -> dict[str, torch.Tensor]:
    if hf_model.main_input_name == "pixel_values":
        return {"pixel_values": torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(0))}
    return {"input_ids": torch.arange(5, 12)[None]}


def carried(weights: torch.Tensor, values: torch.Tensor, projection: torch.Tensor) -> torch.Tensor:
    """(query, key, model): Σ_h α v W, with values as (key, key head, value)."""
    heads = weights.shape[0]
    values = values.repeat_interleave(heads // values.shape[1], 1)
    rows = projection.view(heads, values.shape[-1], -1)
    return torch.einsum("hqk,khv,hvm->qkm", weights, values, rows).detach()


def assert_lengths(found: Any, vectors: torch.Tensor) -> None:
    expected = vectors.norm(dim=-1).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * expected.max())


@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_a_norm_before_the_projection_is_frozen_like_any_other(eps: float) -> None:
    """BitNet normalises what the heads give, all together, before it mixes them."""
    config = BitNetConfig(**SMALL, num_key_value_heads=2, rms_norm_eps=eps)
    hf_model = BitNetModel(config).eval()
    randomise(hf_model)
    attention = hf_model.layers[0].self_attn
    weights, ((_, values), (mixed, _)) = calls_of(hf_model, attention.v_proj, attention.attn_sub_norm)
    spread = (mixed.square().mean(-1) + eps).sqrt()
    projection = attention.attn_sub_norm.weight[:, None] * attention.o_proj.weight.T
    vectors = carried(weights, values.view(7, 2, 6), projection) / spread[:, None, None]
    model = ats.Model(hf_model)
    assert model.verify().passed
    result = ats.analyze(model, zoo_like(hf_model), measures=["attention_norm", "residual_norm", "head_norm"])
    assert_lengths(result["attention_norm"].sel(layer=1), vectors)
    stream = hf_model.embed_tokens.weight[5:12]
    assert_lengths(result["residual_norm"].sel(layer=1), vectors + torch.diag_embed(stream.T).permute(1, 2, 0))


def test_a_scale_of_each_dimension_stands_in_the_residual_scope() -> None:
    config = Dinov2Config(hidden_size=24, num_hidden_layers=2, num_attention_heads=4, image_size=24, patch_size=8)
    hf_model = Dinov2Model(config).eval()
    randomise(hf_model)
    layer = hf_model.encoder.layer[0] if hasattr(hf_model, "encoder") else hf_model.layers[0]
    attention = layer.attention
    value, output = (
        next(module for name, module in attention.named_modules() if name.endswith(ending))
        for ending in (("value", "v_proj"), ("output.dense", "o_proj"))
    )
    weights, ((_, values), (_, _), (stream, _)) = calls_of(hf_model, value, output, layer.norm1)
    vectors = carried(weights, values.view(10, 4, 6), output.weight.T)
    model = ats.Model(hf_model)
    assert model.verify().passed
    result = ats.analyze(model, zoo_like(hf_model), measures=["attention_norm", "residual_norm"])
    assert_lengths(result["attention_norm"].sel(layer=1), vectors)
    own = torch.diag_embed(stream.T).permute(1, 2, 0)
    assert_lengths(result["residual_norm"].sel(layer=1), layer.layer_scale1.lambda1 * vectors + own)


def test_what_runs_beside_the_attention_has_a_factor_of_its_own() -> None:
    """Falcon H1: attention and state space, each with its multiplier."""
    config = FalconH1Config(
        **SMALL, num_key_value_heads=2, attention_out_multiplier=0.3, ssm_out_multiplier=1.7, mamba_d_state=8,
        mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_chunk_size=4,
    )  # fmt: skip
    hf_model = FalconH1Model(config).eval()
    randomise(hf_model)
    model = ats.Model(hf_model)
    assert model.verify().passed
    for site in model.structure.sites:
        assert float(site.step.scale) == pytest.approx(0.3)
        assert [float(extra.factor) for extra in site.step.extras] == pytest.approx([1.7])


class Strange(nn.Module):
    """A norm in name that is something else."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) * self.weight


class StrangeNorm(Strange):
    pass


@pytest.mark.parametrize("kind", [Strange, StrangeNorm])
def test_a_step_that_is_not_understood_is_a_reason_and_no_number(kind: type[nn.Module]) -> None:
    hf_model = BertModel(BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                    intermediate_size=24, max_position_embeddings=32)).eval()  # fmt: skip
    for layer in hf_model.encoder.layer:
        layer.attention.output.LayerNorm = kind(16)
    model = ats.Model(hf_model, name="strange")
    inputs = {"input_ids": torch.arange(5, 12)[None]}
    assert all(laws.errors.attention < 1e-5 for laws in model.check_laws(inputs).layers)
    assert np_sums_to_one(ats.analyze(model, inputs, measures=["weight", "attention_norm"]))
    if all(site.step is None for site in model.structure.sites):
        with pytest.raises(UnsupportedModel, match="block_norm needs the residual stream"):
            ats.analyze(model, inputs, measures="block_norm")
    else:  # the way ends at the sum, before the step in question
        assert all(site.step.post is None for site in model.structure.sites)


def np_sums_to_one(result: object) -> bool:
    return bool((abs(result["weight"].sum("key") - 1) < 1e-5).all())


@pytest.mark.parametrize(
    ("function", "name", "in_place"),
    [
        (torch.add, "add", False),
        (torch.Tensor.add_, "add", True),
        (torch.Tensor.__iadd__, "add", True),
        (torch.Tensor.__radd__, "add", False),
        (torch.Tensor.mul, "mul", False),
        (torch.Tensor.__rmul__, "mul", False),
        (torch.Tensor.__matmul__, "matmul", False),
        (torch.Tensor.__setitem__, "setitem", True),
        (torch.nn.functional.softmax, "softmax", False),
    ],
)
def test_functions_have_one_name(function: object, name: str, in_place: bool) -> None:
    assert base_name(function) == name
    assert writes_in_place(function) == in_place


def test_tensors_are_found_by_their_paths() -> None:
    one, two = torch.zeros(1), torch.ones(1)
    thing = ((one, "text"), {"key": [None, two], 3: one})
    found = dict(tensors_in(thing))
    assert found == {(0, 0): one, (1, "key", 1): two}
    assert all(look_up(thing, path) is tensor for path, tensor in found.items())


def test_norms_are_told_by_their_names_and_hold_no_maps() -> None:
    assert is_norm(nn.LayerNorm(3))
    assert not is_norm(nn.Linear(3, 3))
