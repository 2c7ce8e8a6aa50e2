"""Every address, what it says when all is well, and the one sentence when it is not."""

import json
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

import attnscope as ats
from attnscope.analyses.views import VIEWS
from attnscope.artifacts import Artifact, Parcel
from attnscope.artifacts.session import Limits, Session
from attnscope.server.jobs import DEFECT
from attnscope.server.settings import Corpus
from tests import zoo
from tests.conftest import zoo_model
from tests.server.asking import ask, finish, parcel_of, sentence
from tests.server.conftest import LOADS, tiny

ARTIFACTS: TypeAdapter[Any] = TypeAdapter(Artifact)
OPTIONS: dict[str, dict[str, Any]] = {
    "head": {"layer": 1, "head": 1},
    "search": {"word": "cat", "threshold": 0.01},
    "faithfulness": {"methods": ["decomposed"]},
}
JSON = {"content-type": "application/json"}


def read(data: bytes) -> Parcel:
    return Parcel.from_bytes(data, ARTIFACTS.validate_json)


def test_the_session_says_what_there_is(client):
    found = Session.model_validate_json(client.get("/api/session").content)
    one, other = found.models.a, found.models.b
    assert other is not None
    assert (one.name, other.name) == ("base", "tuned")
    assert (one.architecture, one.layers, one.heads, one.stacks) == ("BertForSequenceClassification", 2, 4, ("self",))
    assert (one.classes, one.has_logits, one.causal) == (("LABEL_0", "LABEL_1", "LABEL_2"), True, False)
    assert one.reconstruction_error <= one.tolerance
    assert one.words_shared
    measures = {measure.name: measure for measure in found.measures}
    assert measures["weight"].per_head
    assert not measures["block_norm"].per_head
    assert all(measure.available.a and measure.available.b for measure in found.measures)
    assert "expansion_rate" not in measures
    weight = measures["weight"]
    assert (weight.readings, weight.units) == (("direct", "cumulative", "flow"), ("token", "word"))
    exact = measures["decomposed"]
    assert (exact.per_head, exact.readings, exact.units) == (False, ("cumulative",), ("token",))
    assert found.most_flow == 64
    assert "decomposed" in {method.name for method in found.methods}
    assert (found.limits.characters, found.limits.tokens) == (20_000, 512)
    assert found.demo is None
    assert found.corpus is None


def test_the_session_of_one_causal_model(start):
    found = start({"a": lambda: zoo_model("gpt2")}).get("/api/session").json()
    assert found["models"]["b"] is None
    assert found["models"]["a"]["causal"]
    assert found["models"]["a"]["classes"] == []
    assert not found["models"]["a"]["has_logits"]
    assert all(not measure["available"]["b"] for measure in found["measures"])


def test_the_session_says_why_a_measure_can_not_be_had(start, monkeypatch):
    from attnscope.errors import UnsupportedModel
    from attnscope.server import session

    analyze = session.analyze

    def refusing(model: Any, text: Any, **options: Any) -> Any:
        if "alti" in options["measures"] and model.name == "tuned":
            raise UnsupportedModel(model.name, "of a reason")
        return analyze(model, text, **options)

    monkeypatch.setattr(session, "analyze", refusing)
    found = {measure["name"]: measure["available"] for measure in start().get("/api/session").json()["measures"]}
    assert found["alti"] == {"a": True, "b": False, "reason": "tuned is not supported: of a reason"}
    assert found["weight"] == {"a": True, "b": True, "reason": None}


def test_models_that_cut_texts_differently_say_so(start):
    found = start({"a": tiny, "b": lambda: zoo_model("roberta")}).get("/api/session").json()
    assert [found["models"][slot]["words_shared"] for slot in "ab"] == [False, False]


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_every_view_answers_with_an_artifact(start, name):
    client = start()
    for slot in ("a", "b"):
        extra = {} if name == "change" else {"slot": slot}
        job = finish(client, ask(client, name, **extra, **OPTIONS.get(name, {})))
        assert job["view"] == name
        assert job["done"] == job["total"] > 0
        found = read(parcel_of(client, job))
        assert found.artifact.kind == name


def test_a_question_is_queued_then_cached_by_what_it_is(client, held):
    first = ask(client)
    assert first.status_code == 202
    assert first.json()["state"] in {"queued", "running", "done"}
    job = finish(client, first)
    data = parcel_of(client, job)
    found = read(data)
    assert found.arrays["number"].dtype == np.float32
    again = ask(client)
    assert again.status_code == 200
    assert again.json()["state"] == "done"
    assert again.json()["result"] == job["result"]
    assert client.get(f"/api/jobs/{again.json()['id']}").json()["state"] == "done"
    assert held.count == 1
    others = [
        finish(client, ask(client, **other))["result"]
        for other in ({"text": "the cat sat."}, {"slot": "b"}, {"steps": 2}, {"pair": "the dog"}, {"share": 0.5})
    ]
    assert len({job["result"], *others}) == 6
    assert held.count == 6
    assert finish(client, ask(client, pair=" "))["result"] == job["result"]


def test_what_was_answered_while_an_equal_question_came_in_is_not_worked_on_again(client, held, monkeypatch):
    job = finish(client, ask(client))
    look = client.desk.cache.get
    late = iter([None])
    monkeypatch.setattr(client.desk.cache, "get", lambda key: next(late, look(key)))
    again = ask(client)
    assert again.status_code == 202
    assert finish(client, again)["result"] == job["result"]
    assert held.count == 1


def test_results_outlive_the_server(held, start, tmp_path):
    first = start(cache=tmp_path / "kept")
    job = finish(first, ask(first))
    data = parcel_of(first, job)
    second = start(cache=tmp_path / "kept")
    again = ask(second)
    assert again.status_code == 200
    assert parcel_of(second, again.json()) == data
    assert held.count == 1


@pytest.mark.usefixtures("held")
def test_results_of_another_model_or_other_code_are_others(start, tmp_path, monkeypatch):
    first = start(cache=tmp_path / "kept")
    one = finish(first, ask(first))["result"]
    for name, seed in (("base", 7), ("renamed", 0)):
        other = start(LOADS | {"a": lambda name=name, seed=seed: tiny(seed, name)}, cache=tmp_path / "kept")
        response = ask(other)
        assert response.status_code == 202
        assert finish(other, response)["result"] != one
    monkeypatch.setattr("attnscope.server.desk._code", lambda: "another version")
    assert ask(start(cache=tmp_path / "kept")).status_code == 202


def test_what_was_damaged_on_disk_is_computed_again(held, start, tmp_path):
    first = start(cache=tmp_path / "kept")
    data = parcel_of(first, finish(first, ask(first)))
    (file,) = (tmp_path / "kept").rglob("*.parcel")
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    second = start(cache=tmp_path / "kept")
    response = ask(second)
    assert response.status_code == 202
    assert parcel_of(second, finish(second, response)) == data
    assert held.count == 2


def test_results_never_change_and_everything_else_is_not_kept(client):
    job = finish(client, ask(client))
    response = client.get(f"/api/results/{job['result']}")
    assert response.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert response.headers["content-type"] == "application/octet-stream"
    assert client.get("/api/session").headers["cache-control"] == "no-store"


def test_cancelling(client, held):
    held.open.clear()
    first, waiting = ask(client), ask(client, text="the dog")
    assert held.begun.acquire(timeout=30)
    for response in (waiting, first):
        gone = client.delete(f"/api/jobs/{response.json()['id']}")
        assert gone.status_code == 204
        assert gone.content == b""
        assert client.get(f"/api/jobs/{response.json()['id']}").json()["state"] == "cancelled"
    held.open.set()
    assert finish(client, ask(client, text="a mat"))["state"] == "done"
    assert held.count == 2
    assert ask(client).status_code == 202  # nothing was kept of it


def test_progress_is_told_as_events_until_the_end(client, held):
    held.open.clear()
    job = ask(client, steps=3).json()
    assert held.begun.acquire(timeout=30)
    held.open.set()
    with client.stream("GET", f"/api/jobs/{job['id']}/events") as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        lines = [line for line in response.iter_lines() if line]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert {event["id"] for event in events} == {job["id"]}
    assert events[-1]["state"] == "done"
    assert (events[-1]["done"], events[-1]["total"]) == (3, 3)
    assert client.get(f"/api/results/{events[-1]['result']}").status_code == 200


def test_events_of_what_is_over_say_so_at_once(client):
    job = finish(client, ask(client))
    text = client.get(f"/api/jobs/{job['id']}/events").text
    assert [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line] == [job]


def test_a_full_queue_says_so(held, start):
    client = start(queue=1, workers=1)
    held.open.clear()
    ask(client)
    assert held.begun.acquire(timeout=30)
    ask(client, text="the dog")
    response = ask(client, text="a mat")
    assert "waiting" in sentence(response, 429)
    assert response.headers["retry-after"] == "1"
    held.open.set()


def test_mistakes_and_defects_end_as_failed_jobs(client, caplog):
    job = finish(client, ask(client, say="mistake"))
    assert (job["state"], job["result"]) == ("failed", None)
    assert job["message"] == "this can't be asked; ask something else"
    assert not caplog.records
    job = finish(client, ask(client, say="defect"))
    assert (job["state"], job["message"]) == ("failed", DEFECT)
    assert "a secret of the inside" in caplog.text
    assert ask(client, say="mistake").status_code == 202  # a failure is not kept


def test_a_defect_of_the_server_itself_is_in_the_log_alone(client, monkeypatch, caplog):
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("a secret of the inside")

    monkeypatch.setattr(client.desk, "ask", broken)
    assert sentence(ask(client), 500) == DEFECT
    assert "a secret of the inside" in caplog.text
    assert client.get("/api/session").status_code == 200


def test_names_that_are_unknown(client):
    assert "did you mean 'held'" in sentence(ask(client, "hold"), 404)
    assert "no such job" in sentence(client.get("/api/jobs/nothing"), 404)
    assert "no such job" in sentence(client.delete("/api/jobs/nothing"), 404)
    assert "no such job" in sentence(client.get("/api/jobs/nothing/events"), 404)
    assert "ask again" in sentence(client.get(f"/api/results/{'0' * 64}"), 404)
    for path in (
        "/api",
        "/api/",
        "/api/nothing",
        "/api/views",
        "/api/results",
        "/nothing",
        "/api/openapi.json",
        "/docs",
    ):
        assert "nothing at" in sentence(client.get(path), 404)
    assert len(sentence(client.get("/" + "a" * 5000), 404)) < 200
    assert len(sentence(client.get("/api/" + "a" * 5000), 404)) < 1100
    for key in ("short", "0" * 63, "0" * 65, "G" * 64, "..%2F..%2Fetc%2Fpasswd"):
        assert client.get(f"/api/results/{key}").status_code in {404, 422}


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/views/held"), ("POST", "/api/session"), ("PUT", "/api/jobs/x"), ("POST", "/"), ("DELETE", "/")],
)
def test_methods_that_are_none(client, method, path):
    response = client.request(method, path)
    assert response.status_code in {404, 405}
    sentence(response, response.status_code)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON object"),
        (b"{", "not JSON"),
        (b"null", "JSON object"),
        (b"[]", "object"),
        (b'"text"', "object"),
        (b"{}", "lacks text"),
        (b'{"text": 5}', "text: "),
        (b'{"text": null}', "text: "),
        (b'{"text": "a", "pair": 5}', "pair: "),
        (b'{"text": "a", "txet": "b"}', "no field txet"),
        (b'{"text": "a", "slot": "c"}', "slot: "),
        (b'{"text": "a", "steps": 1.5}', "steps: "),
        (b'{"text": "a", "share": NaN}', "share: "),
        (b'{"text": "a", "share": 1e999}', "share: "),
        (b'{"text": "\\ud800"}', "lone surrogates"),
        (b"[" * 100_000, "not JSON"),
        (b'{"text": "a", "steps": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b'{"text": "\xff\xfe"}', "not JSON"),
        (b'{"text": "a", "\\ud800": 1}', ""),
    ],
)
def test_requests_that_are_none(client, body, said):
    response = client.post("/api/views/held", content=body, headers=JSON)
    assert response.status_code in {400, 422}
    assert said in sentence(response, response.status_code)
    assert finish(client, ask(client))["state"] == "done"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_requests_that_a_foreign_form_could_send(client, kind):
    headers = {} if kind is None else {"content-type": kind}
    assert "JSON" in sentence(client.post("/api/views/held", content=b'{"text": "a"}', headers=headers), 422)


@pytest.mark.parametrize("text", ["", " ", "\n\t  ", "\u3000", "\u00a0\u2003"])
def test_texts_without_a_word(client, text):
    assert "type at least one word" in sentence(ask(client, text=text), 422)


@pytest.mark.parametrize(
    "text",
    [
        "🙂",
        "👩‍👩‍👧‍👦 🇯🇵 naïve",
        "これは猫です。",
        "الولد قرأ الكتاب",
        "שלום עולם",
        "the\x00cat",
        "\x00",
        "\u200b",
        "\ufeffthe cat",
        "the\u202ecat",
        "a\u0301\u0302\u0303",
        "\U0010ffff",
        "<script>alert(1)</script>",
        "[CLS] [SEP] [MASK]",
        "'\"\\/{}",
        "x" * 1000,
    ],
)
@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_texts_of_every_kind_are_answered_or_refused_in_a_sentence(start, name, text):
    client = start({"a": lambda: zoo_model(name)})
    job = finish(client, ask(client, "answer", text=text))
    if job["state"] == "failed":
        assert job["message"]
        assert job["message"] != DEFECT
    else:
        assert job["state"] == "done"
        assert read(parcel_of(client, job)).artifact.kind == "answer"


def test_texts_that_are_too_long(held, start):
    client = start(limits=Limits(characters=100, tokens=10, body_bytes=2_000))
    assert "101 characters, 100 are the most" in sentence(ask(client, text="x" * 101), 422)
    assert "the pair has" in sentence(ask(client, pair="x" * 101), 422)
    assert "the say has" in sentence(ask(client, say="x" * 101), 422)
    assert finish(client, ask(client, text="x" * 7))["state"] == "done"
    job = finish(client, ask(client, text="the cat " * 10))
    assert job["message"] == "the text has 22 tokens for base, 10 are the most; shorten it"
    job = finish(client, ask(client, text="the cat", pair="the dog " * 5))
    assert "15 tokens" in job["message"]
    assert "2,000 bytes" in sentence(ask(client, text="x" * 3_000), 413)
    assert held.count == 1


def test_texts_longer_than_the_model_can_read(client):
    job = finish(client, ask(client, "answer", text="the cat " * 50))
    assert job["message"] == "the text has 102 tokens for base, 64 are the most; shorten it"


@pytest.mark.usefixtures("held")
def test_a_second_model_that_is_not_there(start):
    client = start({"a": tiny})
    assert "no second model" in sentence(ask(client, slot="b"), 422)
    job = finish(client, ask(client, "change"))
    assert job["state"] == "failed"
    assert job["message"] != DEFECT


def test_a_model_that_reads_and_writes(start):
    client = start({"a": lambda: zoo_model("marian")})
    session = client.get("/api/session").json()
    assert session["models"]["a"]["stacks"] == ["encoder", "decoder", "cross"]
    layered = [measure for measure in session["measures"] if measure["name"] != "decomposed"]
    assert all(measure["available"]["a"] for measure in layered)
    (exact,) = [one["available"] for one in session["measures"] if one["name"] == "decomposed"]
    assert not exact["a"]
    assert "encoder and decoder at once" in exact["reason"]
    for measure in ("weight", "value_zeroing"):
        assert finish(client, ask(client, "maps", pair="the dog", measure=measure))["state"] == "done"
    assert "give a second text" in finish(client, ask(client, "maps", measure="value_zeroing"))["message"]
    for pair in (None, "the dog"):
        assert "its words have two sides" in finish(client, ask(client, "faithfulness", pair=pair))["message"]


@pytest.mark.parametrize(
    ("head", "said"),
    [("MaskedLM", "put [MASK]"), ("TokenClassification", "every token"), ("QuestionAnswering", "part of the text")],
)
def test_what_decides_nothing_has_no_decision_to_check(start, head, said):
    model = ats.Model(zoo.build_head("bert", f"AutoModelFor{head}"), zoo.tokenizer("bert"), name="tiny")
    client = start({"a": lambda: model})
    message = finish(client, ask(client, "faithfulness"))["message"]
    assert message.startswith("there is no decision to check: tiny ")
    assert said in message


def test_the_corpus_is_the_servers_own(start):
    client = start(corpus=Corpus("mine", ("the cat sat", "the dog sat", "a mat")))
    assert client.get("/api/session").json()["corpus"] == {"name": "mine", "texts": 3}
    options = {"word": "sat", "threshold": 0.001, "where": "corpus"}
    found = read(parcel_of(client, finish(client, ask(client, "search", **options))))
    assert {text.text for text in found.artifact.texts} == {"the cat sat", "the dog sat"}
    sent = finish(client, ask(client, "search", **options, corpus=["the secret sat"]))
    assert {text.text for text in read(parcel_of(client, sent)).artifact.texts} == {"the cat sat", "the dog sat"}
    other = start(corpus=Corpus("mine", ("a dog sat",)))
    assert finish(other, ask(other, "search", **options))["result"] != sent["result"]
    without = start()
    assert "no corpus" in finish(without, ask(without, "search", **options))["message"]
