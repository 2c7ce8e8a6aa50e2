"""Words and classes over labelled sentences, in two classifiers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import attnscope as ats
from tests import zoo

LABELLED = [("0", "the cat sat"), ("1", "a good movie"), ("LABEL_2", "bad bad movie"), ("1", "The dog")]


def classifier(seed: int) -> ats.Model:
    model = zoo.build_head("bert", "AutoModelForSequenceClassification", seed=seed)
    return ats.Model(model, zoo.tokenizer("bert"), name=f"classifier {seed}")


@pytest.fixture(scope="module")
def pair() -> tuple[ats.Model, ats.Model]:
    return classifier(0), classifier(1)


def toward(model: ats.Model, sentence: str, label: int, place: int) -> float:
    """By hand: what a token adds to the class of the label, less the mean over classes."""
    each = [float(ats.attribute(model, sentence, target=number)["contribution"][place]) for number in range(3)]
    return each[label] - float(np.mean(each))


def test_words_by_hand(pair: tuple[ats.Model, ats.Model]) -> None:
    found = ats.compare_classes(*pair, LABELLED)
    by_hand = np.array(
        [[toward(model, "the cat sat", 0, 1), toward(model, "The dog", 1, 1)] for model in pair]
    )  # of "the", in both sentences
    at = list(found["word"].to_numpy()).index("the")
    assert int(found["word_count"][at]) == 2
    np.testing.assert_allclose(found["toward_correct"][:, at], by_hand.mean(1), rtol=1e-5)
    change = by_hand[1] - by_hand[0]
    assert float(found["toward_correct_change"][at]) == pytest.approx(change.mean(), rel=1e-4)
    assert float(found["toward_correct_error"][at]) == pytest.approx(change.std(ddof=1) / np.sqrt(2), rel=1e-4)
    np.testing.assert_allclose(found["contribution"].sum("class"), 0, atol=1e-6)
    known = found["toward_correct_q"].notnull()
    assert (found["word_count"].to_numpy()[known.to_numpy()] > 1).all()
    t = found["toward_correct_change"] / found["toward_correct_error"]
    p = 2 * stats.t.sf(np.abs(t.to_numpy()[known]), found["word_count"].to_numpy()[known] - 1)
    np.testing.assert_allclose(found["toward_correct_q"].to_numpy()[known], stats.false_discovery_control(p), rtol=1e-6)
    said = [int(ats.attribute(pair[1], sentence).attrs["target"].removeprefix("LABEL_")) for _, sentence in LABELLED]
    assert float(found["accuracy"][1]) == np.mean(np.array(said) == [0, 1, 2, 1])
    assert found["class"].to_numpy().tolist() == ["LABEL_0", "LABEL_1", "LABEL_2"]


def test_a_classifier_against_itself_and_alone(pair: tuple[ats.Model, ats.Model]) -> None:
    same = ats.compare_classes(pair[0], pair[0], LABELLED)
    assert not same["toward_correct_change"].to_numpy().any()
    alone = ats.compare_classes(None, pair[0], LABELLED)
    assert "toward_correct_change" not in alone
    # What is tested of one model is what its words add, not the change of it that there is none of.
    known = alone["word_texts"].to_numpy() > 1
    error = alone["toward_correct_error"].to_numpy()[known]
    t = alone["toward_correct"].to_numpy()[0, known] / error
    p = 2 * stats.t.sf(np.abs(t), alone["word_texts"].to_numpy()[known] - 1)
    np.testing.assert_allclose(alone["toward_correct_q"].to_numpy()[known], stats.false_discovery_control(p), rtol=1e-6)
    spread = error * np.sqrt(alone["word_texts"].to_numpy()[known])
    np.testing.assert_allclose(
        alone["toward_correct_effect"].to_numpy()[known], alone["toward_correct"].to_numpy()[0, known] / spread
    )
    np.testing.assert_array_equal(alone["contribution"][0], same["contribution"][0])


def test_a_file_with_and_without_header(pair: tuple[ats.Model, ats.Model], tmp_path: Path) -> None:
    rows = "".join(f"{label}\t{sentence}\n" for label, sentence in LABELLED)
    (tmp_path / "with.tsv").write_text("label\tsentence\n" + rows)
    (tmp_path / "without.tsv").write_text(rows)
    told: list[tuple[int, int]] = []
    expected = ats.compare_classes(*pair, LABELLED, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (4, 4)
    turned = "".join(f"{sentence}\t{label}\n" for label, sentence in LABELLED)
    (tmp_path / "turned.tsv").write_text("sentence\tlabel\n" + turned)
    for name in ("with.tsv", "without.tsv", "turned.tsv"):
        assert ats.compare_classes(*pair, tmp_path / name).identical(expected)


@pytest.mark.parametrize(
    ("labelled", "said"),
    [
        ([("1", "a"), ("LABEL_1", "b")], "all 2 sentences have the label LABEL_1"),
        ([], "no labelled sentence"),
        ([("LABEL_9", "a")], "no class 'LABEL_9'; its classes: LABEL_0"),
        ([("7", "a")], "no class '7'"),
        ([("0", "the cat"), ("1", " ")], "sentence 2: the text is empty"),
        ("nowhere.tsv", "nowhere.tsv"),
    ],
)
def test_mistakes_are_one_sentence(pair: tuple[ats.Model, ats.Model], labelled: Any, said: str) -> None:
    with pytest.raises(ats.AttnscopeError, match=said) as caught:
        ats.compare_classes(*pair, labelled)
    assert "\n" not in str(caught.value)


def test_lines_and_models_that_do_not_fit(pair: tuple[ats.Model, ats.Model], bert: ats.Model, tmp_path: Path) -> None:
    (tmp_path / "bad.tsv").write_text("0\ta cat\nno tab here\n")
    with pytest.raises(ats.InputError, match="line 2 of"):
        ats.compare_classes(*pair, tmp_path / "bad.tsv")
    with pytest.raises(ats.UnsupportedModel, match="compare two classifiers"):
        ats.compare_classes(bert, pair[0], LABELLED)
    other = classifier(2)
    other.hf_model.config.id2label = {0: "a", 1: "b", 2: "c"}
    with pytest.raises(ats.InputError, match="same classes"):
        ats.compare_classes(pair[0], other, LABELLED)
