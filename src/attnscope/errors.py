"""What can go wrong for a user, each said in one sentence: what was expected, what came, what to do.

Everything here may be shown as it is, without a traceback; the command line turns it into exit code 2.
An exception that is not one of these is a defect of attnscope.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class AttnscopeError(Exception):
    """The base of every error that a user may see as one sentence."""


class InputError(AttnscopeError, ValueError):
    """What was given is not what was asked for."""


class TextTooLong(InputError):
    """A text of more tokens than a model has positions for."""

    def __init__(self, tokens: int, most: int) -> None:
        super().__init__(tokens, most)
        self.tokens = tokens
        self.most = most

    def __str__(self) -> str:
        return (
            f"the text has {self.tokens} tokens, the model has positions for {self.most}; shorten it, or pass "
            f"stride={max(1, self.most // 2)} to analyse it in overlapping windows"
        )


class UnsupportedModel(AttnscopeError):
    """A model whose attention cannot be captured, or whose parts do not add up to its output."""

    def __init__(self, model: str, reason: str) -> None:
        # Both go to `args`: an exception is rebuilt from them when it crosses a process boundary.
        super().__init__(model, reason)
        self.model = model
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.model} is not supported: {self.reason}"


def one_of(kind: str, got: str, choices: Iterable[str]) -> str:
    """Return `got` if it is one of `choices`, else raise what `unknown` says."""
    known = tuple(choices)
    if got not in known:
        raise unknown(kind, got, known)
    return got


def unknown(kind: str, got: str, choices: Iterable[str]) -> InputError:
    """The error for a name that is not known, with the nearest known names first."""
    known = tuple(choices)
    return InputError(f"unknown {kind} {got!r};{_suggestion(near(got, known))} known: {_listed(known)}")


def near(got: str, choices: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """The choices that `got` may have been meant to be, best first, whatever their case."""
    spelled = {choice.casefold(): choice for choice in choices}
    matches = get_close_matches(got.casefold(), spelled, n=limit, cutoff=0.7)
    return tuple(spelled[match] for match in matches)


def _suggestion(names: Sequence[str]) -> str:
    return f" did you mean {' or '.join(map(repr, names))}?" if names else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def check_seed(seed: object) -> None:
    """Refuse what no random numbers can begin with."""
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed is a whole number from 0, not {seed!r}")
