"""What is worked out before anyone asks is what the page asks first."""

from typing import Any

import pytest

from attnscope.artifacts.session import Example
from attnscope.server.warm import warm
from tests.server.asking import ask, finish
from tests.server.conftest import tiny

TEXT = "the cat sat, not bad."
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("answer", {"slot": "b", "pair": None}),
    ("maps", {"slot": "a", "pair": None, "measure": "weight", "reading": "direct", "unit": "token"}),
    ("maps", {"slot": "b", "pair": None, "measure": "head_norm", "reading": "direct", "unit": "token"}),
    ("heads", {"slot": "b", "pair": None, "unit": "token"}),
    ("words", {"slot": "a", "pair": None, "unit": "token", "method": "decomposed", "target": None}),
    ("words", {"slot": "b", "pair": None, "unit": "token", "method": "decomposed", "target": "LABEL_1"}),
    ("change", {"pair": None, "measure": "weight"}),
]
"""As the browser writes it: with what it could have left out."""


def test_the_example_is_there_when_the_page_opens(start):
    client = start(example=Example(text=TEXT, pair=None))
    assert client.get("/api/session").json()["demo"] == {"text": TEXT, "pair": None}
    warm(client.desk)
    for view, request in ASKED:
        assert finish(client, ask(client, view, text=TEXT, **request))["state"] == "done"
    assert {ask(client, view, text=TEXT, **request).status_code for view, request in ASKED} == {200}
    every = len(client.desk.jobs._tickets) - 2 * len(ASKED)
    assert every == 2 * 7 + 2 + 2 * 3


def test_without_an_example_nothing_is_done(start):
    client = start()
    warm(client.desk)
    assert not client.desk.jobs._tickets


@pytest.mark.parametrize("queue", [1, 3])
def test_a_small_queue_is_no_mistake(start, queue):
    client = start({"a": tiny}, example=Example(text=TEXT, pair=None), queue=queue)
    warm(client.desk)
    assert finish(client, ask(client, "answer", text=TEXT))["state"] == "done"
