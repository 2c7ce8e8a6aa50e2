"""Answering: a socket of our own, so that a taken port is a sentence, and an end that leaves nothing hanging."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlencode

import torch
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from attnscope.errors import InputError
from attnscope.server.desk import Desk
from attnscope.server.settings import PATIENCE, Settings

_LONGEST_HEAD = 1 << 19
"""Bytes of an address with its headers: a page's address holds its text."""
_BACKLOG = 256
_EVERYWHERE = frozenset({"0.0.0.0", "::"})


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens, or why there can be none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)[0]
        return _listening(*found[:3], found[4])
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(f"there is no address {host!r} to listen at; say 127.0.0.1 for this machine alone") from error
    except OSError as error:
        raise InputError(_why_not(host, port, error)) from error


def _listening(family: int, kind: int, protocol: int, where: Any) -> socket.socket:
    """The protocol is named because asyncio sends small answers at once (TCP_NODELAY) only where it is."""
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two programs share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} is taken, perhaps by another attnscope; name another with --port, or 0 for any that is free"
        )
    if error.errno == errno.EACCES:
        return f"port {port} is not for everyone; name one from 1024 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine; say 127.0.0.1 for this machine alone, or 0.0.0.0 for all"
    return f"port {port} of {host} can't be listened at: {error.strerror}"


def address(listening: socket.socket, settings: Settings) -> str:
    """What to open in a browser, with the token where one is needed."""
    host = socket.gethostname() if settings.host in _EVERYWHERE else settings.host
    port = listening.getsockname()[1]
    query = "" if settings.token is None else "?" + urlencode({"token": settings.token})
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{query}"


def share_cores(workers: int) -> None:
    """Divide the cores among the workers: where passes get in each other's way, each takes many times as long."""
    if "OMP_NUM_THREADS" not in os.environ:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        torch.set_num_threads(max(1, cores // workers))


def server(app: ASGIApp, desk: Desk, ready: Callable[[], None]) -> "Server":
    """What answers; `ready` is called once it does."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",  # what is no HTTP is answered, and is not worth a line for each
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        timeout_graceful_shutdown=3,
    )
    return Server(config, desk, ready)


class Connection(H11Protocol):
    """Closed where no request arrives for long: each takes one of the few files that a process may have open."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()

    def handle_events(self) -> None:
        super().handle_events()
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is None or cycle.response_complete:
            self._watch()
        else:
            self._unwatch()

    def _watch(self) -> None:
        """From the end of the last answer on: more of the same request gives no more time."""
        if self._late is None:
            self._late = self.loop.call_later(PATIENCE, self.transport.close)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Server(uvicorn.Server):
    """Says when it answers, and lets go of the work before it waits for those who wait for it."""

    def __init__(self, config: uvicorn.Config, desk: Desk, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.desk, self._ready = desk, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        await asyncio.to_thread(self._ready)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.desk.jobs.stop()
        await super().shutdown(sockets)
