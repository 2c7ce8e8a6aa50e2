"""Results by what they are the answer to: the latest in memory, all that fit in a folder.

A result is kept under a key that says everything it depends on, so an entry is never out of date; it goes when there
is no room, the least recently used first. Each file begins with the checksum of the rest: what was cut off or changed
is thrown away and computed again. Several servers may share a folder.
"""

import contextlib
import hashlib
import logging
import os
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from attnscope.errors import InputError

_log = logging.getLogger("attnscope.server")
MEMORY_BYTES = 1 << 27
_SUFFIX, _UNFINISHED = ".parcel", ".part"
_SIZE = hashlib.sha256().digest_size
_HOUR = 3600.0


class Memory:
    """The results that were used last, up to a size; the newest whatever its size."""

    def __init__(self, most: int = MEMORY_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            self._bytes += len(data) - len(self._kept.pop(key, b""))
            self._kept[key] = data
            while self._bytes > self._most and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= len(dropped)


class Folder:
    """Results in files, up to a size."""

    def __init__(self, path: Path, most: int) -> None:
        """Raises `InputError` where nothing can be written."""
        self._path, self._most = path, most
        self._lock = threading.Lock()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as error:
            raise InputError(
                f"results can't be kept in {path} ({error.strerror}); name another folder with --cache, or none with "
                "--no-cache"
            ) from error
        self._tidy()
        self._bytes = self._evict(sum(size for _, _, size in self._entries()))

    def get(self, key: str) -> bytes | None:
        path = self._place(key)
        try:
            found = path.read_bytes()
        except OSError:
            return None
        data = found[_SIZE:]
        if hashlib.sha256(data).digest() != found[:_SIZE]:
            _log.warning("a kept result was damaged, and is thrown away: %s", path.name)
            self._drop(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used just now
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep a result, if there is room on the disk; it is there as a whole or not at all."""
        path = self._place(key)
        if _SIZE + len(data) > self._most:
            return
        with self._lock:
            try:
                before = _size(path)
                for folder in (self._path, path.parent):  # deleted while the server runs, it is made anew
                    folder.mkdir(mode=0o700, exist_ok=True)
                with tempfile.NamedTemporaryFile(dir=path.parent, suffix=_UNFINISHED, delete=False) as file:
                    self._write(file.name, path, data)
            except OSError as error:
                _log.warning("a result could not be kept on disk: %s", error.strerror)
                return
            self._bytes += _SIZE + len(data) - before
            if self._bytes > self._most:
                self._bytes = self._evict(sum(size for _, _, size in self._entries()))

    @staticmethod
    def _write(unfinished: str, path: Path, data: bytes) -> None:
        try:
            with Path(unfinished).open("wb") as file:
                file.write(hashlib.sha256(data).digest())
                file.write(data)
            Path(unfinished).replace(path)
        except OSError:
            Path(unfinished).unlink(missing_ok=True)
            raise

    def _place(self, key: str) -> Path:
        return self._path / key[:2] / f"{key}{_SUFFIX}"

    def _entries(self) -> Iterator[tuple[float, Path, int]]:
        """When it was last used, where it is, and its size, of each result."""
        for path in self._path.glob(f"??/*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                found = path.stat()
                yield found.st_mtime, path, found.st_size

    def _evict(self, size: int) -> int:
        """Make room, the least recently used first; a tenth more than needed, so that it is not done each time."""
        if size <= self._most:
            return size
        for _, path, freed in sorted(self._entries()):
            if size <= 0.9 * self._most:
                break
            self._drop(path)
            size -= freed
        return size

    def _tidy(self) -> None:
        """Remove what a server left unfinished that was killed; a younger one may be another server's, at work."""
        for path in self._path.glob(f"??/*{_UNFINISHED}"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _HOUR:
                    path.unlink()

    @staticmethod
    def _drop(path: Path) -> None:
        with contextlib.suppress(OSError):
            path.unlink()


class Cache:
    """Both together."""

    def __init__(self, folder: Folder | None = None, memory: Memory | None = None) -> None:
        self._folder, self._memory = folder, memory or Memory()

    def get(self, key: str) -> bytes | None:
        found = self._memory.get(key)
        if found is None and self._folder is not None:
            found = self._folder.get(key)
            if found is not None:
                self._memory.put(key, found)
        return found

    def put(self, key: str, data: bytes) -> None:
        self._memory.put(key, data)
        if self._folder is not None:
            self._folder.put(key, data)


def default_folder() -> Path:
    """Where programs keep such things on this platform."""
    try:
        home = Path.home()
    except RuntimeError as error:
        raise InputError("there is no home folder to keep results in; name one with --cache, or --no-cache") from error
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "attnscope" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "attnscope"
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else home / ".cache") / "attnscope"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
