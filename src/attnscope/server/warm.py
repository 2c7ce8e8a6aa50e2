"""What is worked out before anyone asks: the questions with which the page opens."""

import contextlib
from collections.abc import Iterator
from typing import Any

from attnscope.analyses.views import VIEWS
from attnscope.artifacts.session import Example
from attnscope.errors import AttnscopeError
from attnscope.server.desk import Desk

_FIRST: tuple[tuple[str, dict[str, Any]], ...] = (
    ("answer", {}),
    ("maps", {"measure": "weight"}),
    ("maps", {"measure": "head_norm"}),
    ("words", {}),
    ("heads", {}),
    ("maps", {"measure": "attention_norm"}),
    ("maps", {"measure": "block_norm"}),
)
"""By view, what is asked of every model, as the page and its story ask it; what is not said is left as it is."""
_CHANGES = ("weight", "head_norm")
_MOST_CLASSES = 3


def warm(desk: Desk) -> None:
    """Queue the questions of the example, if there is one: those that come first in front."""
    example = desk.settings.example
    if example is None:
        return
    with contextlib.suppress(AttnscopeError):  # then it is worked out when somebody asks
        for view, request in _questions(desk, example):
            desk.ask(VIEWS[view], VIEWS[view].request.model_validate(request))


def _questions(desk: Desk, example: Example) -> Iterator[tuple[str, dict[str, Any]]]:
    text = example.model_dump()
    models = {"a": desk.session.models.a, "b": desk.session.models.b}
    slots = [slot for slot, info in models.items() if info is not None]
    for view, options in _FIRST:
        for slot in slots:
            yield view, {**text, **options, "slot": slot}
    if len(slots) > 1:
        for measure in _CHANGES:
            yield "change", {**text, "measure": measure}
    for slot, info in models.items():
        for name in info.classes[:_MOST_CLASSES] if info is not None else ():
            yield "words", {**text, "slot": slot, "target": name}
