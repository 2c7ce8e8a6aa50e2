"""A server of tiny models, with a question of its own that can be held and counted."""

import contextlib
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

import attnscope as ats
from attnscope.analyses.views import VIEWS
from attnscope.analyses.views.registry import SlotRequest, TextRequest, View
from attnscope.artifacts import Answer, Parcel
from attnscope.artifacts.tokens import TokenList
from attnscope.errors import InputError
from attnscope.server import listen
from attnscope.server.app import create_app
from attnscope.server.desk import Desk
from attnscope.server.models import Models
from attnscope.server.settings import Settings
from tests import zoo

ADDRESS = "http://127.0.0.1:8765"


class HeldRequest(SlotRequest):
    """What the held question takes."""

    steps: int = 1
    share: float = 0.0
    say: str = "answered"


class Held:
    """A question that counts how often it is worked on, and can be kept from going on."""

    def __init__(self) -> None:
        self.count = 0
        self.now = self.most = 0
        """How many are worked on at once, now and at most, for one model."""
        self.open = threading.Event()
        self.open.set()
        self.begun = threading.Semaphore(0)
        self._lock = threading.Lock()

    def __call__(self, models: Any, request: HeldRequest, progress: Any) -> Parcel:
        """Say the tokens of a text."""
        model = models[request.slot]
        with self._lock:
            self.count += 1
            self.now += 1
            self.most = max(self.most, self.now)
        self.begun.release()
        try:
            progress(0, request.steps)
            while not self.open.wait(0.005):
                progress(0, request.steps)
            for step in range(request.steps):
                progress(step + 1, request.steps)
            if request.say == "defect":
                raise ZeroDivisionError("a secret of the inside")
            if request.say == "mistake":
                raise InputError("this can't be asked;\n ask something else")
            return answer(model.encode(request.text, request.pair).source.strings)
        finally:
            with self._lock:
                self.now -= 1


def both(models: Any, _request: TextRequest, progress: Any) -> Parcel:
    """Ask both models."""
    progress(1, 1)
    return answer([models["a"].name, models["b"].name])


def answer(strings: Any) -> Parcel:
    labels = tuple(f"{number} {string}" for number, string in enumerate(strings))
    count = len(labels)
    tokens = TokenList(labels=labels, special=(False,) * count, words=tuple(range(count)), starts_word=(True,) * count)
    return Parcel(
        Answer(model="tiny", tokens=tokens, task="none", position=None, choices=(), reason=None),
        {"number": np.arange(count, dtype=np.float32)},
    )


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    found = Held()
    monkeypatch.setitem(VIEWS, "held", View("held", "A question for tests.", HeldRequest, found))
    monkeypatch.setitem(VIEWS, "both", View("both", "A question to both.", TextRequest, both))
    return found


def tiny(seed: int = 0, name: str = "tiny") -> ats.Model:
    model = zoo.build_head("bert", "AutoModelForSequenceClassification", seed=seed)
    return ats.Model(model, zoo.tokenizer("bert"), name=name)


BASE, TUNED = tiny(0, "base"), tiny(1, "tuned")
LOADS: dict[str, Callable[[], ats.Model]] = {"a": lambda: BASE, "b": lambda: TUNED}
"""Shared between tests: nobody may change them."""

Start = Callable[..., TestClient]


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    """Start a server in this process; settings as keywords. Its desk is the client's `desk`."""
    with contextlib.ExitStack() as stack:

        def starter(loads: Any = None, folder: Path | None = None, **settings: Any) -> TestClient:
            desk = Desk(Models(loads or LOADS), Settings(**settings))
            app = create_app(desk, folder or tmp_path / "static")
            client = stack.enter_context(
                TestClient(app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False)
            )
            client.desk = desk  # type: ignore[attr-defined]
            return client

        yield starter


@pytest.fixture
def client(held: Held, start: Start) -> TestClient:  # noqa: ARG001 - it registers its question
    return start()


class Served:
    """Starts real servers, each in a thread of its own and on a real socket."""

    def __init__(self) -> None:
        self._running: list[tuple[listen.Server, threading.Thread]] = []

    def __call__(self, **settings: Any) -> str:
        """Start one, and return its address."""
        given = Settings(**settings)
        desk = Desk(Models(LOADS), given)
        ready = threading.Event()
        listening = listen.bound(given.host, 0)
        server = listen.server(create_app(desk), desk, ready.set)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        self._running.append((server, thread))
        assert ready.wait(30)
        return listen.address(listening, given)

    def stop(self) -> None:
        """Stop all."""
        for server, _ in self._running:
            server.should_exit = True
        for _, thread in self._running:
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture
def served(held: Held) -> Generator[Served]:
    found = Served()
    yield found
    held.open.set()
    found.stop()
