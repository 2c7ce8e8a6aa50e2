"""Figures in files, whole or not at all."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attnscope.errors import InputError
from attnscope.places import check_place, whole

FORMATS = (".png", ".svg", ".pdf")


def save_figure(figure: Figure, path: Path, *, overwrite: bool = False, dpi: int = 200) -> Path:
    """Write a figure, whole or not at all."""
    check_figure_target(path, overwrite=overwrite)
    FigureCanvasAgg(figure)
    with whole(path) as partial:
        figure.savefig(partial, dpi=dpi, facecolor=figure.get_facecolor(), bbox_inches="tight", pad_inches=0.25)
    return path


def check_figure_target(path: Path, *, overwrite: bool) -> None:
    """What can be wrong with a place to write to, said before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path} has an unknown ending for a figure; known: {', '.join(FORMATS)}")
    check_place(path, overwrite=overwrite)


def free_name(path: Path) -> Path:
    """The path, or the first of path-2, path-3, ... that is not taken."""
    number = 2
    candidate = path
    while candidate.exists():
        candidate = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return candidate
