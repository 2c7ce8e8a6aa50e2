"""Where the work on a question stands."""

from typing import Literal

from attnscope.artifacts.value import Value

JobState = Literal["queued", "running", "done", "failed", "cancelled"]


class Job(Value):
    """A question that was asked, and how far it got."""

    id: str
    view: str
    state: JobState
    done: int
    """Steps, of `total`; both are 0 before anything is known."""
    total: int
    message: str | None
    """What went wrong, in one sentence."""
    result: str | None
    """The key of the result, once there is one."""

    @property
    def is_final(self) -> bool:
        return self.state in {"done", "failed", "cancelled"}


class Problem(Value):
    """Why a request was refused: the body of every answer that is an error."""

    message: str
    """One sentence: what was expected, what came, what to do."""
