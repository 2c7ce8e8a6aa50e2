"""How a command ends: whatever a user can cause is one sentence and an exit code, never a traceback."""

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec

import typer

from attnscope.errors import AttnscopeError

FAILED = 1
MISTAKE = 2
STOPPED = 130
PIPE_CLOSED = 141
"""As the shell counts them: 128 and the number of the signal."""

P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command, with its ends as exit codes."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except AttnscopeError as error:
            _say(f"attnscope: {' '.join(str(error).split())}")
            raise typer.Exit(MISTAKE) from error
        except KeyboardInterrupt as error:
            _say("stopped")
            raise typer.Exit(STOPPED) from error
        except BrokenPipeError as error:
            _forget()  # whoever read has gone
            raise typer.Exit(PIPE_CLOSED) from error
        except OSError as error:
            if error.filename is not None or error.errno is None:
                raise
            _forget()
            _say(f"attnscope: the output can't be written: {error.strerror}")
            raise typer.Exit(MISTAKE) from error

    return run


def _forget() -> None:
    """Let what is left in the buffer go nowhere, or Python complains at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)
