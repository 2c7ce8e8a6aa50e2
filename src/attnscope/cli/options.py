"""What several commands take, and how it is read."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from attnscope.errors import InputError, one_of

ModelName = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model's folder, a .gguf file, a PEFT adapter's folder or a hub name.")
]
TextArgument = Annotated[
    str | None, typer.Argument(metavar="TEXT", show_default=False, help="The text; - reads standard input.")
]
TextFile = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the text from a file (UTF-8).")
]
Pair = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="The second text of a pair, or the target of an encoder-decoder."),
]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="cpu, cuda, cuda:0, ...; default: cuda where there is one, else cpu.")
]
Dtype = Annotated[
    str | None, typer.Option(metavar="NAME", help="float32, float64, bfloat16, float16; default: float32.")
]
Adapter = Annotated[str | None, typer.Option(metavar="FOLDER", help="A PEFT adapter to merge into the model.")]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Read pickled weights, which can run code; only if you trust them.")
]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars and no notes.")]
Unit = Annotated[str, typer.Option(metavar="NAME", help="token or word.")]
Layers = Annotated[str | None, typer.Option(metavar="LIST", help="Layers, from 1, such as 1-3,6.")]
Heads = Annotated[str | None, typer.Option(metavar="LIST", help="Heads, from 1, such as 1-3,6.")]
Stack = Annotated[str | None, typer.Option(metavar="NAME", help="self, encoder, decoder or cross.")]
FigureFile = Annotated[
    Path | None, typer.Option("--figure", metavar="FILE", help="Draw it into FILE.png, .svg or .pdf.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")]

_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")
_LONGEST_FILE = 1 << 26


def read_text(text: str | None, file: Path | None) -> str | None:
    """The text that was given: as an argument, on standard input, in a file, or not at all."""
    if text is not None and file is not None:
        raise InputError("give the text or --file, not both")
    if file is not None:
        text = _file(file)
    elif text == "-":
        text = _decoded(sys.stdin.buffer.read(), "standard input")
    return text if text is None or text.isascii() else _argument(text)


def needed_text(text: str | None, file: Path | None) -> str:
    """The text that was given, which there must be."""
    found = read_text(text, file)
    if found is None:
        raise InputError("no text was given; write it after the model, name a --file, or say - for standard input")
    return found


def unit_of(given: str) -> Literal["token", "word"]:
    """What a text is counted in."""
    one_of("unit", given, ("token", "word"))
    return "word" if given == "word" else "token"


def numbers(given: str | None, what: str) -> tuple[int, ...] | None:
    """Numbers and ranges such as "1-3,6", in order and each once; None if nothing was given."""
    if given is None:
        return None
    found: list[int] = []
    for part in given.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise InputError(f"{what} must be numbers and ranges such as 1-3,6, not {given!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError(f"the range {part.strip()} of {what} runs backwards; write {last}-{first}")
        found.extend(range(first, last + 1))
    return tuple(dict.fromkeys(found))


def _file(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > _LONGEST_FILE:
            raise InputError(f"{path} has more than {_LONGEST_FILE >> 20} MiB, which is no text for one analysis")
        return _decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"the text file {path} can't be read: {error.strerror}") from error


def _argument(text: str) -> str:
    """The text; where the locale is not that of its bytes, these are what Python made surrogates of."""
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        return text
    try:
        return _decoded(os.fsencode(text), "the text")
    except UnicodeEncodeError as error:
        raise InputError("the text is not UTF-8 text") from error


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8 text (byte {error.start + 1})") from error
