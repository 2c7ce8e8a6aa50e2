"""The traced graph of a text: what its parts say, and what is refused."""

import json
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

import attnscope as ats
from attnscope.analyses import flow as analysis
from attnscope.artifacts import Artifact, Flow
from attnscope.measures import MEASURES
from attnscope.methods.rollout import rollout
from attnscope.methods.rows import shares
from tests import zoo
from tests.conftest import zoo_model

TEXT = "the cat sat on the mat."


@pytest.fixture(scope="module")
def classifier() -> ats.Model:
    model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    return ats.Model(model, zoo.tokenizer("bert"), name="classifier")


def edges_of(flow: Flow) -> set[tuple[int, int | None, int]]:
    return {(edge.layer, edge.query, edge.key) for edge in flow.edges}


def test_edges_are_the_entries_of_the_map_that_pass(bert: ats.Model) -> None:
    found = ats.flow(bert, TEXT, measure="weight", threshold=0.2, heads=[2, 4])
    weight = ats.analyze(bert, TEXT, measures="weight", heads=[2, 4])["weight"]
    assert found.heads == (2, 4)
    top = weight.sel(layer=2).isel(query=0)
    expected = {
        int(key): tuple(int(head) for head in (2, 4) if float(top.sel(head=head)[key]) >= 0.2)
        for key in range(weight.sizes["key"])
        if float(top[:, key].max()) >= 0.2
    }
    assert {edge.key: edge.heads for edge in found.edges if edge.layer == 2} == expected
    for edge in found.edges:
        assert edge.strength == pytest.approx(float(weight.sel(layer=edge.layer)[:, edge.query, edge.key].max()))
        assert edge.strength >= 0.2


@pytest.mark.parametrize("measure", [name for name, one in MEASURES.items() if one.is_map])
def test_every_map_can_be_traced(bert: ats.Model, measure: str) -> None:
    whole = ats.flow(bert, TEXT, measure=measure, threshold=0)
    count = len(whole.tokens)
    assert len(whole.edges) == count + count * count
    fewer = ats.flow(bert, TEXT, measure=measure, threshold=0.15)
    assert edges_of(fewer) < edges_of(whole)
    reached = {(node.layer, node.token) for node in fewer.nodes}
    assert all((e.layer, e.query) in reached and (e.layer - 1, e.key) in reached for e in fewer.edges)
    for level in {node.layer for node in fewer.nodes}:
        assert sum(node.share for node in fewer.nodes if node.layer == level) == pytest.approx(1)


def test_shares_and_values(bert: ats.Model) -> None:
    norms = ats.analyze(bert, TEXT, measures="attention_norm")["attention_norm"].sel(layer=2).to_numpy()[0]
    by_value = ats.flow(bert, TEXT, measure="attention_norm", threshold=float(np.median(norms)), by="value")
    kept = {edge.key for edge in by_value.edges if edge.layer == 2}
    assert kept == set(np.flatnonzero(norms >= np.median(norms)))


def test_cumulative_is_rollout_and_flow_is_no_less_than_its_own_path(bert: ats.Model) -> None:
    maps = ats.analyze(bert, TEXT, measures="weight")["weight"].to_numpy()
    rolled = rollout(maps, identity=True)
    found = ats.flow(bert, TEXT, measure="weight", reading="cumulative", threshold=0, heads=None)
    for edge in found.edges:
        assert edge.strength == pytest.approx(rolled[edge.layer - 1, edge.query, edge.key], rel=1e-5)
        assert edge.heads == ()
    most = ats.flow(bert, TEXT, measure="weight", reading="flow", threshold=0, by="value")
    mixed = shares(maps, identity=True)
    for edge in most.edges:
        straight = (
            min(float(mixed[layer, edge.key, edge.key]) for layer in range(edge.layer - 1)) if edge.layer > 1 else 1
        )
        least = min(float(mixed[edge.layer - 1, edge.query, edge.key]), straight)
        assert edge.strength >= least - 1e-6


def test_a_range_of_layers_of_a_cumulative_reading_still_begins_at_the_words(bert: ats.Model) -> None:
    whole = ats.flow(bert, TEXT, reading="cumulative")
    part = ats.flow(bert, TEXT, reading="cumulative", layers=[2])
    assert part.layers == (2,)
    assert set(part.edges) == {edge for edge in whole.edges if edge.layer == 2}


def test_targets_by_label_number_and_role(bert: ats.Model) -> None:
    assert ats.flow(bert, TEXT).target.token == 0
    assert ats.flow(bert, TEXT, target="the (2)").target.token == 5
    assert ats.flow(bert, TEXT, target="MAT").target.token == 6
    assert ats.flow(bert, TEXT, target=3).target.label == "sat"
    assert ats.flow(zoo_model("llama"), TEXT).target.label == "."
    assert ats.flow(zoo_model("roberta"), TEXT, target="[CLS]").target.label == "<s>"
    words = ats.flow(bert, "singing cats", target="cats", unit="word")
    assert words.tokens == ("[CLS]", "singing", "cats", "[SEP]")
    assert words.target.token == 2


def test_a_logit_begins_with_what_the_last_layer_gets(classifier: ats.Model) -> None:
    found = ats.flow(classifier, TEXT, target="logit:LABEL_1", threshold=0.0)
    assert found.target.kind == "logit"
    assert found.target.label == "LABEL_1"
    last = classifier.sites()[-1].step
    assert last is not None
    (parts,), _ = classifier.attribute(classifier.encode(TEXT), "LABEL_1", taps=[last.residual.tap])
    assert float(parts.contribution.sum()) + parts.bias == pytest.approx(found.target.value, rel=1e-4)
    sizes = parts.contribution.abs() / parts.contribution.abs().sum()
    top = {edge.key: edge.strength for edge in found.edges if edge.layer == 2}
    assert all(edge.query is None for edge in found.edges if edge.layer == 2)
    np.testing.assert_allclose([top[key] for key in sorted(top)], sizes.numpy(), rtol=1e-5)
    assert ats.flow(classifier, TEXT, target="logit:", unit="word").target.label.startswith("LABEL_")
    for reading in ("cumulative", "flow"):
        assert ats.flow(classifier, TEXT, target="logit:", reading=reading, threshold=0.01).edges


def test_what_enters_the_first_layer_is_the_attribution(classifier: ats.Model) -> None:
    first = classifier.sites()[0].step
    assert first is not None
    (one,), _ = classifier.attribute(classifier.encode(TEXT), "LABEL_1", taps=[first.residual.tap])
    other = ats.attribute(classifier, TEXT, target="LABEL_1")
    np.testing.assert_allclose(one.contribution.numpy(), other["contribution"], rtol=1e-5)


def test_top_keeps_so_many_keys(bert: ats.Model) -> None:
    found = ats.flow(bert, TEXT, threshold=0, top=2)
    places = [(edge.layer, edge.query) for edge in found.edges]
    assert {places.count(place) for place in places} == {2}


def test_two_models_over_each_other(bert: ats.Model) -> None:
    same = ats.flow_change(bert, bert, TEXT)
    assert {edge.where for edge in same.edges} == {"both"}
    assert {node.where for node in same.nodes} == {"both"}
    other = ats.Model(zoo.build("bert", seed=1), zoo.tokenizer("bert"), name="other")
    found = ats.flow_change(bert, other, TEXT, measure="weight", threshold=0.15)
    assert edges_of(found.base) == {(e.layer, e.query, e.key) for e in found.edges if e.where != "tuned"}
    assert edges_of(found.tuned) == {(e.layer, e.query, e.key) for e in found.edges if e.where != "base"}
    assert all((edge.base_strength is None) == (edge.where == "tuned") for edge in found.edges)
    assert all((node.tuned_share is None) == (node.where == "base") for node in found.nodes)
    assert {"base", "tuned", "both"} == {edge.where for edge in found.edges}


def test_two_tokenisers_meet_in_words(bert: ats.Model) -> None:
    found = ats.flow_change(bert, zoo_model("roberta"), "the cat sat")
    assert found.base.unit == "word"
    assert found.base.tokens[1:-1] == ("the", "cat", "sat")


def test_artifacts_come_back_from_json(bert: ats.Model, classifier: ats.Model) -> None:
    kinds: TypeAdapter[Any] = TypeAdapter(Artifact)
    for artifact in (
        ats.flow(bert, TEXT),
        ats.flow(classifier, TEXT, target="logit:"),
        ats.flow_change(bert, bert, TEXT),
    ):
        assert kinds.validate_json(artifact.model_dump_json()) == artifact
        json.loads(artifact.model_dump_json())
    with pytest.raises(ValidationError):
        ats.flow(bert, TEXT).threshold = 0.5


def test_the_histogram_holds_every_value(bert: ats.Model) -> None:
    found = ats.flow(bert, TEXT)
    assert sum(found.values.counts) == 2 * len(found.tokens) ** 2
    assert len(found.values.edges) == len(found.values.counts) + 1


def test_images_have_a_class_token() -> None:
    assert ats.flow(zoo_model("vit"), zoo.inputs("vit")).target.label == "[CLS]"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "matt"}, "did you mean 'mat'"),
        ({"target": 40}, "there is no token 40"),
        ({"target": "logit:LABEL_1"}, "no head"),
        ({"threshold": 1.5}, "from 0 to 1"),
        ({"threshold": -1, "by": "value"}, "0 or more"),
        ({"threshold": float("nan")}, "from 0 to 1"),
        ({"measure": "value_norm"}, "unknown map"),
        ({"measure": "wieght"}, "did you mean 'weight'"),
        ({"heads": [1]}, "all heads together"),
        ({"decay": 2}, "decay"),
        ({"top": 0}, "top"),
        ({"layers": [3]}, "no attention layer 3"),
    ],
)
def test_mistakes_are_one_sentence(bert: ats.Model, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ats.AttnscopeError, match=said) as caught:
        ats.flow(bert, TEXT, **options)
    assert "\n" not in str(caught.value)


def test_more_mistakes(bert: ats.Model, classifier: ats.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ats.InputError, match="reach up to 2"):
        ats.flow(classifier, TEXT, target="logit:LABEL_1", layers=[1])
    with pytest.raises(ats.InputError, match="stack='encoder'"):
        ats.flow(zoo_model("bart"), "the cat", "a dog")
    with pytest.raises(ats.InputError, match="without gaps"):
        ats.flow(zoo_model("albert"), TEXT, layers=[1, 3])
    with pytest.raises(ats.InputError, match="can't be laid over each other"):
        ats.flow_change(bert, zoo_model("albert"), TEXT)
    with pytest.raises(ats.InputError, match="name a token"):
        ats.flow(bert, {"input_ids": [70, 71, 72]})
    monkeypatch.setattr(analysis, "MOST_EDGES", 10)
    with pytest.raises(ats.InputError, match="raise the threshold"):
        ats.flow(bert, TEXT, threshold=0)
