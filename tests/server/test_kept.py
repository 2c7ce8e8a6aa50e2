"""One file with every answer that the page may ask for, which no text can break."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnscope as ats
from attnscope.analyses.views import VIEWS
from attnscope.artifacts import Maps, Parcel
from attnscope.errors import InputError
from attnscope.server import kept
from tests import zoo
from tests.server.conftest import BASE, TUNED

TEXT = "the cat sat, not bad."
BEFORE, AFTER = "<html><title>page</title>", "<script>run()</script></html>"


@pytest.fixture(autouse=True)
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "single"
    folder.mkdir()
    (folder / "index.html").write_text(BEFORE + kept._PLACE + AFTER)
    monkeypatch.setattr(kept, "FOLDER", folder)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.html"


def read(page: Path) -> dict[str, Any]:
    """What the browser finds in it."""
    written = page.read_text(encoding="utf-8")
    start, end = kept._PLACE.split("><")
    assert written.startswith(f"{BEFORE}{start}>")
    assert written.endswith(f"<{end}{AFTER}")
    inside = written[len(f"{BEFORE}{start}>") : -len(f"<{end}{AFTER}")]
    assert "<" not in inside
    return json.loads(inside)


def unpacked(answer: dict[str, Any]) -> bytes:
    return gzip.decompress(base64.b64decode(answer["parcel"]))


def test_all_that_can_be_chosen_is_answered_as_the_server_would(page: Path) -> None:
    assert ats.export(BASE, TEXT, page, tuned=TUNED, measures=["weight", "block_norm"]) == page
    found = read(page)
    answers = {(one["view"], json.dumps(one["request"], sort_keys=True)): one for one in found["answers"]}
    assert len(answers) == len(found["answers"])
    models = {"a": BASE, "b": TUNED}
    for one in found["answers"]:
        view = VIEWS[one["view"]]
        computed = view.compute(models, view.request.model_validate(one["request"]), lambda *_: None)
        assert unpacked(one) == computed.to_bytes()
    count = {name: sum(one["view"] == name for one in found["answers"]) for name in VIEWS}
    heads = sum(info["layers"] * info["heads"] for info in found["session"]["models"].values())
    expected = {"answer": 2, "maps": 2 * 2 * 3, "words": 2 * 4, "heads": 2, "head": heads, "change": 2}
    assert {name: number for name, number in count.items() if number} == expected
    assert {one["request"]["target"] for one in found["answers"] if one["view"] == "words"} == {
        None,
        "LABEL_0",
        "LABEL_1",
        "LABEL_2",
    }


def test_a_request_is_found_by_what_the_page_leaves_out(page: Path) -> None:
    kept.export(BASE, TEXT, page, measures=["weight"])
    found = read(page)
    asked = {"slot": "a", "text": TEXT, "pair": None, "measure": "weight", "reading": "direct", "unit": "token"}
    full = {**found["defaults"]["maps"], **asked}
    (answer,) = [one for one in found["answers"] if one["view"] == "maps" and one["request"] == full]
    maps = Parcel.from_bytes(unpacked(answer), Maps.model_validate_json)
    assert maps.artifact.measure == "weight"
    assert np.all(maps.arrays["share"] > 0)


def test_the_session_offers_what_is_kept(page: Path) -> None:
    kept.export(BASE, TEXT, page, unit="word")
    found = read(page)
    assert found["unit"] == "word"
    offered = {measure["name"] for measure in found["session"]["measures"]}
    assert offered == {*kept.MEASURES} - {"decomposed"}  # which is of tokens
    assert [method["name"] for method in found["session"]["methods"]] == ["decomposed"]
    assert found["session"]["demo"] == {"text": TEXT, "pair": None}
    assert {one["request"]["unit"] for one in found["answers"] if "unit" in one["request"]} == {"word"}


def test_a_file_to_send_names_no_folders_and_the_model_keeps_its_name(page: Path, tmp_path: Path) -> None:
    model = ats.Model(BASE.hf_model, BASE.tokenizer, name=str(tmp_path))
    kept.export(model, TEXT, page, measures=["weight"])
    assert model.name == str(tmp_path)
    assert str(tmp_path.parent.parent) not in page.read_text(encoding="utf-8")


def test_no_text_breaks_out_of_the_page(page: Path) -> None:
    text = "</script><script>alert(1)</script> <!-- 日本 \u2028 & \\u003c"
    kept.export(BASE, text, page, measures=["weight"])
    assert read(page)["session"]["demo"]["text"] == text


def test_what_the_server_would_refuse_is_kept_as_its_sentence(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnscope.analyses.views.maps.MOST_FLOW", 2)
    kept.export(BASE, TEXT, page, measures=["weight"])
    (refused,) = [one for one in read(page)["answers"] if "message" in one]
    assert refused["request"]["reading"] == "flow"
    assert "at most 2 tokens" in refused["message"]


def test_a_model_that_predicts_tokens_keeps_what_it_could_have_answered(page: Path) -> None:
    model = ats.Model(zoo.build_head("gpt2", "AutoModelForCausalLM"), zoo.tokenizer("gpt2"), name="writer")
    kept.export(model, TEXT, page, measures=["weight"])
    answers = read(page)["answers"]
    targets = [one["request"]["target"] for one in answers if one["view"] == "words"]
    assert len(targets) == len(set(targets)) > 2
    assert all("parcel" in one for one in answers)


def test_progress_is_told_to_the_end(page: Path) -> None:
    steps: list[tuple[int, int]] = []
    kept.export(BASE, TEXT, page, measures=["weight"], progress=lambda done, total: steps.append((done, total)))
    total = steps[0][1]
    assert steps == [(done, total) for done in range(total + 1)]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"text": " "}, "the text is empty"),
        ({"text": "word " * 5000}, "are the most"),
        ({"measures": ["wieght"]}, "did you mean 'weight'"),
        ({"measures": []}, "name at least one"),
        ({"measures": ["decomposed"], "unit": "word"}, "is of tokens, not of words"),
        ({"pair": "x" * 20_001}, "the pair has 20,001 characters"),
    ],
)
def test_mistakes_are_said_and_nothing_is_written(page: Path, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        kept.export(BASE, **{"text": TEXT, "path": page, **given})
    assert not page.exists()


def test_no_file_is_replaced_unasked(page: Path) -> None:
    page.write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        kept.export(BASE, TEXT, page)
    assert page.read_text() == "mine"
    kept.export(BASE, TEXT, page, measures=["weight"], overwrite=True)
    assert read(page)["answers"]


def test_it_ends_in_html(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"name it page\.html"):
        kept.export(BASE, TEXT, tmp_path / "page.pdf")


def test_a_page_that_is_not_built_is_said(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "nowhere")
    with pytest.raises(InputError, match="make web"):
        kept.export(BASE, TEXT, page)
