"""The terminal: results go to standard output, everything that moves to standard error, and only if a person looks."""

import contextlib
import shutil
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from attnscope.text.labels import visible

Step = Callable[[int, int], None]
_NARROW = 100
"""Columns to assume where the output is no terminal: a file or a pipe."""
_WIDEST = 10_000
"""Columns that no table has, so that one can be asked how wide it has to be."""


class _Output(Console):
    """A console that leaves a closed pipe to the command's guard."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@dataclass(frozen=True)
class Screen:
    """Where a command writes."""

    json: bool = False
    quiet: bool = False

    @property
    def moving(self) -> bool:
        return not (self.json or self.quiet) and sys.stderr.isatty()

    def show(self, *parts: RenderableType) -> None:
        """Write a part of the result; [CLS] is text here, and no style."""
        width = None if sys.stdout.isatty() else max(_NARROW, shutil.get_terminal_size((_NARROW, 24)).columns)
        for part in parts:
            if not isinstance(part, Table):
                _output(width).print(part)
            elif part.row_count:
                _print_table(part, width)

    def note(self, sentence: str) -> None:
        """Say something that is no part of the result."""
        if not (self.json or self.quiet):
            print(sentence, file=sys.stderr)

    @contextlib.contextmanager
    def waiting(self, what: str) -> Generator[None]:
        """A spinner while something takes its time."""
        if not self.moving:
            yield
            return
        with Console(stderr=True, markup=False, highlight=False).status(Text(what), spinner="dots"):
            yield

    @contextlib.contextmanager
    def counting(self, what: str) -> Generator[Step | None]:
        """A progress bar; what it yields is told how many are done of how many."""
        if not self.moving:
            yield None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(what, total=None)

            def step(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            yield step


def _output(width: int | None) -> Console:
    return _Output(file=sys.stdout, markup=False, highlight=False, emoji=False, width=width)


def _print_table(table: Table, width: int | None) -> None:
    """A table below its title, on a narrow screen too wide rather than with its numbers cut off."""
    console = _output(width)
    if table.title is not None:
        console.print(table.title)  # on a line of its own, or it breaks where the table ends
        table.title = None
    for column in table.columns:
        if column.no_wrap:
            lines = [line for cell in (column.header, *column.cells) for line in str(cell).split("\n")]
            column.min_width = min(max(map(cell_len, lines)), column.max_width or sys.maxsize)
    least = console.measure(table, options=console.options.update(width=_WIDEST)).minimum
    _output(max(console.width, least)).print(table)


def printable(token: str) -> str:
    """A token as one can write it to a terminal: nothing invisible, and no control codes."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in visible(token))
