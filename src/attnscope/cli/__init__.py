"""The command line. Importing it, and asking it for help, loads neither torch nor transformers."""

import contextlib
import io
import os
import sys
from pathlib import Path


def main() -> None:
    """What `attnscope` runs."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us (>&-)
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):
                stream.reconfigure(errors="replace")  # tokens hold letters that not every terminal can write
    # What matters is said in our own words; the libraries read these when they are imported.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        from attnscope.cli.app import app

        app()
    except KeyboardInterrupt:  # before a command had begun
        print("stopped", file=sys.stderr)
        sys.exit(130)
