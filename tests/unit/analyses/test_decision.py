"""Classes side by side: everything adds up, and is what the single questions give."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

import attnscope as ats
from attnscope.errors import InputError, UnsupportedModel
from tests import zoo
from tests.conftest import zoo_model
from tools.tiny import randomise

TEXT = "the cats sat, singing on the mat"


@pytest.fixture(scope="module", params=["bert", "llama", "gpt-neox"])
def classifier(request: pytest.FixtureRequest) -> ats.Model:
    model = zoo.build_head(request.param, "AutoModelForSequenceClassification")
    return ats.Model(model, zoo.tokenizer(zoo.SPECS[request.param].tokenizer), name="classifier")


def test_words_and_deepest_states_both_add_up_to_each_logit(classifier: ats.Model) -> None:
    found = ats.decision(classifier, TEXT)
    with torch.no_grad():
        logits = classifier.hf_model(**classifier.encode(TEXT).inputs).logits[0]
    np.testing.assert_allclose(found["logit"], logits, rtol=1e-4, atol=1e-5)
    for parts, bias in (("contribution", "bias"), ("deepest", "deepest_bias")):
        np.testing.assert_allclose(found[parts].sum("source") + found[bias], logits, rtol=1e-4, atol=1e-5)
    for parts, bias in (("share", "bias_share"), ("deepest_share", "deepest_bias_share")):
        np.testing.assert_allclose(found[parts].sum("source") + found[bias], 1, rtol=1e-6)
    np.testing.assert_allclose(found["probability"], logits.softmax(-1), rtol=1e-4)
    assert found.attrs["predicted"] == f"LABEL_{int(logits.argmax())}"
    assert found["class"].values.tolist() == ["LABEL_0", "LABEL_1", "LABEL_2"]
    assert float(found["completeness_error"].max()) == found.attrs["completeness_error"] < 1e-5


def test_contributions_are_those_of_attribute(classifier: ats.Model) -> None:
    for unit in ("token", "word"):
        found = ats.decision(classifier, TEXT, unit=unit)
        one = ats.attribute(classifier, TEXT, target="LABEL_1", unit=unit)
        np.testing.assert_allclose(found["contribution"].sel({"class": "LABEL_1"}), one["contribution"], rtol=1e-6)
        assert found["source_token"].values.tolist() == one["source_token"].values.tolist()


@pytest.mark.parametrize("measure", ["weight", "attention_norm", "block_norm"])
def test_attention_is_the_last_layer_s_from_what_the_head_reads(classifier: ats.Model, measure: str) -> None:
    found = ats.decision(classifier, TEXT, measure=measure, unit="token")
    maps = ats.analyze(classifier, TEXT, measures=measure, layers=[2])[measure]
    maps = (maps.mean("head") if "head" in maps.dims else maps).to_numpy()[0]
    row = maps[0 if found.attrs["read_from"].startswith("token 1 ") else -1]
    np.testing.assert_allclose(found["attention"], row / row.sum(), rtol=1e-4)
    assert found.attrs["deepest_layer"] == 2


def test_the_deepest_states_alone_are_read_where_the_head_reads() -> None:
    """In a model of one layer, what enters the deepest layer are the words themselves."""
    spec = zoo.SPECS["bert"]
    config = spec.config()
    config.num_hidden_layers = 1
    torch.manual_seed(0)
    hf_model = AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
    randomise(hf_model)
    found = ats.decision(ats.Model(hf_model.eval(), zoo.tokenizer("bert")), TEXT)
    np.testing.assert_allclose(found["deepest"], found["contribution"], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found["deepest_bias"], found["bias"], rtol=1e-5)


def test_chosen_classes_and_tokens() -> None:
    model = ats.Model(zoo.build_head("bert", "AutoModelForSequenceClassification"), zoo.tokenizer("bert"))
    found = ats.decision(model, TEXT, classes=["LABEL_2", 0])
    assert found["class"].values.tolist() == ["LABEL_2", "LABEL_0"]
    assert "probability" not in found
    speaker = ats.Model(zoo.build_head("llama", "AutoModelForCausalLM"), zoo.tokenizer("gpt"))
    assert ats.decision(speaker, TEXT).sizes["class"] == 1


def test_results_go_to_a_file_and_back(tmp_path) -> None:
    model = ats.Model(zoo.build_head("bert", "AutoModelForSequenceClassification"), zoo.tokenizer("bert"))
    found = ats.decision(model, TEXT)
    for name in ("decision.nc", "decision.zarr"):
        assert ats.load(ats.save(found, tmp_path / name)).identical(found)


def test_mistakes() -> None:
    model = ats.Model(zoo.build_head("bert", "AutoModelForSequenceClassification"), zoo.tokenizer("bert"))
    with pytest.raises(InputError, match="known: LABEL_0"):
        ats.decision(model, TEXT, classes=["LABEL_7"])
    with pytest.raises(InputError, match="no class was named"):
        ats.decision(model, TEXT, classes=[])
    with pytest.raises(InputError, match="unknown map"):
        ats.decision(model, TEXT, measure="value_norm")
    with pytest.raises(UnsupportedModel, match="no head"):
        ats.decision(zoo_model("bert"), TEXT)
