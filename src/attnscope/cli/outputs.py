"""The files a command writes: refused before any work is done if they can't be, and whole or not at all."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attnscope.errors import InputError
from attnscope.places import check_place, whole

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from attnscope.cli.screen import Screen


@dataclass(frozen=True)
class Outputs:
    """Where a result and its figure go, if anywhere."""

    out: Path | None
    figure: Path | None
    overwrite: bool

    def check(self, *, json: bool = False) -> None:
        """What can be wrong with these places; with `json`, the result is no dataset but a value for a .json file."""
        if self.out is not None:
            if json:
                _check_json(self.out, overwrite=self.overwrite)
            else:
                from attnscope.store.datasets import check_target

                check_target(self.out, overwrite=self.overwrite)
        if self.figure is not None:
            from attnscope.plot.files import check_figure_target

            check_figure_target(self.figure, overwrite=self.overwrite)

    def write(self, result: "xr.Dataset", screen: "Screen") -> None:
        """The result, to its file."""
        if self.out is None:
            return
        from attnscope.store.datasets import save

        with screen.waiting(f"writing {self.out}"):
            save(result, self.out, overwrite=self.overwrite)
        screen.note(f"written to {self.out}")

    def write_json(self, text: str, screen: "Screen") -> None:
        """A value that is JSON already, to its file."""
        if self.out is None:
            return
        with whole(self.out) as partial:
            partial.write_text(text + "\n", encoding="utf-8")
        screen.note(f"written to {self.out}")

    def draw(self, make: "Callable[[], Figure]", screen: "Screen") -> None:
        """The figure, to its file; it is only made if there is one."""
        if self.figure is None:
            return
        from attnscope.plot.files import save_figure

        with screen.waiting("drawing"):
            save_figure(make(), self.figure, overwrite=self.overwrite)
        screen.note(f"drawn into {self.figure}")


def _check_json(path: Path, *, overwrite: bool) -> None:
    if path.suffix != ".json":
        raise InputError(f"{path} has an unknown ending; a graph goes to {path.stem}.json")
    check_place(path, overwrite=overwrite)
