"""Places that results are written to: looked at before any work is done, and written whole or not at all."""

import contextlib
import os
import shutil
from collections.abc import Generator
from pathlib import Path

from attnscope.errors import InputError


def check_place(path: Path, *, overwrite: bool, folder: bool = False) -> None:
    """What can be told beforehand to be wrong with a place; `folder` for what is written as one."""
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {path.absolute().parent} to write {path.name} to")
    if not os.access(path.absolute().parent, os.W_OK):
        raise InputError(f"{path} can't be written: the folder {path.absolute().parent} is read-only for you")
    if path.is_dir() and not folder:
        raise InputError(f"{path} is a folder; name a file in it")
    if path.exists() and not overwrite:
        raise InputError(f"{path} is there already; choose another name, or say overwrite (--overwrite)")


@contextlib.contextmanager
def whole(path: Path) -> Generator[Path]:
    """A place beside `path` to write to, moved there once it is whole: no half file is ever left."""
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        remove(partial)
        yield partial
        if path.is_dir() or partial.is_dir():  # only a file takes a file's place by itself
            remove(path)
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            remove(partial)


def remove(path: Path) -> None:
    """Take away a file, or a folder with all that is in it; there may be none."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
