"""A corpus as plain files: one text a line."""

from pathlib import Path

from attnscope.errors import InputError
from attnscope.server.settings import Corpus

MOST_TEXTS, MOST_BYTES = 100_000, 1 << 28


def read_corpus(path: Path, longest: int) -> Corpus:
    """The texts of a .txt file, or of all such files in a folder by name; empty lines are left out."""
    files = sorted(found for found in path.glob("*.txt") if found.is_file()) if path.is_dir() else [path]
    if not files:
        raise InputError(f"the folder {path} has no .txt files; a corpus is files with one text a line")
    texts = [text for file in files for text in _lines(file, longest)]
    if not texts:
        raise InputError(f"{path} has no text in it; a corpus is files with one text a line")
    if len(texts) > MOST_TEXTS:
        raise InputError(f"{path} has {len(texts):,} texts, {MOST_TEXTS:,} are the most; take a part of it")
    return Corpus(path.name or str(path), tuple(texts))


def _lines(file: Path, longest: int) -> list[str]:
    try:
        if file.is_file() and file.stat().st_size > MOST_BYTES:
            raise InputError(f"{file} has more than {MOST_BYTES >> 20} MiB; take a part of it")
        lines = file.read_bytes().decode("utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"the corpus {file} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text (byte {error.start + 1})") from error
    for number, line in enumerate(lines, 1):
        if len(line) > longest:
            raise InputError(
                f"line {number} of {file} has {len(line):,} characters, {longest:,} are the most; a corpus has one "
                "text a line"
            )
    return [line.strip() for line in lines if line.strip()]
