"""Where results are written to."""

from pathlib import Path

import pytest

from attnscope.errors import InputError
from attnscope.places import check_place, remove, whole

LOCKED = Path("/proc/result.json")
"""A place where nobody can write, not even the administrator."""


def test_a_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    with whole(path) as partial:
        partial.write_text("half")
        assert not path.exists()
        assert partial.suffix == ".json"
    assert [found.name for found in tmp_path.iterdir()] == ["result.json"]
    assert path.read_text() == "half"


def test_a_folder_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "result.zarr"
    for name in ("one", "two"):
        with whole(path) as partial:
            partial.mkdir()
            (partial / name).touch()
    assert [found.name for found in path.iterdir()] == ["two"]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("mine")

    def write() -> None:
        with whole(path) as partial:
            partial.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert [found.name for found in tmp_path.iterdir()] == ["result.json"]
    assert path.read_text() == "mine"


@pytest.mark.skipif(not LOCKED.parent.is_dir(), reason="there is no such place on this system")
def test_what_the_file_system_refuses_is_a_sentence() -> None:
    def write() -> None:
        with whole(LOCKED) as partial:
            partial.write_text("text")

    with pytest.raises(InputError, match=r"/proc/result\.json can't be written"):
        write()


def test_places_that_are_taken(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    with pytest.raises(InputError, match="is there already"):
        check_place(tmp_path / "there", overwrite=False)
    check_place(tmp_path / "there", overwrite=True)
    with pytest.raises(InputError, match="is a folder"):
        check_place(tmp_path, overwrite=True)
    check_place(tmp_path, overwrite=True, folder=True)
    with pytest.raises(InputError, match="no folder"):
        check_place(tmp_path / "none" / "result", overwrite=True)
    remove(tmp_path / "there")
    remove(tmp_path / "there")
    assert not list(tmp_path.iterdir())
