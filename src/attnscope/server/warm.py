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
    ("words", {}),
    ("maps", {"measure": "attention_norm"}),
    ("maps", {"measure": "block_norm"}),
    ("heads", {}),
)
"""By view, what is asked of every model; what is not said here is left as it is."""


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
    for view, options in _FIRST:
        for slot in desk.models.slots:
            yield view, {**text, **options, "slot": slot}
    if len(desk.models.slots) > 1:
        for measure in ("weight", "attention_norm"):
            yield "change", {**text, "measure": measure}
