"""What is kept, for how long, and what becomes of damage."""

import os
import sys
import time
from pathlib import Path

import pytest

from attnscope.errors import InputError
from attnscope.server import cache as cache_module
from attnscope.server.cache import Cache, Folder, Memory, default_folder

ROOM = 1 << 20


def key(number: int) -> str:
    return f"{number:064x}"[::-1]


def files(path: Path) -> list[Path]:
    return sorted(found for found in path.rglob("*") if found.is_file())


def test_memory_holds_the_latest_up_to_its_size():
    memory = Memory(100)
    for number in range(4):
        memory.put(key(number), bytes(30))
    assert [memory.get(key(number)) is not None for number in range(4)] == [False, True, True, True]
    memory.get(key(1))
    memory.put(key(4), bytes(30))
    assert [memory.get(key(number)) is not None for number in range(1, 5)] == [True, False, True, True]
    memory.put(key(4), bytes(10))
    assert memory._bytes == 70
    memory.put(key(5), bytes(1000))  # larger than all: somebody is about to fetch it
    assert [number for number in range(6) if memory.get(key(number)) is not None] == [5]


def test_a_folder_gives_back_what_was_put_there_also_later(tmp_path):
    Folder(tmp_path / "a" / "b", ROOM).put(key(1), b"something")
    folder = Folder(tmp_path / "a" / "b", ROOM)
    assert folder.get(key(1)) == b"something"
    assert folder.get(key(2)) is None
    folder.put(key(1), b"something else")
    assert folder.get(key(1)) == b"something else"
    folder.put(key(3), b"")
    assert folder.get(key(3)) == b""
    assert [path.suffix for path in files(tmp_path)] == [".parcel", ".parcel"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_what_is_kept_is_for_its_owner_alone(tmp_path):
    folder = Folder(tmp_path / "kept", ROOM)
    folder.put(key(1), b"something")
    (file,) = files(tmp_path)
    assert [path.stat().st_mode & 0o077 for path in (file, file.parent, tmp_path / "kept")] == [0, 0, 0]


def damaged_end(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("damage", [damaged_end, lambda data: data[:-1], lambda data: data[:10], lambda _: b""])
def test_damage_is_thrown_away(tmp_path, caplog, damage):
    folder = Folder(tmp_path, ROOM)
    folder.put(key(1), b"something")
    (file,) = files(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    assert folder.get(key(1)) is None
    assert "damaged" in caplog.text
    assert files(tmp_path) == []


def test_the_longest_unused_goes_first(tmp_path):
    folder = Folder(tmp_path, 10_000)
    for number in range(9):
        folder.put(key(number), bytes(1000))
        os.utime(folder._place(key(number)), (number, number))
    assert folder.get(key(0)) is not None  # used just now
    folder.put(key(9), bytes(1000))
    left = [number for number in range(10) if folder.get(key(number)) is not None]
    assert left == [0, 3, 4, 5, 6, 7, 8, 9]
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 10_000


def test_a_folder_that_is_too_full_is_cleared_at_the_start(tmp_path):
    folder = Folder(tmp_path, ROOM)
    for number in range(10):
        folder.put(key(number), bytes(1000))
    Folder(tmp_path, 5_000)
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 5_000


def test_what_never_fits_is_not_kept(tmp_path):
    folder = Folder(tmp_path, 1_000)
    folder.put(key(1), bytes(100))
    folder.put(key(2), bytes(1_000))
    assert (folder.get(key(1)), folder.get(key(2))) == (bytes(100), None)


def test_two_servers_share_a_folder(tmp_path):
    one, other = Folder(tmp_path, 5_000), Folder(tmp_path, 5_000)
    for number in range(20):
        (one, other)[number % 2].put(key(number), bytes(1000))
    assert other.get(key(19)) is not None
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 10_000
    for path in files(tmp_path):
        path.unlink()
    assert one.get(key(19)) is None
    one.put(key(1), b"again")
    assert one.get(key(1)) == b"again"


def test_what_a_killed_server_left_is_removed(tmp_path):
    (tmp_path / "ab").mkdir()
    old, young = tmp_path / "ab" / "x.part", tmp_path / "ab" / "y.part"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    Folder(tmp_path, ROOM)
    assert files(tmp_path) == [young]


def test_a_full_disk_costs_nothing_but_the_time(tmp_path, monkeypatch, caplog):
    folder = Folder(tmp_path, ROOM)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache = Cache(folder)
    cache.put(key(1), b"something")
    assert cache.get(key(1)) == b"something"
    assert "No space left on device" in caplog.text
    assert files(tmp_path) == []


def test_a_place_that_is_none(tmp_path):
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="--no-cache"):
            Folder(place, ROOM)
    assert (tmp_path / "file").read_text() == "mine"


def test_both_together(tmp_path):
    cache = Cache(Folder(tmp_path, ROOM), Memory(10))
    cache.put(key(1), b"something")
    cache.put(key(2), b"something else")
    assert cache._memory.get(key(1)) is None
    assert cache.get(key(1)) == b"something"
    assert cache._memory.get(key(1)) == b"something"
    alone = Cache(None, Memory(10))
    alone.put(key(1), b"something")
    assert alone.get(key(1)) == b"something"
    assert alone.get(key(2)) is None


def test_where_it_is_by_default(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    monkeypatch.setattr(cache_module.sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_folder() == Path("/home/me/.cache/attnscope")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert default_folder() == Path("/elsewhere/attnscope")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/a/whole/path")
    assert default_folder() == Path("/home/me/.cache/attnscope")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_folder() == Path("/home/me/Library/Caches/attnscope")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/data")
    assert default_folder() == Path("/data/attnscope/cache")


def test_without_a_home(monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(InputError, match="--no-cache"):
        default_folder()


def test_a_folder_that_is_deleted_meanwhile_is_made_anew(tmp_path):
    path = tmp_path / "cache"
    folder = Folder(path, ROOM)
    path.rmdir()
    folder.put(key(1), b"something")
    assert folder.get(key(1)) == b"something"
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0
