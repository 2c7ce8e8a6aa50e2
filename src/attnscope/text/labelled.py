"""Labelled sentences from a file: one a line, the label, a tab and the sentence."""

from collections.abc import Collection
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from attnscope.errors import InputError

LABEL_NAMES = frozenset({"label", "labels", "class", "gold", "target", "y"})
"""What the label's column is called in a header. Without one, the label comes first."""


@dataclass(frozen=True)
class Labelled:
    """Sentences with their labels, as the file writes them."""

    sentences: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.sentences)


def read_labelled(path: Path) -> Labelled:
    """The sentences of a file. A header may say which column is the label; empty lines are left out."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"the file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start + 1})") from error
    rows = [(number, line.split("\t")) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, cells in rows:
        if len(cells) != 2:
            raise InputError(
                f"line {number} of {path} has {len(cells)} column{'' if len(cells) == 1 else 's'}; expected are two, a "
                "label and a sentence with a tab between"
            )
    place = _label_column(rows[0][1]) if rows else None
    if place is not None:
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path} has no sentences")
    label = place or 0
    return Labelled(
        tuple(cells[1 - label].strip() for _, cells in rows), tuple(cells[label].strip() for _, cells in rows)
    )


def lines_of(text: str) -> list[str]:
    """The lines of a file, without those that are empty.

    Signs that part lines within a text (form feed, U+2028) end none: they came along with what was copied.
    """
    return [line.strip() for line in StringIO(text, newline=None) if line.strip()]


def _label_column(cells: list[str]) -> int | None:
    """The label's column, if these cells are a header."""
    names = [cell.strip().casefold() for cell in cells]
    return next((place for place, name in enumerate(names) if name in LABEL_NAMES), None)


def classes_of(labels: Collection[str], names: dict[str, int]) -> list[int]:
    """The numbers of the classes that labels name, by name or by number."""
    numbers = {str(number): number for number in names.values()}
    known = numbers | names
    for label in labels:
        if label not in known:
            listed = ", ".join(f"{name} ({number})" for name, number in names.items())
            raise InputError(f"the model has no class {label!r}; its classes: {listed}")
    return [known[label] for label in labels]
