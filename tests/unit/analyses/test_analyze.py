"""The result of an analysis: its axes, labels and attributes."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch

import attnscope as ats
from attnscope.measures import MEASURES
from tests import zoo
from tests.conftest import zoo_model

TEXT = "The cat sat, and 2 dogs."


def test_labels_are_the_tokens(bert: ats.Model) -> None:
    result = ats.analyze(bert, TEXT)
    tokens = bert.encode(TEXT).source
    for side in ("query", "key"):
        assert result[f"{side}_token"].values.tolist() == list(tokens.strings)
    assert result["key_token"].values[0] == "[CLS]"
    assert result["layer"].values.tolist() == [1, 2]
    assert result["head"].values.tolist() == [1, 2, 3, 4]


def test_attributes_say_what_was_done(bert: ats.Model) -> None:
    attributes = ats.analyze(bert, TEXT, "a dog", measures=["weight", "value_norm"]).attrs
    assert attributes["text"] == TEXT
    assert attributes["pair"] == "a dog"
    assert attributes["model"] == "bert"
    assert attributes["architecture"] == "BertModel"
    assert attributes["dtype"] == "float32"
    assert attributes["stack"] == "self"
    assert attributes["measures"] == "weight, value_norm"
    assert 0 <= attributes["reconstruction_error"] < 1e-5
    assert attributes["least_weight_sum"] == pytest.approx(1)
    assert {"attnscope_version", "torch_version", "transformers_version"} <= set(attributes)


def test_the_error_is_the_largest_of_all_layers(bert: ats.Model) -> None:
    result = ats.analyze(bert, TEXT)
    assert result.attrs["reconstruction_error"] == float(result["law_error"].max())
    assert result["law"].values.tolist() == ["attention", "block"]


@pytest.mark.parametrize("layers", [[2], (1, 2), {1}, [2, 1]])
def test_layers_are_in_their_order(bert: ats.Model, layers: list[int]) -> None:
    assert ats.analyze(bert, TEXT, layers=layers)["layer"].values.tolist() == sorted(layers)


def test_heads_do_not_change_sums_over_heads(bert: ats.Model) -> None:
    some, everything = (ats.analyze(bert, TEXT, measures=list(MEASURES), heads=heads) for heads in ([3], None))
    for name in MEASURES:
        expected = everything[name].sel(head=[3]) if "head" in everything[name].dims else everything[name]
        np.testing.assert_allclose(some[name], expected, rtol=1e-5, atol=1e-6)


def test_names_may_be_given_twice_or_as_one(bert: ats.Model) -> None:
    assert list(ats.analyze(bert, TEXT, measures="weight").data_vars) == ["weight", "law_error"]
    assert list(ats.analyze(bert, TEXT, measures=["weight", "weight"]).data_vars) == ["weight", "law_error"]


def test_layers_that_are_run_again_are_told_and_can_be_stopped(bert: ats.Model) -> None:
    text = "the cat sat on the mats, " * 6
    told: list[tuple[int, int]] = []
    ats.analyze(bert, text, measures="value_zeroing", progress=lambda done, total: told.append((done, total)))
    again = told[told.index((2, 2)) + 1 :]
    assert len(again) > 1
    assert again == [(done, len(again)) for done in range(1, len(again) + 1)]

    def stop(_done: int, total: int) -> None:
        if total == len(again):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ats.analyze(bert, text, measures="value_zeroing", progress=stop)


def test_progress_is_told_layer_by_layer(bert: ats.Model) -> None:
    told: list[tuple[int, int]] = []
    ats.analyze(bert, TEXT, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    told.clear()
    windows = ats.analyze(bert, "cat " * 100, stride=40, progress=lambda done, total: told.append((done, total)))
    count = windows.sizes["window"]
    assert told == [(done, 2 * count) for done in range(1, 2 * count + 1)]


@pytest.mark.parametrize("reduce", ["keys", "queries", "categories", "topk"])
def test_reductions_drop_their_axis(bert: ats.Model, reduce: str) -> None:
    dims = {
        "keys": ("layer", "head", "query"),
        "queries": ("layer", "head", "key"),
        "categories": ("layer", "head", "category"),
        "topk": ("layer", "head", "query", "rank"),
    }
    result = ats.analyze(bert, TEXT, measures=["weight", "block_norm"], reduce=reduce, top=3)
    assert result["weight"].dims == dims[reduce]
    assert result["block_norm"].dims == tuple(dim for dim in dims[reduce] if dim != "head")
    if reduce == "topk":
        assert result["rank"].values.tolist() == [1, 2, 3]
        assert result["weight_key"].dtype.kind == "i"
        assert bool((result["weight"].diff("rank") <= 0).all())


def test_more_ranks_than_keys(bert: ats.Model) -> None:
    result = ats.analyze(bert, "cat", reduce="topk", top=50)
    assert result.sizes["rank"] == 3


def test_categories_of_a_users_own(bert: ats.Model) -> None:
    scheme = {"cats": lambda tokens, index: "cat" in tokens.strings[index], "words": ["dogs"]}
    result = ats.analyze(bert, TEXT, measures="weight", reduce="categories", categories=scheme)
    assert result["category"].values.tolist() == ["cats", "words", "other"]
    np.testing.assert_allclose(result["weight"].sum("category"), 1, rtol=1e-5)


@pytest.mark.parametrize(("name", "first"), [("bert", "[CLS]"), ("llama", "first")])
def test_categories_fit_the_kind_of_model(name: str, first: str) -> None:
    names = ats.analyze(zoo_model(name), TEXT, reduce="categories")["category"].values.tolist()
    assert first.lower() in names[0].lower()


def test_images_are_labelled_by_place() -> None:
    labels = ats.analyze(zoo_model("vit"), zoo.inputs("vit"))["key_token"].values.tolist()
    assert labels == ["[CLS]", *(f"{row},{column}" for row in (1, 2, 3) for column in (1, 2, 3))]
    deit = ats.analyze(zoo_model("deit"), zoo.inputs("deit"))["key_token"].values.tolist()
    assert deit[:2] == ["[CLS]", "[extra 2]"]
    assert deit[2] == "1,1"


def test_two_sides_of_a_translation() -> None:
    model = zoo_model("bart")
    result = ats.analyze(model, "the cat sat on the mat", "a dog")
    encoded = model.encode("the cat sat on the mat", "a dog")
    assert result.attrs["stack"] == "cross"
    assert result["query_token"].values.tolist() == list(encoded.target.strings)
    assert result["key_token"].values.tolist() == list(encoded.source.strings)


def test_one_token_alone(bert: ats.Model) -> None:
    result = ats.analyze(bert, {"input_ids": torch.tensor([[70]])}, measures=list(MEASURES))
    np.testing.assert_allclose(result["weight"], 1, rtol=1e-6)
    np.testing.assert_allclose(result["mixing_ratio"], 0, atol=1e-6)


def test_measures_behind_words_keep_their_names(bert: ats.Model) -> None:
    result = ats.analyze(bert, "cats meowing", measures=list(MEASURES), unit="word")
    assert set(MEASURES) <= set(result.data_vars)
    assert result["block_norm"].dims == ("layer", "query", "key")
    assert result["key_token"].values.tolist() == ["[CLS]", "cats", "meowing", "[SEP]"]


@pytest.mark.parametrize("measures", [["weight", "block_norm"], ["weight", "feedforward_norm"]])
def test_a_fold_gets_each_layers_maps_and_says_what_is_kept(bert: ats.Model, measures: list[str]) -> None:
    seen: list[set[str]] = []

    def largest(maps: Mapping[str, np.ndarray]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        seen.append(set(maps))
        return {
            f"largest_{name}": (("query",), values.max((0, -1) if values.ndim == 3 else -1))
            for name, values in maps.items()
        }

    found = ats.analyze(bert, "the cat sat", measures=measures, fold=largest)
    whole = ats.analyze(bert, "the cat sat", measures=measures)
    for name in measures:
        over = [dim for dim in ("head", "key") if dim in whole[name].dims]
        np.testing.assert_array_equal(found[f"largest_{name}"], whole[name].max(over))
        assert name not in found
    assert found.attrs["reconstruction_error"] == whole.attrs["reconstruction_error"]
    assert {frozenset(names) for names in seen} <= {frozenset(measures), frozenset({"weight"}), frozenset(measures[1:])}
    with pytest.raises(ats.InputError, match="fold="):
        ats.analyze(bert, "the cat sat", fold=largest, reduce="keys")
