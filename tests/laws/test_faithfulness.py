"""Faithfulness: what is masked, what is measured, and what is concluded from it, each worked out by hand once more."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attnscope as ats
from attnscope.analyses.faithfulness import faithfulness
from attnscope.errors import InputError, UnsupportedModel
from attnscope.methods.faithfulness import beats, count, highest, intervals, resampled, standing
from attnscope.models.variants import Variant, without
from tests import zoo

CLASSIFIER = "AutoModelForSequenceClassification"
TEXTS = ["the cat sat on the mat", "a dog ran", "the cats and the dogs sat oddly, and ran", "a mat"]


def model_of(name: str = "bert", head: str = CLASSIFIER) -> ats.Model:
    return ats.Model(zoo.build_head(name, head), zoo.tokenizer(zoo.SPECS[name].tokenizer))


@given(st.integers(0, 2**31), st.integers(2, 30), st.floats(0.5, 99.5), st.booleans())
def test_the_highest_are_the_highest(seed: int, size: int, percent: float, ties: bool) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, 4, size).astype(float) if ties else random.normal(size=size)
    eligible = random.random(size) < 0.7
    eligible[:2] = True
    (chosen,) = highest(scores, eligible, [percent])
    assert not (chosen & ~eligible).any()
    assert 1 <= chosen.sum() == count(int(eligible.sum()), percent) < eligible.sum()
    assert scores[chosen].min() >= scores[eligible & ~chosen].max()
    for one, other in itertools.product(np.flatnonzero(chosen), np.flatnonzero(eligible & ~chosen)):
        assert scores[one] > scores[other] or one < other


@given(st.integers(0, 2**31), st.integers(2, 40))
def test_more_per_cent_take_away_more(seed: int, size: int) -> None:
    chosen = highest(np.random.default_rng(seed).normal(size=size), np.ones(size, bool))
    assert (chosen[1:] >= chosen[:-1]).all()


@pytest.mark.parametrize(
    ("tokens", "percent", "expected"), [(10, 10, 1), (10, 30, 3), (5, 50, 3), (2, 90, 1), (3, 1, 1)]
)
def test_counts(tokens: int, percent: float, expected: int) -> None:
    assert count(tokens, percent) == expected


def test_intervals_are_those_of_drawing_again() -> None:
    random = np.random.default_rng(0)
    values = random.normal(1, 2, (3, 400))
    found = intervals(values, resampled(400, 4000, 1))
    spread = 1.96 * values.std(-1) / 20
    np.testing.assert_allclose(found.mean, values.mean(-1))
    np.testing.assert_allclose(found.low, values.mean(-1) - spread, atol=0.03)
    np.testing.assert_allclose(found.high, values.mean(-1) + spread, atol=0.03)
    drawn = [values[0][random.integers(0, 400, 400)].mean() for _ in range(4000)]
    np.testing.assert_allclose(np.quantile(drawn, [0.025, 0.975]), [found.low[0], found.high[0]], atol=0.03)


def test_pairs_of_texts_tell_what_single_intervals_do_not() -> None:
    random = np.random.default_rng(0)
    texts = random.normal(0, 1, 200)
    values = np.stack([texts + 0.1, texts + random.normal(0, 0.1, 200), texts + 0.1 + random.normal(0, 0.1, 200)])
    draws = resampled(200, 2000, 0)
    alone = intervals(values, draws)
    assert alone.low[0] < alone.high[1]
    compared = standing(values, draws)
    assert not compared.tied[1]
    assert compared.tied[compared.best]
    assert compared.tied[0] == compared.tied[2] == True  # noqa: E712 - NumPy's own kind of True
    assert beats(values, 1, draws).low[0] > 0


def test_one_text_has_no_interval() -> None:
    draws = resampled(1, 10, 0)
    found = standing(np.array([[0.2], [0.1]]), draws)
    assert np.isnan(found.behind.low).all()
    assert found.tied.all()


def probability(model: ats.Model, ids: list[int], label: int) -> float:
    with torch.no_grad():
        return float(model.hf_model(input_ids=torch.tensor([ids])).logits[0].softmax(-1)[label])


@pytest.mark.parametrize("how", ["mask", "remove"])
def test_curves_are_those_of_masking_by_hand(how: str) -> None:
    model, text = model_of(), TEXTS[2]
    found = faithfulness(model, text, methods=["decomposed", "weight"], how=how)
    tokens = model.encode(text).source
    assert tokens is not None
    ids = list(tokens.ids)
    label = int(torch.tensor([probability(model, ids, number) for number in range(3)]).argmax())
    whole = probability(model, ids, label)
    content = [place for place, special in enumerate(tokens.special) if not special]

    def left(gone: list[int]) -> float:
        if how == "remove":
            return probability(model, [number for place, number in enumerate(ids) if place not in gone], label)
        mask = model.tokenizer.mask_token_id
        return probability(model, [mask if place in gone else number for place, number in enumerate(ids)], label)

    for method in ("decomposed", "weight"):
        scores = ats.attribute(model, text, method=method)["contribution"].to_numpy()
        order = sorted(content, key=lambda place: (-scores[place], place))
        rows = found.sel({"method": method})
        falls = []
        for fraction in rows["fraction"].values:
            top = order[: count(len(order), 100 * fraction)]
            rest = [place for place in content if place not in top]
            falls.append(whole - left(top))
            assert float(rows["comprehensiveness"].sel(fraction=fraction)) == pytest.approx(falls[-1], abs=1e-5)
            expected = whole - left(rest)
            assert float(rows["sufficiency"].sel(fraction=fraction)) == pytest.approx(expected, abs=1e-5)
        assert float(rows["aopc"]) == pytest.approx(np.mean(falls), abs=1e-5)


def test_batches_change_no_number() -> None:
    model = model_of()
    found = [faithfulness(model, TEXTS, methods="weight", budget=budget) for budget in (1, 40, 4096)]
    for other in found[1:]:
        for name in ("comprehensiveness", "sufficiency", "probability"):
            np.testing.assert_allclose(found[0][name], other[name], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "head"), [("llama", CLASSIFIER), ("llama", "AutoModelForCausalLM"), ("bert", "AutoModelForMaskedLM")]
)
def test_decisions_of_other_heads(name: str, head: str) -> None:
    model = model_of(name, head)
    texts = ["the [MASK] sat on a mat", "a dog [MASK] oddly"] if "Masked" in head else TEXTS[:3]
    found = faithfulness(model, texts, methods=["decomposed", "rollout_block_norm"], percent=[20, 60])
    assert found.attrs["how"] == "mask"
    for text, expected in zip(texts, found["probability"].values, strict=True):
        inputs = model.encode(text).inputs
        with torch.no_grad():
            logits = model.hf_model(**inputs).logits[0]
        place = (
            -1 if "Causal" in head else int((inputs["input_ids"][0] == 4).nonzero()[0]) if "Masked" in head else None
        )
        chosen = logits if place is None else logits[place]
        assert expected == pytest.approx(float(chosen.softmax(-1).max()), abs=1e-5)


def test_the_mask_to_fill_is_neither_masked_nor_lost() -> None:
    model = model_of("bert", "AutoModelForMaskedLM")
    inputs = model.encode("the cat [MASK] on a mat")
    assert inputs.source is not None
    place = inputs.source.ids.index(model.tokenizer.mask_token_id)
    gone = np.zeros(len(inputs.source), bool)
    gone[1:3] = True
    variant = without(inputs, gone, place, "remove", model.tokenizer)
    assert variant.position == place - 2
    assert int(variant.inputs["input_ids"][0, variant.position]) == model.tokenizer.mask_token_id
    assert without(inputs, gone, place, "mask", model.tokenizer).position == place


def test_a_removed_last_token_leaves_the_one_before() -> None:
    model = model_of("llama", "AutoModelForCausalLM")
    inputs = model.encode("the cat sat")
    assert inputs.source is not None
    size = len(inputs.source)
    gone = np.zeros(size, bool)
    gone[-2:] = True
    assert without(inputs, gone, size - 1, "remove", None).position == size - 3


def test_without_a_mask_token_tokens_are_removed() -> None:
    model = model_of("llama", CLASSIFIER)
    model.tokenizer.mask_token = None
    assert faithfulness(model, TEXTS[:2], methods="decomposed").attrs["how"] == "remove"
    with pytest.raises(InputError, match="no mask token"):
        faithfulness(model, TEXTS[:2], how="mask")


def test_labels_give_accuracy() -> None:
    model = model_of()
    predicted = [int(model.hf_model(**model.encode(text).inputs).logits.argmax()) for text in TEXTS]
    labels = [f"LABEL_{predicted[0]}", str(predicted[1]), (predicted[2] + 1) % 3, predicted[3]]
    found = faithfulness(model, TEXTS, labels=labels, methods="weight")
    assert found.attrs["accuracy"] == 0.75
    assert found["accuracy"].dims == ("method", "fraction")
    right = faithfulness(model, TEXTS, labels=predicted, methods="weight")
    np.testing.assert_allclose(right["accuracy"], right["agreement"])


def test_texts_too_short_are_left_out_and_counted() -> None:
    model = model_of()
    found = faithfulness(model, [*TEXTS, "a"], labels=[0, 1, 2, 0, 1], methods="weight")
    assert found.attrs["skipped_texts"] == 1
    assert found.sizes["text"] == 4
    with pytest.raises(InputError, match="two tokens"):
        faithfulness(model, "a", methods="weight")


def test_the_control_is_always_there_and_ties_are_said() -> None:
    found = faithfulness(model_of(), TEXTS, methods="weight")
    assert found["method"].values.tolist() == ["weight", "random"]
    assert found.attrs["verdict"].endswith("has the highest AOPC on these 4 texts; 4 texts say nothing about others")
    assert found["verdict"].values.tolist() == ["too few texts", "the control"]
    enough = faithfulness(model_of(), [*TEXTS, "the dog sat on a mat"], methods="weight")
    assert enough.attrs["verdict"].startswith(("trust", "no method", "weight is ahead"))
    alone = faithfulness(model_of(), TEXTS[0], methods="weight")
    assert "one text says nothing" in alone.attrs["verdict"]
    assert np.isnan(alone["aopc_low"]).all()


def test_a_class_of_ones_own() -> None:
    model = model_of()
    found = faithfulness(model, TEXTS[:2], methods="weight", target="LABEL_2")
    expected = [probability(model, list(model.encode(text).source.ids), 2) for text in TEXTS[:2]]
    np.testing.assert_allclose(found["probability"], expected, atol=1e-5)


def test_tokens_that_are_read_twice_count_with_both_readings() -> None:
    model, text = model_of("bart"), TEXTS[0]
    found = faithfulness(model, text, methods="decomposed", percent=[30])
    contribution = ats.attribute(model, text)["contribution"].to_numpy()
    tokens = model.encode(text).source
    assert tokens is not None
    size = len(tokens)
    scores = contribution[:size] + np.append(contribution[size + 1 :], 0)
    content = [place for place, special in enumerate(tokens.special) if not special]
    top = sorted(content, key=lambda place: -scores[place])[: count(len(content), 30)]
    ids = list(tokens.ids)
    label = int(np.argmax([probability(model, ids, number) for number in range(3)]))
    masked = [model.tokenizer.mask_token_id if place in top else number for place, number in enumerate(ids)]
    fall = probability(model, ids, label) - probability(model, masked, label)
    assert float(found["comprehensiveness"].sel({"method": "decomposed"})[0]) == pytest.approx(fall, abs=1e-5)


def test_results_go_to_a_file_and_back(tmp_path) -> None:
    found = faithfulness(model_of(), TEXTS[:2], methods="weight")
    ats.save(found, tmp_path / "faithfulness.nc")
    assert ats.load(tmp_path / "faithfulness.nc").identical(found)


def test_a_model_in_training_is_measured_without_dropout() -> None:
    hf_model = zoo.build_head("bert", CLASSIFIER).train()
    model = ats.Model(hf_model, zoo.tokenizer("bert"))
    one, two = (faithfulness(model, TEXTS[:2], methods="weight") for _ in range(2))
    np.testing.assert_array_equal(one["comprehensiveness"], two["comprehensiveness"])
    assert hf_model.training


@pytest.mark.parametrize(
    ("name", "head", "options", "named"),
    [
        ("bert", CLASSIFIER, {"methods": ["wieght"]}, "did you mean 'weight'"),
        ("bert", CLASSIFIER, {"labels": ["LABEL_9"] * 4}, "no class 'LABEL_9'; its classes: LABEL_0"),
        ("bert", CLASSIFIER, {"labels": [0]}, "4 texts, but 1 labels"),
        ("bert", CLASSIFIER, {"percent": [0]}, "between 0 and 100"),
        ("bert", CLASSIFIER, {"how": "blank"}, "unknown way"),
        ("bert", CLASSIFIER, {"samples": 0}, "samples must be a whole number from 1"),
        ("bert", CLASSIFIER, {"seed": -1}, "seed must be a whole number from 0"),
        ("bert", CLASSIFIER, {"target": (0, 1)}, "one class"),
        ("bert", CLASSIFIER, {"target": 9}, "known: LABEL_0"),
        ("bert", "AutoModel", {}, "no head"),
        ("bert", "AutoModelForQuestionAnswering", {}, "answers with a part of the text"),
        ("bert", "AutoModelForTokenClassification", {}, "decides for every token"),
        ("bert", "AutoModelForMaskedLM", {}, r"fills gaps; put \[MASK\]"),
        ("bart", "AutoModelForSeq2SeqLM", {}, "writes a text, token by token"),
    ],
)
def test_mistakes(name: str, head: str, options: dict[str, object], named: str) -> None:
    hf_model = zoo.build(name) if head == "AutoModel" else zoo.build_head(name, head)
    model = ats.Model(hf_model, zoo.tokenizer(zoo.SPECS[name].tokenizer))
    with pytest.raises((InputError, UnsupportedModel), match=named):
        faithfulness(model, TEXTS, **({"methods": "decomposed"} | options))


def test_a_token_of_ones_own() -> None:
    model = model_of("llama", "AutoModelForCausalLM")
    found = faithfulness(model, TEXTS[:2], methods="decomposed", target="a")
    number = model.tokenizer.get_vocab()["a"]
    with torch.no_grad():
        logits = [model.hf_model(**model.encode(text).inputs).logits[0, -1] for text in TEXTS[:2]]
    expected = [float(one.softmax(-1)[number]) for one in logits]
    np.testing.assert_allclose(found["probability"], expected, atol=1e-6)


def test_no_text() -> None:
    with pytest.raises(InputError, match="no text"):
        faithfulness(model_of(), [])


def test_one_number_is_no_class() -> None:
    hf_model = zoo.build_head("bert", CLASSIFIER)
    hf_model.classifier = torch.nn.Linear(32, 1)
    hf_model.config.num_labels = 1
    with pytest.raises(InputError, match="no probability that could fall"):
        faithfulness(ats.Model(hf_model, zoo.tokenizer("bert")), TEXTS, methods="decomposed")


def test_variants_know_their_length() -> None:
    assert Variant({"input_ids": torch.ones(1, 5)}, None).length == 5
