"""What holds for every question and every kind of model: an answer of finite numbers, or one sentence."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

import attnscope as ats
from attnscope.analyses.views import VIEWS
from attnscope.artifacts import Artifact, Parcel
from tests.unit.analyses.views.models import KINDS, TEXT, classifier, other_classifier

OPTIONS: dict[str, dict[str, Any]] = {
    "head": {"layer": 2, "head": 1},
    "search": {"word": "not", "threshold": 0.05},
    "faithfulness": {"methods": ("decomposed", "weight")},
}
ARTIFACTS: TypeAdapter[Any] = TypeAdapter(Artifact)


def quiet(_done: int, _total: int) -> None:
    pass


def ask(models: Mapping[str, ats.Model], name: str, **options: Any) -> Parcel:
    view = VIEWS[name]
    return view.compute(models, view.request(**{"text": TEXT} | options), quiet)


def sizes(artifact: Any) -> dict[str, int]:
    """How long each axis is, as far as the artifact says."""
    known: dict[str, int] = {"offset": 3, "fraction": 9, "5": 5, "41": 41, "40": 40}
    for axis, field in (("layer", "layers"), ("method", "methods"), ("category", "categories"), ("word", "words")):
        if hasattr(artifact, field):
            known[axis] = len(getattr(artifact, field))
    if hasattr(artifact, "heads"):
        known["head"] = len(artifact.heads) or 1
    for axis, field in (("token", "tokens"), ("query", "tokens"), ("key", "keys")):
        if hasattr(artifact, field):
            known[axis] = len(getattr(artifact, field).labels)
    if hasattr(artifact, "kept"):
        known["kept"] = artifact.kept
    if artifact.kind == "search":
        known["hit"] = min(artifact.hits, 500)
    return known


def documented(artifact: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The arrays that the docstring names: their type, where it is said of each, and their axes."""
    text = type(artifact).__doc__ or ""
    overall = "float32" if "each float32" in text else None
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    line = re.compile(r"^ +((?:\w+, )*\w+) {2,}(?:(float32|uint16|uint32|int32) )?\(([\w, ]+)\)", re.MULTILINE)
    for names, dtype, axes in line.findall(text):
        for name in names.split(", "):
            found[name] = (dtype or overall, tuple(axes.split(", ")))
    return found


def check(parcel: Parcel) -> None:
    again = Parcel.from_bytes(parcel.to_bytes(), ARTIFACTS.validate_json)
    assert again.artifact == parcel.artifact
    expected, known = documented(parcel.artifact), sizes(parcel.artifact)
    assert set(parcel.arrays) <= set(expected)
    optional = {"contribution", "last"} if parcel.artifact.kind == "words" else set()  # type: ignore[attr-defined]
    assert set(expected) - set(parcel.arrays) <= optional
    for name, array in parcel.arrays.items():
        dtype, axes = expected[name]
        assert array.dtype == dtype, name
        assert array.shape == tuple(known[axis] for axis in axes), name
        assert np.isfinite(array).all(), name
        np.testing.assert_array_equal(again.arrays[name], array)
    if hasattr(parcel.artifact, "tokens"):
        tokens: Any = parcel.artifact.tokens  # type: ignore[attr-defined]
        count = len(tokens.labels)
        assert len(set(tokens.labels)) == count == len(tokens.special) == len(tokens.words) == len(tokens.starts_word)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", VIEWS)
def test_every_view_answers_or_says_why_not(name: str, kind: str) -> None:
    model = KINDS[kind]()
    if name == "faithfulness" and kind not in {"classifier", "causal"}:
        with pytest.raises(ats.AttnscopeError) as caught:
            ask({"a": model}, name, **OPTIONS[name])
        assert "\n" not in str(caught.value)
    else:
        check(ask({"a": model, "b": model}, name, **OPTIONS.get(name, {})))


@pytest.mark.parametrize("name", VIEWS)
def test_words_are_a_unit_too(name: str) -> None:
    if "unit" in VIEWS[name].request.model_fields:
        check(ask({"a": classifier()}, name, unit="word", **OPTIONS.get(name, {})))


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("text", ["the cat " * 40, ""])
def test_texts_that_do_not_fit_are_refused_in_a_sentence(name: str, text: str) -> None:
    models = {"a": classifier(), "b": other_classifier()}
    with pytest.raises(ats.InputError) as caught:
        ask(models, name, **OPTIONS.get(name, {}) | {"text": text})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", VIEWS)
def test_a_pair_of_texts(name: str) -> None:
    if name == "faithfulness":
        with pytest.raises(ats.InputError, match="second text"):
            ask({"a": classifier()}, name, pair="it was bad")
        return
    check(ask({"a": classifier(), "b": classifier()}, name, pair="it was bad", **OPTIONS.get(name, {})))


@pytest.mark.parametrize("name", VIEWS)
def test_a_slot_without_a_model_is_refused(name: str) -> None:
    slot = {} if name == "change" else {"slot": "b"}
    with pytest.raises(ats.InputError, match="no model B"):
        ask({"a": classifier()}, name, **slot, **OPTIONS.get(name, {}))


class Cancelled(Exception):
    pass


@pytest.mark.parametrize("name", VIEWS)
def test_progress_ends_the_work(name: str) -> None:
    def stop(_done: int, _total: int) -> None:
        raise Cancelled

    view = VIEWS[name]
    request = view.request(text=TEXT, **OPTIONS.get(name, {}))
    with pytest.raises(Cancelled):
        view.compute({"a": classifier(), "b": other_classifier()}, request, stop)


@pytest.mark.parametrize("name", VIEWS)
def test_progress_goes_up_to_all_that_there_is(name: str) -> None:
    said: list[tuple[int, int]] = []
    view = VIEWS[name]
    request = view.request(text=TEXT, **OPTIONS.get(name, {}))
    view.compute({"a": classifier(), "b": other_classifier()}, request, lambda *steps: said.append(steps))
    assert said
    assert said[-1][0] == said[-1][1]
