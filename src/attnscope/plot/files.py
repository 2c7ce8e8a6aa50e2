"""Figures in files, whole or not at all."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attnscope.errors import InputError

FORMATS = (".png", ".svg", ".pdf")


def save_figure(figure: Figure, path: Path, *, overwrite: bool = False, dpi: int = 200) -> Path:
    """Write a figure; it is written beside its place and moved there when it is whole."""
    check_figure_target(path, overwrite=overwrite)
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    FigureCanvasAgg(figure)
    try:
        figure.savefig(partial, dpi=dpi, facecolor=figure.get_facecolor(), bbox_inches="tight", pad_inches=0.25)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def check_figure_target(path: Path, *, overwrite: bool) -> None:
    """What can be wrong with a place to write to, said before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path} has an unknown ending for a figure; known: {', '.join(FORMATS)}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {path.absolute().parent} to write {path.name} to")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if path.exists() and not overwrite:
        raise InputError(f"{path} is there already; choose another name, or say --overwrite")


def free_name(path: Path) -> Path:
    """The path, or the first of path-2, path-3, ... that is not taken."""
    number = 2
    candidate = path
    while candidate.exists():
        candidate = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return candidate
