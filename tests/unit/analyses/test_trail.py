"""One token, layer by layer: the rows of what the whole model's methods give."""

import numpy as np
import pytest

import attnscope as ats
from attnscope.analyses.trail import trail
from attnscope.errors import InputError
from tests import zoo
from tests.conftest import zoo_model

TEXT = "the cat sat on the mat"


@pytest.mark.parametrize("target", [None, "sat", 3, "3"])
@pytest.mark.parametrize("method", ["rollout", "max_flow"])
@pytest.mark.parametrize("measure", ["weight", "block_norm"])
def test_rows_of_rollout_and_max_flow(method: str, measure: str, target: str | int | None) -> None:
    model = zoo_model("bert")
    found = trail(model, TEXT, method=method, measure=measure, target=target)
    whole = getattr(ats, method)(model, TEXT, measure=measure)[method]
    np.testing.assert_allclose(found[method], whole[:, 0 if target is None else 3], rtol=1e-6)
    np.testing.assert_allclose(found["share"].sum("source"), 1)
    assert found.attrs["target"] == ("[CLS]" if target is None else "sat")
    assert found.attrs["measure"] == measure


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_rows_of_the_exact_parts(name: str) -> None:
    model = zoo_model(name)
    found = trail(model, TEXT, method="decomposed")
    whole = ats.decomposed(model, TEXT)
    place = 0 if name == "bert" else -1
    np.testing.assert_allclose(found["decomposed"], whole["decomposed"][:, place], rtol=1e-5)
    assert found.attrs["target"] == str(whole["query_token"].values[place])
    assert found.attrs["reconstruction_error"] < 1e-5


def test_a_translation_s_token_goes_back_to_both_texts() -> None:
    model = ats.Model(zoo.build_head("bart", "AutoModelForSeq2SeqLM"), zoo.tokenizer("roberta"))
    found = trail(model, "the cat", "a dog sat", method="decomposed", target="sat")
    whole = ats.decomposed(model, "the cat", "a dog sat")
    place = whole["query_token"].values.tolist().index("sat")
    np.testing.assert_allclose(found["decomposed"], whole["decomposed"][:, place], rtol=1e-5)
    assert found.sizes["source"] == whole.sizes["source"] > whole.sizes["query"]


def test_words(tmp_path) -> None:
    found = trail(zoo_model("bert"), "the cats sat, singing", unit="word", target="singing")
    assert found.attrs["target"] == "singing"
    assert ats.load(ats.save(found, tmp_path / "trail.nc")).identical(found)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"method": "rolout"}, "did you mean 'rollout'"),
        ({"target": "logit:LABEL_0"}, "to lead from a class"),
        ({"target": "dgo"}, "unknown target"),
        ({"target": 99}, "there is no token 99"),
        ({"method": "decomposed", "unit": "word"}, "are of tokens"),
        ({"method": "decomposed", "stack": "encoder"}, "no stack to choose"),
    ],
)
def test_mistakes(options: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        trail(zoo_model("bert"), TEXT, **options)
