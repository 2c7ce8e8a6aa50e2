import numpy as np
import pytest

import attnscope as ats
from attnscope.errors import InputError
from tests import zoo
from tests.conftest import zoo_model

TEXT = "the cat sat on the mat"


def by_hand(model: ats.Model, measure: str, identity: bool) -> np.ndarray:
    found = ats.analyze(model, TEXT, measures=measure)[measure]
    maps = (found.mean("head") if "head" in found.dims else found).to_numpy().astype(float)
    rolled = np.eye(maps.shape[-1])
    for one in maps:
        one = one / one.sum(-1, keepdims=True)
        rolled = ((one + np.eye(len(one))) / 2 if identity else one) @ rolled
    return rolled


@pytest.mark.parametrize(
    ("measure", "identity"),
    [("weight", True), ("attention_norm", True), ("residual_norm", False), ("block_norm", False)],
)
@pytest.mark.parametrize("name", ["bert", "llama"])
def test_rollout_of_a_model(name: str, measure: str, identity: bool) -> None:
    model = zoo_model(name)
    found = ats.rollout(model, TEXT, measure=measure)
    assert found["rollout"].dims == ("layer", "query", "source")
    np.testing.assert_allclose(found["rollout"][-1], by_hand(model, measure, identity), atol=1e-6)
    assert found["layer"].values.tolist() == [1, 2]
    assert found["source_token"].values.tolist() == found["query_token"].values.tolist()
    assert found.attrs["residual"] == ("added as (A + I) / 2" if identity else "in the measure")
    assert found.attrs["reconstruction_error"] < 1e-5


def test_flow_of_a_model() -> None:
    model = zoo_model("bert")
    steps: list[tuple[int, int]] = []
    found = ats.max_flow(model, TEXT, layers=[2], progress=lambda done, count: steps.append((done, count)))
    assert found["max_flow"].sizes["layer"] == 1
    rolled = ats.rollout(model, TEXT, layers=[2])["rollout"].to_numpy()
    assert (found["max_flow"].to_numpy() >= rolled - 1e-6).all()
    assert found.attrs["capacity_resolution"] < 1e-8
    assert steps[-1] == (found.sizes["query"], found.sizes["query"])


def test_results_go_to_a_file_and_back(tmp_path) -> None:
    found = ats.rollout(zoo_model("bert"), TEXT)
    ats.save(found, tmp_path / "whole.nc")
    assert ats.load(tmp_path / "whole.nc").identical(found)


def test_stacks_of_an_encoder_decoder() -> None:
    model = ats.Model(zoo.build("bart"), zoo.tokenizer("roberta"))
    assert ats.rollout(model, TEXT).attrs["stack"] == "encoder"
    found = ats.rollout(model, TEXT, "a dog ran", stack="decoder")
    assert np.triu(found["rollout"].to_numpy()[-1], 1).max() < 1e-6
    with pytest.raises(InputError, match="cross-attention lead out"):
        ats.rollout(model, TEXT, "a dog ran", stack="cross")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"measure": "value_norm"}, "unknown map 'value_norm'"),
        ({"measure": "blok_norm"}, "did you mean 'block_norm'"),
        ({"layers": [7]}, "no attention layer 7"),
        ({"layers": []}, "no layer was named"),
    ],
)
def test_mistakes(options: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        ats.rollout(zoo_model("bert"), TEXT, **options)
    with pytest.raises(InputError, match=named):
        ats.max_flow(zoo_model("bert"), TEXT, **options)


def test_words_in_place_of_tokens() -> None:
    model, text = zoo_model("bert"), "the cats sat, singing"
    found = ats.rollout(model, text, unit="word")
    words = ats.analyze(model, text, measures="block_norm", unit="word")
    assert found["source_token"].values.tolist() == words["key_token"].values.tolist()
    assert found.sizes["source"] < ats.rollout(model, text).sizes["source"]
    np.testing.assert_allclose(found["rollout"].sum("source"), 1, atol=1e-6)
