"""Each view's numbers against a direct computation from full maps."""

from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import attnscope as ats
from attnscope.analyses.views import VIEWS
from attnscope.analyses.views import search as search_view
from attnscope.analyses.views.maps import BINS, kept_of
from attnscope.artifacts import Answer, Change, Faithfulness, Head, Heads, Maps, Parcel, Search, Words
from attnscope.methods.comparison import category_mass, entropy, jensen_shannon
from attnscope.methods.max_flow import max_flow
from attnscope.methods.rollout import rollout
from attnscope.methods.rows import shares
from attnscope.methods.tracing import row_shares
from attnscope.text.words import between_words
from tests.conftest import zoo_model
from tests.unit.analyses.views.models import TEXT, classifier, other_classifier, with_head
from tests.unit.analyses.views.test_contract import ask


def full(model: ats.Model, measure: str, **options: Any) -> NDArray[np.float64]:
    return ats.analyze(model, TEXT, measures=measure, **options)[measure].to_numpy().astype(np.float64)


def dense(parcel: Parcel) -> NDArray[np.float64]:
    """Shares as whole maps again."""
    key, share = parcel.arrays["key"].astype(np.int64), cast("NDArray[np.float32]", parcel.arrays["share"])
    found = np.zeros((*key.shape[:3], key.shape[2]))
    np.put_along_axis(found, key, share, -1)
    return found


@pytest.mark.parametrize("measure", ["weight", "head_norm", "block_norm", "feedforward_norm"])
def test_maps_hold_every_share(measure: str) -> None:
    found = ask({"a": classifier()}, "maps", measure=measure)
    artifact = cast("Maps", found.artifact)
    expected = full(classifier(), measure)
    expected = expected if expected.ndim == 4 else expected[:, None]
    np.testing.assert_allclose(dense(found), row_shares(expected), atol=1e-6)
    np.testing.assert_allclose(found.arrays["total"], expected.sum(-1), rtol=1e-5)
    assert artifact.floor == 0
    assert artifact.holds_residual == (measure in {"block_norm", "feedforward_norm"})
    assert bool(artifact.heads) == (measure in {"weight", "head_norm"})
    share = cast("NDArray[np.float32]", found.arrays["share"])
    assert (np.diff(share, axis=-1) <= 0).all()


def test_the_histogram_is_of_the_largest_share_over_heads() -> None:
    found = ask({"a": classifier()}, "maps", measure="weight")
    largest = row_shares(full(classifier(), "weight")).max(1).ravel()
    edges, counts = (cast("NDArray[np.float32]", found.arrays[f"histogram_{name}"]) for name in ("edge", "count"))
    assert counts.sum() == largest.size
    assert edges[0] == 0
    assert largest.max() <= edges[-1] <= largest.max() + 2 * BINS / 1000
    # Shares on the border of two bins may fall to either side in another precision.
    expected, _ = np.histogram(largest, bins=edges.astype(np.float64))
    assert np.abs(expected - counts).sum() <= 2


def test_maps_of_words() -> None:
    tokens = classifier().encode(TEXT).source
    assert tokens is not None
    expected = row_shares(between_words(full(classifier(), "weight"), tokens.words))
    np.testing.assert_allclose(
        dense(ask({"a": classifier()}, "maps", measure="weight", unit="word")), expected, atol=1e-6
    )


@pytest.mark.parametrize(("measure", "residual"), [("weight", False), ("block_norm", True)])
def test_readings_over_layers(measure: str, residual: bool) -> None:
    mixing = shares(full(classifier(), measure), identity=not residual)
    rolled = dense(ask({"a": classifier()}, "maps", measure=measure, reading="cumulative"))[:, 0]
    np.testing.assert_allclose(rolled, rollout(mixing, identity=False), atol=1e-6)
    flowed = dense(ask({"a": classifier()}, "maps", measure=measure, reading="flow", unit="word"))[:, 0]
    by_word = shares(full(classifier(), measure, unit="word"), identity=not residual)
    np.testing.assert_allclose(flowed, row_shares(max_flow(by_word)), atol=1e-6)


@pytest.mark.parametrize("kind", ["classifier", "causal"])
def test_the_exact_parts_are_read_as_maps_over_layers(kind: str) -> None:
    model = classifier() if kind == "classifier" else zoo_model("gpt2")
    found = ask({"a": model}, "maps", measure="decomposed", reading="cumulative")
    artifact, exact = cast("Maps", found.artifact), ats.decomposed(model, TEXT)
    np.testing.assert_allclose(dense(found)[:, 0], row_shares(exact["decomposed"].to_numpy()), atol=1e-6)
    assert (artifact.measure, artifact.heads, artifact.holds_residual) == ("decomposed", (), True)
    assert artifact.causal == (kind == "causal")
    assert artifact.layers == tuple(exact["layer"].to_numpy())
    assert artifact.reconstruction_error == exact.attrs["reconstruction_error"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reading": "direct"}, "take the cumulative reading"),
        ({"reading": "flow"}, "take the cumulative reading"),
        ({"reading": "cumulative", "unit": "word"}, "take tokens"),
    ],
)
def test_the_exact_parts_are_no_map_of_a_layer_nor_of_words(options: dict[str, str], said: str) -> None:
    with pytest.raises(ats.InputError, match=said):
        ask({"a": classifier()}, "maps", measure="decomposed", **options)


def test_the_exact_parts_of_two_stacks_are_no_map() -> None:
    with pytest.raises(ats.InputError, match="encoder and decoder at once"):
        ask({"a": zoo_model("marian")}, "maps", pair="the dog", measure="decomposed", reading="cumulative")


def test_only_the_strongest_keys_of_long_texts_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnscope.analyses.views.maps.kept_of", lambda _tokens: 3)
    found = ask({"a": classifier()}, "maps", measure="weight")
    whole = row_shares(full(classifier(), "weight"))
    best = np.sort(whole, -1)[..., ::-1]
    np.testing.assert_allclose(found.arrays["share"], best[..., :3], atol=1e-6)
    floor = cast("Maps", found.artifact).floor
    assert floor == pytest.approx(best[..., 2].max())
    assert best[..., 3].max() <= floor
    assert [kept_of(count) for count in (5, 64, 100, 200, 512)] == [5, 64, 64, 32, 16]


def test_where_tracing_begins() -> None:
    causal = cast("Maps", ask({"a": zoo_model("llama")}, "maps").artifact)
    assert causal.causal
    assert causal.default_target == len(causal.tokens.labels) - 1
    plain = cast("Maps", ask({"a": classifier()}, "maps").artifact)
    assert (plain.causal, plain.default_target) == (False, 0)
    traced = ats.flow(classifier(), TEXT)
    assert plain.tokens.labels == traced.tokens


def test_flow_of_long_texts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnscope.analyses.views.maps.MOST_FLOW", 5)
    with pytest.raises(ats.InputError, match="words in the place of tokens"):
        ask({"a": classifier()}, "maps", reading="flow")
    with pytest.raises(ats.InputError, match="take the cumulative reading"):
        ask({"a": classifier()}, "maps", reading="flow", unit="word")


def test_an_answer_of_a_classifier() -> None:
    found = cast("Answer", ask({"a": classifier()}, "answer").artifact)
    with torch.no_grad():
        logits = classifier().hf_model(**classifier().encode(TEXT).inputs).logits[0]
    order = [int(place) for place in logits.argsort(descending=True)]
    assert [choice.name for choice in found.choices] == [f"LABEL_{place}" for place in order]
    expected = logits.softmax(-1)
    for choice, place in zip(found.choices, order, strict=True):
        assert choice.logit == pytest.approx(float(logits[place]), rel=1e-5)
        assert choice.probability == pytest.approx(float(expected[place]), rel=1e-5)
    assert (found.task, found.position, found.reason) == ("classes", None, None)


def test_answers_of_language_models() -> None:
    causal = with_head("gpt2", "AutoModelForCausalLM")
    found = cast("Answer", ask({"a": causal}, "answer").artifact)
    assert (found.task, found.position, len(found.choices)) == ("next", len(found.tokens.labels) - 1, 10)
    with torch.no_grad():
        logits = causal.hf_model(**causal.encode(TEXT).inputs).logits[0, -1]
    assert found.choices[0].logit == pytest.approx(float(logits.max()), rel=1e-5)
    assert causal.tokenizer is not None
    assert found.choices[0].name == causal.tokenizer.convert_ids_to_tokens(int(logits.argmax()))
    masked = cast(
        "Answer", ask({"a": with_head("bert", "AutoModelForMaskedLM")}, "answer", text="the [MASK] sat").artifact
    )
    assert (masked.task, masked.position) == ("masked", 2)
    translator = cast(
        "Answer", ask({"a": with_head("marian", "AutoModelForSeq2SeqLM")}, "answer", pair="a dog").artifact
    )
    assert translator.task == "next"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (with_head("bert", "AutoModelForMaskedLM"), r"\[MASK\]"),
        (with_head("bert", "AutoModelForQuestionAnswering"), "part of the text"),
        (with_head("bert", "AutoModelForTokenClassification"), "every token"),
        (with_head("marian", "AutoModelForSeq2SeqLM"), "second text"),
        (zoo_model("bert"), "no head"),
    ],
)
def test_models_that_decide_nothing_say_why(model: ats.Model, said: str) -> None:
    for name in ("answer", "words"):
        found = cast("Answer", ask({"a": model}, name).artifact)
        assert found.reason is not None
    found = cast("Answer", ask({"a": model}, "answer").artifact)
    assert (found.task, found.choices) == ("none", ())
    assert found.reason is not None
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(found.reason)


def test_words_add_up_and_attention_is_received() -> None:
    found = ask({"a": classifier()}, "words", target="LABEL_1")
    artifact = cast("Words", found.artifact)
    direct = ats.attribute(classifier(), TEXT, target="LABEL_1")
    np.testing.assert_allclose(found.arrays["contribution"], direct["contribution"], rtol=1e-5)
    assert artifact.bias is not None
    assert float(found.arrays["contribution"].sum()) + artifact.bias == pytest.approx(artifact.target_value, rel=1e-4)
    last = ats.flow(classifier(), TEXT, target="logit:LABEL_1", threshold=0, layers=[2])
    sizes = np.abs(cast("NDArray[np.float32]", found.arrays["last"]))
    strengths = {edge.key: edge.strength for edge in last.edges}
    np.testing.assert_allclose([strengths[key] for key in range(len(sizes))], sizes / sizes.sum(), rtol=1e-4)
    rows = row_shares(full(classifier(), "weight"))
    np.testing.assert_allclose(found.arrays["weight"], rows[-1, :, 0].mean(0), rtol=1e-4)
    np.testing.assert_allclose(found.arrays["layer_weight"], rows.mean((1, 2)), rtol=1e-4)
    norms = row_shares(full(classifier(), "attention_norm"))
    np.testing.assert_allclose(found.arrays["norm"], norms[-1, 0], rtol=1e-4)
    np.testing.assert_allclose(found.arrays["layer_norm"], norms.mean(1), rtol=1e-4)
    probability = cast("Answer", ask({"a": classifier()}, "answer").artifact)
    assert artifact.probability in [choice.probability for choice in probability.choices]


def test_words_of_language_models_are_seen_from_the_token_that_decides() -> None:
    causal = cast("Words", ask({"a": with_head("gpt2", "AutoModelForCausalLM")}, "words", unit="word").artifact)
    assert causal.query == len(causal.tokens.labels) - 1
    masked = cast(
        "Words", ask({"a": with_head("bert", "AutoModelForMaskedLM")}, "words", text="the [MASK] sat").artifact
    )
    assert masked.query == 2
    assert masked.target == masked.classes[0]


def test_words_by_a_method_that_only_ranks() -> None:
    artifact = cast("Words", ask({"a": classifier()}, "words", method="rollout_weight").artifact)
    assert (artifact.signed, artifact.bias, artifact.completeness_error) == (False, None, None)


def test_heads_by_hand() -> None:
    found = ask({"a": classifier()}, "heads")
    artifact = cast("Heads", found.artifact)
    weight, norm = (row_shares(full(classifier(), name)) for name in ("weight", "head_norm"))
    labels = artifact.tokens.labels
    masks = np.array(
        [
            [label == "[CLS]" for label in labels],
            [label == "[SEP]" for label in labels],
            [label in {",", "."} for label in labels],
        ]
    )
    assert artifact.categories == ("[CLS]", "[SEP]", "comma and full stop", "other")
    for how, rows in (("weight", weight), ("norm", norm)):
        np.testing.assert_allclose(found.arrays[f"mass_{how}"][..., :3], category_mass(rows, masks), rtol=1e-4)
        np.testing.assert_allclose(found.arrays[f"mass_{how}"].sum(-1), 1, rtol=1e-5)
        np.testing.assert_allclose(found.arrays[f"entropy_{how}"], entropy(rows), rtol=1e-4)
        for place, lag in enumerate((0, -1, 1)):
            expected = np.diagonal(rows, lag, -2, -1).mean(-1)
            np.testing.assert_allclose(found.arrays[f"offset_{how}"][..., place], expected, rtol=1e-4)
    np.testing.assert_allclose(found.arrays["disagreement"], jensen_shannon(weight, norm), rtol=1e-3)
    compared = ats.compare(classifier(), other_classifier(), TEXT)
    assert artifact.roles == tuple(map(tuple, compared["head_role"].sel(model="base").to_numpy()))


def test_one_head_in_tokens_and_words() -> None:
    found = ask({"a": classifier()}, "head", layer=2, head=3)
    for name, measure in (("weight", "weight"), ("norm", "head_norm")):
        np.testing.assert_allclose(found.arrays[name], full(classifier(), measure)[1, 2], rtol=1e-5)
    words = ask({"a": classifier()}, "head", layer=2, head=3, unit="word")
    np.testing.assert_allclose(words.arrays["weight"], full(classifier(), "weight", unit="word")[1, 2], rtol=1e-5)
    with pytest.raises(ats.InputError, match="no head 9"):
        ask({"a": classifier()}, "head", layer=1, head=9)
    with pytest.raises(ats.InputError, match="no attention layer 7"):
        ask({"a": classifier()}, "head", layer=7, head=1)


def test_a_head_of_cross_attention_has_two_sides() -> None:
    model = with_head("marian", "AutoModelForSeq2SeqLM")
    artifact = cast("Head", ask({"a": model}, "head", layer=1, head=1, stack="cross", pair="a dog").artifact)
    assert len(artifact.tokens.labels) != len(artifact.keys.labels)


def test_change_is_the_comparison() -> None:
    models = {"a": classifier(), "b": other_classifier()}
    direct = ats.compare(models["a"], models["b"], TEXT, measure="head_norm")
    found = ask(models, "change", measure="head_norm")
    for name in ("jensen_shannon", "total_variation", "cosine", "spearman"):
        np.testing.assert_allclose(found.arrays[name], direct[name], rtol=1e-5)
    np.testing.assert_allclose(found.arrays["word_change"], direct["word_mean_change"], rtol=1e-5)
    artifact = cast("Change", found.artifact)
    assert artifact.words == tuple(direct["word"].to_numpy())
    assert "\n".join(artifact.summary) == direct.attrs["summary"]
    together = ask(models, "change", measure="block_norm")
    assert cast("Change", together.artifact).heads == ()


def test_faithfulness_is_the_analysis() -> None:
    from attnscope.analyses.faithfulness import faithfulness

    found = ask({"a": classifier()}, "faithfulness", methods=("decomposed", "weight"))
    direct = faithfulness(classifier(), TEXT, methods=("decomposed", "weight"))
    assert cast("Faithfulness", found.artifact).methods == ("decomposed", "weight", "random")
    for name in ("comprehensiveness", "sufficiency", "aopc"):
        np.testing.assert_allclose(found.arrays[name], direct[name], rtol=1e-5)


@pytest.mark.parametrize("direction", ["to", "from"])
@pytest.mark.parametrize("unit", ["token", "word"])
def test_search_finds_what_passes(direction: str, unit: str) -> None:
    found = ask({"a": classifier()}, "search", word="MATS", threshold=0.08, direction=direction, unit=unit)
    artifact = cast("Search", found.artifact)
    tokens = classifier().encode(TEXT).source
    assert tokens is not None
    rows = full(classifier(), "weight")
    rows = row_shares(between_words(rows, tokens.words) if unit == "word" else rows)
    (text,) = artifact.texts
    wanted = [place for place, label in enumerate(text.tokens.labels) if label in {"mats", "mat", "s"}]
    passing = {
        (layer, head, query, key)
        for layer, head, query, key in map(tuple, np.argwhere(rows >= 0.08).tolist())
        if (key if direction == "to" else query) in wanted
    }
    place, share = found.arrays["place"], cast("NDArray[np.float32]", found.arrays["share"])
    assert {tuple(row[1:]) for row in place.tolist()} == passing
    assert passing
    assert (place[:, 0] == 0).all()
    np.testing.assert_allclose(share, [rows[tuple(row[1:])] for row in place], rtol=1e-5)
    assert (np.diff(share) <= 0).all()
    count = np.zeros(rows.shape[:2], dtype=int)
    for layer, head, _, _ in passing:
        count[layer, head] += 1
    np.testing.assert_array_equal(found.arrays["count"], count)
    assert (artifact.hits, artifact.truncated) == (len(passing), False)


def test_search_of_a_corpus_keeps_the_strongest(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = ("it was good", "a dog sat", "the mat was not good", "good movie, good")
    options = {"word": "good", "threshold": 0.05, "where": "corpus", "corpus": corpus}
    whole = ask({"a": classifier()}, "search", **options)
    artifact = cast("Search", whole.artifact)
    assert [text.number for text in artifact.texts] == [0, 2, 3]
    assert (artifact.searched, artifact.with_word) == (4, 3)
    assert {label for text in artifact.texts for label in text.tokens.labels} >= {"good", "good (2)"}
    alone = ask({"a": classifier()}, "search", word="good", threshold=0.05, text=corpus[2])
    part = whole.arrays["place"][whole.arrays["place"][:, 0] == 1]
    assert {tuple(row[1:]) for row in part.tolist()} == {tuple(row[1:]) for row in alone.arrays["place"].tolist()}
    monkeypatch.setattr(search_view, "MOST_HITS", 7)
    cut = ask({"a": classifier()}, "search", **options)
    np.testing.assert_array_equal(cut.arrays["share"], whole.arrays["share"][:7])
    assert cast("Search", cut.artifact).truncated
    assert cast("Search", cut.artifact).hits == artifact.hits


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"word": "  "}, "no word was given"),
        ({"word": "not", "threshold": 0}, "above 0"),
        ({"word": "not", "threshold": 1.5}, "at most 1"),
        ({"word": "not", "where": "corpus"}, "no corpus"),
        (
            {"word": "dog", "where": "corpus", "corpus": ("a dog " * 60,)},
            "no text of the corpus; text 1: it has 122 tok",
        ),
        ({"word": "not", "measure": "value_norm"}, "unknown map"),
    ],
)
def test_searches_that_can_not_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ats.InputError, match=said):
        ask({"a": classifier()}, "search", **options)


def test_texts_of_a_corpus_that_can_not_be_read_are_left_out() -> None:
    corpus = ("a dog", "a dog " * 60, "a cat", "\u200b", "the dog sat")
    found = ask({"a": classifier()}, "search", word="dog", threshold=0.01, where="corpus", corpus=corpus)
    artifact = cast("Search", found.artifact)
    assert (artifact.searched, artifact.with_word, artifact.unread) == (3, 2, 2)
    assert artifact.why_unread == "text 2: it has 122 tokens, 64 are the most"
    assert [text.number for text in artifact.texts] == [0, 4]


def test_a_search_can_be_stopped_at_every_text() -> None:
    told: list[tuple[int, int]] = []
    request = VIEWS["search"].request.model_validate(
        {"text": "a dog", "word": "zebra", "where": "corpus", "corpus": ["a dog"] * 5}
    )
    VIEWS["search"].compute({"a": classifier()}, request, lambda done, total: told.append((done, total)))
    assert set(told) >= {(number, 5) for number in range(6)}


def test_a_word_that_is_nowhere_has_no_hits() -> None:
    for where in ({}, {"where": "corpus", "corpus": ("a dog", "a cat")}):
        found = ask({"a": classifier()}, "search", word="zebra", **where)
        artifact = cast("Search", found.artifact)
        assert (artifact.with_word, artifact.hits, artifact.texts) == (0, 0, ())
        assert artifact.searched == (2 if where else 1)
        assert found.arrays["place"].shape == (0, 5)
        assert not found.arrays["count"].any()


def test_special_tokens_can_be_searched() -> None:
    found = cast("Search", ask({"a": classifier()}, "search", word="[sep]", threshold=0.01).artifact)
    assert found.hits
