"""Every token's part in every state: the parts add up, and say what one backward pass says."""

import numpy as np
import pytest
import torch

import attnscope as ats
from attnscope.errors import InputError, UnsupportedModel
from tests import zoo
from tests.conftest import zoo_model
from tests.laws.test_attribution import HYBRID, forward_decomposition

HEADS = {
    "encoder": "AutoModelForSequenceClassification",
    "decoder": "AutoModelForCausalLM",
    "encoder-decoder": "AutoModelForSeq2SeqLM",
}
NAMES = [name for name in zoo.NAMES if zoo.kind_of(name) in HEADS and name != "clip-text"]


@pytest.mark.parametrize("name", sorted(set(NAMES) - HYBRID))
def test_forward_and_backward_agree(name: str) -> None:
    model = ats.Model(zoo.build_head(name, HEADS[zoo.kind_of(name)]))
    position = 2 if model.is_encoder_decoder else None
    forward = ats.decomposed(model, zoo.inputs(name), position=position, block=5)
    backward = ats.attribute(model, zoo.inputs(name), position=position)
    scale = float(abs(backward["contribution"]).max())
    np.testing.assert_allclose(forward["contribution"], backward["contribution"], rtol=1e-5, atol=1e-5 * scale)
    assert forward.attrs["bias"] == pytest.approx(backward.attrs["bias"], rel=1e-5, abs=1e-5)
    assert forward.attrs["target"] == backward.attrs["target"]
    assert forward.attrs["reconstruction_error"] < 1e-5
    assert forward["law_error"].sizes["layer"] == forward["decomposed"].sizes["layer"]


@pytest.mark.parametrize("name", ["clip-text", "vit", "whisper"])
def test_models_without_a_head_have_states(name: str) -> None:
    found = ats.decomposed(zoo_model(name), zoo.inputs(name))
    assert found.attrs["reconstruction_error"] < 1e-5
    assert "contribution" not in found


@pytest.mark.parametrize("name", sorted(HYBRID))
def test_what_does_not_add_up_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedModel, match="does not add up to the states"):
        ats.decomposed(ats.Model(zoo.build_head(name, HEADS["decoder"])), zoo.inputs(name))


def test_the_blocks_of_sources_change_nothing() -> None:
    model, inputs = ats.Model(zoo.build_head("gemma2", "AutoModelForCausalLM")), zoo.inputs("gemma2")
    whole, small = (ats.decomposed(model, inputs, block=block, vectors=True) for block in (100, 2))
    for name in ("decomposed", "state", "bias_state", "contribution"):
        np.testing.assert_allclose(whole[name], small[name], rtol=1e-4, atol=1e-6)


def test_vectors_add_up_to_the_models_own_states() -> None:
    hf_model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    inputs = zoo.inputs("bert")
    found = ats.decomposed(ats.Model(hf_model), inputs, vectors=True)
    with torch.no_grad():
        states = hf_model(**inputs, output_hidden_states=True).hidden_states[1:]
    total = found["state"].sum("source") + found["bias_state"]
    for layer, state in enumerate(states, 1):
        np.testing.assert_allclose(total.sel(layer=layer), state[0], rtol=1e-4, atol=1e-5)
    lengths = np.linalg.norm(found["state"], axis=-1)
    np.testing.assert_allclose(found["decomposed"], lengths, rtol=1e-5, atol=1e-6)


def test_a_hand_made_propagation_says_the_same() -> None:
    hf_model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    inputs = zoo.inputs("bert", length=9)
    found = ats.decomposed(ats.Model(hf_model), inputs, target=1)
    expected, bias = forward_decomposition(hf_model, inputs, 1)
    np.testing.assert_allclose(found["contribution"], expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))
    assert found.attrs["bias"] == pytest.approx(float(bias), rel=1e-4, abs=1e-5)


def test_sources_of_a_translation_are_both_sides() -> None:
    model = ats.Model(zoo.build_head("bart", "AutoModelForSeq2SeqLM"), zoo.tokenizer("roberta"))
    found = ats.attribute(model, "the cat sat", "on the mat")
    sides = found["source_side"].to_numpy().tolist()
    assert sides == ["source"] * sides.count("source") + ["target"] * sides.count("target")
    assert found["contribution"].dims == ("step", "source")
    ids = model.tokenizer("on the mat")["input_ids"]
    assert found["target"].to_numpy().tolist() == model.tokenizer.convert_ids_to_tokens(ids)
    total = found["contribution"].sum("source") + found["bias"]
    np.testing.assert_allclose(total, found["target_value"], rtol=1e-4, atol=1e-4)
    future = np.triu(np.ones((len(ids), sides.count("target"))), 1).astype(bool)
    assert not found["contribution"].to_numpy()[:, sides.count("source") :][future].any()


def test_an_own_translation_is_explained() -> None:
    model = ats.Model(zoo.build_head("marian", "AutoModelForSeq2SeqLM"), zoo.tokenizer("roberta"))
    model.hf_model.generation_config.forced_eos_token_id = None
    found = ats.attribute(model, "the cat sat", position=1)
    assert found.attrs["completeness_error"] < 1e-5
    each = ats.attribute(model, "the cat sat")
    np.testing.assert_allclose(each["contribution"].isel(step=1), found["contribution"], rtol=1e-3, atol=1e-5)


def test_blocks_are_numbers() -> None:
    with pytest.raises(InputError, match="how many sources"):
        ats.decomposed(zoo_model("bert"), zoo.inputs("bert"), block=0)
