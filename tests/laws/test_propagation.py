"""Every token's part in every state: the parts add up, and say what one backward pass says."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import transformers
from transformers import PreTrainedModel

import attnscope as ats
from attnscope.errors import InputError, UnsupportedModel
from attnscope.models.frozen import Frozen
from tests import zoo
from tests.conftest import zoo_model
from tests.laws.test_attribution import HYBRID, forward_decomposition
from tools.tiny import randomise, tiny_config, tiny_inputs

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


def assert_agreement(model: ats.Model, inputs: dict[str, torch.Tensor], **options: object) -> None:
    backward = ats.attribute(model, inputs, **options)
    forward = ats.decomposed(model, inputs, block=3, **options)
    scale = float(abs(backward["contribution"]).max())
    assert scale > 0
    np.testing.assert_allclose(forward["contribution"], backward["contribution"], rtol=1e-5, atol=1e-5 * scale)
    assert max(backward.attrs["completeness_error"], forward.attrs["reconstruction_error"]) < 1e-5


def other(model_type: str, class_name: str, **options: object) -> PreTrainedModel:
    config = tiny_config(model_type)
    for name, value in options.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    model = getattr(transformers, class_name)._from_config(config, attn_implementation="eager", dtype=torch.float32)
    randomise(model)
    return model.eval()


@pytest.mark.parametrize(
    ("model_type", "class_name", "options"),
    [
        ("big_bird", "BigBirdForSequenceClassification", {"hidden_act": "gelu_new"}),  # its head makes its own
        ("deberta-v2", "DebertaV2ForSequenceClassification", {"pooler_hidden_act": "gelu_fast"}),
        ("deit", "DeiTForImageClassificationWithTeacher", {"num_labels": 3}),
        ("gpt_neox_japanese", "GPTNeoXJapaneseForCausalLM", {}),  # one bias, spread over the tokens
        ("laguna", "LagunaForCausalLM", {}),  # gates by softplus
        ("luke", "LukeForSequenceClassification", {}),  # cuts words from entities, of which there are none
        ("openai-gpt", "OpenAIGPTLMHeadModel", {}),  # one activation for all layers
        ("t5", "T5ForTokenClassification", {}),
        ("whisper", "WhisperForAudioClassification", {"num_labels": 3}),
        ("xlm", "XLMForSequenceClassification", {}),  # no module for a layer
    ],
)
def test_forward_and_backward_agree_on_others(model_type: str, class_name: str, options: dict[str, object]) -> None:
    hf_model = other(model_type, class_name, **options)
    place = {"position": 2} if "Token" in class_name else {}
    assert_agreement(ats.Model(hf_model), tiny_inputs(hf_model), **place)


@pytest.mark.parametrize(
    ("model_type", "class_name"),
    [("bert-generation", "BertGenerationDecoder"), ("gemma3", "Gemma3ForConditionalGeneration")],
)
def test_who_writes_is_asked_for_what_follows(model_type: str, class_name: str) -> None:
    hf_model = other(model_type, class_name)
    inputs = {"input_ids": tiny_inputs(hf_model)["input_ids"]}
    found = ats.attribute(ats.Model(hf_model), inputs)
    with torch.no_grad():
        logits = hf_model(**inputs).logits[0, -1]
    assert found.attrs["target_value"] == pytest.approx(float(logits.max()), rel=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt-oss"])
def test_classifiers_need_no_padding_token(name: str) -> None:
    hf_model, inputs = zoo.build_head(name, HEADS["encoder"]), zoo.inputs(name)
    model = ats.Model(hf_model)
    methods = ("decomposed", "integrated_gradients")
    padded = [ats.attribute(model, inputs, method=method)["contribution"] for method in methods]
    hf_model.config.pad_token_id = None
    for method, expected in zip(methods, padded, strict=True):
        found = ats.attribute(model, inputs, method=method)["contribution"]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert_agreement(model, inputs)
    assert (
        ats.analyze(model, inputs, measures=("feedforward_norm", "value_zeroing")).attrs["reconstruction_error"] < 1e-5
    )
    assert hf_model.config.pad_token_id is None


@pytest.mark.parametrize(
    ("name", "class_name"),
    [
        ("bart", "BartForSequenceClassification"),
        ("bart", "BartForQuestionAnswering"),
        ("mbart", "MBartForSequenceClassification"),
        ("t5", "T5ForSequenceClassification"),
    ],
)
def test_classifiers_that_read_a_text_twice(name: str, class_name: str) -> None:
    hf_model, tokenizer = zoo.build_head(name, class_name), zoo.tokenizer("roberta")
    hf_model.config.eos_token_id = tokenizer.eos_token_id
    model = ats.Model(hf_model, tokenizer)
    for pair in (None, "a dog ran"):
        ids = tokenizer("the cat sat", pair, return_tensors="pt")
        assert_agreement(model, "the cat sat", pair=pair)
        found = ats.attribute(model, "the cat sat", pair)
        with torch.no_grad():
            output = hf_model(**ids)
        read = list(model.encode("the cat sat", pair).source.strings)
        assert found["source_token"].to_numpy().tolist()[: len(read)] == read
        assert found["source_token"].to_numpy().tolist()[len(read) + 1 :] == read[:-1]
        if "logits" in output:
            assert found.attrs["target_value"] == pytest.approx(float(output.logits.max()), rel=1e-4, abs=1e-5)
    encoded = ats.analyze(model, "the cat sat", measures="block_norm")
    assert encoded.attrs["stack"] == "encoder"
    assert ats.analyze(model, "the cat sat", measures="weight", stack="cross").sizes["query"] == len(encoded["query"])


def test_layers_of_different_sizes_are_in_no_one_table() -> None:
    hf_model = other("pvt_v2", "PvtV2ForImageClassification", num_labels=3)
    with pytest.raises(UnsupportedModel, match="states of different sizes"):
        ats.decomposed(ats.Model(hf_model), tiny_inputs(hf_model))
    assert ats.attribute(ats.Model(hf_model), tiny_inputs(hf_model)).attrs["completeness_error"] < 1e-5


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


@pytest.mark.parametrize("ask", [ats.decomposed, ats.decision])
def test_one_token_is_asked_about(ask: Callable[..., object]) -> None:
    model = ats.Model(zoo.build_head("llama", "AutoModelForCausalLM"))
    with pytest.raises(InputError, match="here one token is meant"):
        ask(model, zoo.inputs("llama"), position="each")


def test_blocks_are_numbers() -> None:
    with pytest.raises(InputError, match="how many sources"):
        ats.decomposed(zoo_model("bert"), zoo.inputs("bert"), block=0)


def test_what_is_known_of_a_tensor_goes_with_it() -> None:
    """Else the memory of a pass over many copies would grow with the number of layers."""
    hf_model = zoo.build("llama")
    frozen = Frozen(hf_model)
    with torch.no_grad(), frozen.running():
        hf_model(**zoo.inputs("llama"), use_cache=False)
        assert not len(frozen._activated)
