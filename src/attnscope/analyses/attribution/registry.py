"""The registry of attribution methods: what each one is called, what its numbers are, and where it comes from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnscope.errors import InputError, one_of
from attnscope.models.attribution import Attribution
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.models.targets import Position, Target

ABNAR_2020 = "Abnar & Zuidema 2020, Quantifying Attention Flow in Transformers (ACL)"


@dataclass(frozen=True)
class Question:
    """Which tokens of a text matter for a decision of a model."""

    model: Model
    text: Any
    pair: str | None
    inputs: Encoded
    target: Any = None
    position: Position = None
    steps: int = 32
    """Of the integral, for integrated gradients."""
    seed: int | Sequence[int] = 0
    """For the random ranking."""


@dataclass(frozen=True)
class Answer:
    """One attribution for each number that was explained; what the numbers are; what else is to be said."""

    found: list[Attribution]
    target: Target
    notes: dict[str, str | int | float] = field(default_factory=dict[str, str | int | float])


@dataclass(frozen=True)
class Method:
    """One way of attributing a decision to tokens."""

    name: str
    compute: Callable[[Question], Answer]
    summary: str
    formula: str
    paper: str
    signed: bool
    """Whether a number says for or against; else it only ranks."""
    exact: bool
    """Whether the numbers add up to the logit by construction, so that a model where they don't is refused."""


ATTRIBUTIONS: dict[str, Method] = {}


def attribution(
    *, formula: str, paper: str, signed: bool, exact: bool = False
) -> Callable[[Callable[[Question], Answer]], Callable[[Question], Answer]]:
    """Register a function of a question under its own name."""

    def register(compute: Callable[[Question], Answer]) -> Callable[[Question], Answer]:
        called = compute.__name__
        if called in ATTRIBUTIONS:
            raise ValueError(f"two attribution methods are called {called}")
        summary = (compute.__doc__ or "").strip().splitlines()[0]
        ATTRIBUTIONS[called] = Method(called, compute, summary, formula, paper, signed, exact)
        return compute

    return register


def lookup(name: str) -> Method:
    """The method called `name`, or an error that names the near ones."""
    if not isinstance(name, str):
        raise InputError(f"a method is a name, such as decomposed; got {name!r}")
    return ATTRIBUTIONS[one_of("method", name, ATTRIBUTIONS)]
