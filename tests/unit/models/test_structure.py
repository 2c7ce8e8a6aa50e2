"""How a model's layers are found and followed."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
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
