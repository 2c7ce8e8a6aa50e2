"""The registry of views' questions: what each is called, what it takes, and how it is answered.

A new one is a new file with a function under `@view`; its HTTP route and its TypeScript types follow.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from pydantic import ConfigDict

from attnscope.artifacts.parcel import Parcel
from attnscope.artifacts.value import Value
from attnscope.models.model import Model

Slot = Literal["a", "b"]
"""Model A, or model B: before and after."""
Models = Mapping[str, Model]
Progress = Callable[[int, int], None]
"""Called with the steps done and the steps there are; what it raises ends the work."""


def unwatched(_done: int, _total: int) -> None:
    """The progress of work that nobody watches."""


class TextRequest(Value):
    """What every question has: a text, or a pair of texts."""

    model_config = ConfigDict(allow_inf_nan=False)  # JSON as Python reads it has them

    text: str
    pair: str | None = None


class SlotRequest(TextRequest):
    """A question to one of the models."""

    slot: Slot = "a"


Compute = Callable[[Models, Any, Progress], Parcel]


@dataclass(frozen=True)
class View:
    """One question."""

    name: str
    summary: str
    request: type[TextRequest]
    compute: Compute


VIEWS: dict[str, View] = {}


def view(compute: Compute) -> Compute:
    """Register a function of (models, request, progress) under its own name; its annotation says what it takes."""
    name = compute.__name__
    if name in VIEWS:
        raise ValueError(f"two views are called {name}")
    summary = (compute.__doc__ or "").strip().splitlines()[0]
    VIEWS[name] = View(name, summary, get_type_hints(compute)["request"], compute)
    return compute
