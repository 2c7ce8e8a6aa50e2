"""Labels of tokens: everything visible, no two alike."""

from collections.abc import Iterable

from attnscope.text.characters import is_mark

_SIGNS = str.maketrans(
    {"\n": "↵", "\r": "↵", "\v": "↵", "\f": "↵", "\x85": "↵", "\u2028": "↵", "\u2029": "↵", "\t": "⇥"}
)


def visible(string: str) -> str:
    """The string with a sign for each line end and tab, for blanks or marks alone, and for nothing at all."""
    shown = string.translate(_SIGNS)
    if not shown.strip():
        return "␣" * len(shown) or "∅"
    return "◌" + shown if all(map(is_mark, shown)) else shown


def unique(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels, a repeated one with its number: the, the (2), the (3)."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    named: list[str] = []
    for label in labels:
        name = label
        while name in taken:
            counts[label] = counts.get(label, 1) + 1
            name = f"{label} ({counts[label]})"
        taken.add(name)
        named.append(name)
    return tuple(named)


def short_name(model: str) -> str:
    """A model's name without the folders on the way to it: model + adapter, model (int8)."""
    parts = model.split(" + ")
    return " + ".join(part if part.count("/") < 2 else part.rstrip("/").split("/")[-1] for part in parts)
