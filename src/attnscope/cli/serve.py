"""`attnscope serve`: the web application."""

import math
import os
import re
import secrets
import socket
import sys
import threading
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from attnscope.cli import options
from attnscope.cli.guard import STOPPED
from attnscope.errors import InputError

if TYPE_CHECKING:
    from attnscope.server.models import Load
    from attnscope.server.settings import Settings

PORT = 8765
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,200}")
_OPEN = (
    "Others can reach it, with the token; what they send and see is not encrypted. Over a network that you don't "
    "trust, leave --host out and use ssh -L. Ctrl-C ends it."
)


def serve(
    base: Annotated[
        str | None,
        typer.Argument(
            metavar="BASE",
            show_default=False,
            help="A model's folder, a .gguf file, an adapter's folder or a hub name. Default: the demo's two models.",
        ),
    ] = None,
    tuned: Annotated[
        str | None, typer.Argument(metavar="TUNED", show_default=False, help="A second one, to compare it with.")
    ] = None,
    adapter: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="A PEFT adapter; BASE with it is the second model if there is no TUNED."),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Texts to search: a .txt file with one text a line, or a folder of such files."
        ),
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0 takes any that is free.")] = PORT,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; anything but this machine asks for a token.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", show_default=False, help="A further name under which it may be asked."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="SECRET",
            envvar="ATTNSCOPE_TOKEN",
            show_default=False,
            help="Ask for this token. Default: one is made up where the address is not this machine's.",
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where results are kept. Default: the platform's place.")
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep results in memory only.")] = False,
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GIB", min=0, help="What the models may take together; the longest unused is given up first."
        ),
    ] = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    allow_pickle: options.AllowPickle = False,
    quiet: options.Quiet = False,
) -> None:
    """Open the web application: one model, or two beside each other.

    It answers on this machine only, unless --host says otherwise. Ctrl-C ends it.
    """
    from attnscope.cli.screen import Screen

    screen = Screen(quiet=quiet)
    if base is None and adapter is not None:
        raise InputError("--adapter needs a BASE that it was made for")
    secret = _secret(token, host)
    with screen.waiting("starting"):
        from attnscope.server import listen

    with listen.bound(host, port) as listening:
        with screen.waiting(f"loading {' and '.join(filter(None, (base, tuned, adapter))) or 'the demo'}"):
            from attnscope.server.app import create_app
            from attnscope.server.desk import Desk
            from attnscope.server.models import Models, room
            from attnscope.server.warm import warm

            loads = _loads(base, tuned, adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
            settings = _settings(
                host, name or [], secret, corpus, cache, keep=not no_cache, demo=base is None, workers=len(loads)
            )
            listen.share_cores(settings.workers)
            desk = Desk(Models(loads, most_bytes=room() if memory is None else _bytes(memory)), settings)
            desk.session  # noqa: B018 - a model that can't be used is refused before anything is served
            app = create_app(desk)
        warm(desk)
        opened = listen.address(listening, settings)

        def ready() -> None:
            print(f"attnscope answers at {opened}", flush=True)
            screen.note("Ctrl-C ends it." if settings.is_local else _OPEN)
            if open_page:
                threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()

        try:
            listen.server(app, desk, ready).run(sockets=[listening])
        finally:
            if desk.jobs.working:
                _leave()


def _secret(token: str | None, host: str) -> str | None:
    """The token to ask for, if any: one is made up where others than this machine can ask."""
    from attnscope.server.settings import is_loopback

    if token is None:
        return None if is_loopback(host) else secrets.token_urlsafe(24)
    if not _TOKEN.fullmatch(token):
        raise InputError("a token is 16 letters and digits or more (also . _ ~ -), so that nobody guesses it")
    return token


def _bytes(memory: float) -> int | None:
    """None: as much as they take."""
    return int(memory * 2**30) if math.isfinite(memory * 2**30) else None


def _loads(base: str | None, tuned: str | None, adapter: str | None, **options: Any) -> "dict[str, Load]":
    """What brings each model into memory."""
    from attnscope.analyses.demo import demo_model, tuned_demo_model
    from attnscope.models.model import Model

    if base is None:
        options.pop("allow_pickle")
        return {"a": partial(demo_model, **options), "b": partial(tuned_demo_model, **options)}
    loads: dict[str, Load] = {"a": partial(Model.from_pretrained, base, **options)}
    if tuned is not None or adapter is not None:
        loads["b"] = partial(Model.from_pretrained, base if tuned is None else tuned, adapter=adapter, **options)
    return loads


def _settings(
    host: str,
    names: list[str],
    token: str | None,
    corpus: Path | None,
    cache: Path | None,
    *,
    keep: bool,
    demo: bool,
    workers: int,
) -> "Settings":
    from attnscope.analyses.demo import SENTENCE
    from attnscope.artifacts.session import Example
    from attnscope.server.cache import default_folder
    from attnscope.server.corpus import read_corpus
    from attnscope.server.settings import CHARACTERS, Settings, is_loopback

    return Settings(
        host=host,
        names=tuple(names) if is_loopback(host) else (*names, socket.gethostname()),
        token=token,
        example=Example(text=SENTENCE, pair=None) if demo else None,
        corpus=None if corpus is None else read_corpus(_home(corpus), CHARACTERS),
        cache=(_home(cache) if cache else default_folder()) if keep else None,
        workers=workers,
    )


def _home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise InputError(f"{path} begins with the home folder of a user who is not here; write it out") from error


def _leave() -> NoReturn:
    """End without waiting for a pass that can't be stopped."""
    print("stopped", file=sys.stderr, flush=True)
    os._exit(STOPPED)
