"""What a model answers: the start of every view, because it shows what was read and what was decided."""

from typing import Literal

from attnscope.artifacts.tokens import TokenList
from attnscope.artifacts.value import Value

Task = Literal["classes", "masked", "next", "none"]


class Choice(Value):
    """One of the things a model could have answered."""

    name: str
    """As the model has it, and as a target is named."""
    label: str
    """As people read it."""
    probability: float | None
    """None where the model puts out one number and no alternatives."""
    logit: float


class Answer(Value):
    """What was read, and the likeliest answers, best first; none where the model has no head."""

    kind: Literal["answer"] = "answer"
    model: str
    tokens: TokenList
    task: Task
    position: int | None
    """The token whose logits these are, where each has some."""
    reason: str | None
    """Why there are no answers; None where there are."""
    choices: tuple[Choice, ...]
