"""What a server is started with."""

import hashlib
import ipaddress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attnscope.artifacts.session import Example, Limits

CHARACTERS, TOKENS = 20_000, 512
BODY_BYTES = 1 << 19
"""Enough for two texts of the greatest length with each letter written as an escape."""
LIMITS = Limits(characters=CHARACTERS, tokens=TOKENS, body_bytes=BODY_BYTES)
PATIENCE = 20.0
"""Seconds that a request's head may take to arrive, and its body."""
KEPT_BYTES = 1 << 30
"""Of results, on disk."""


@dataclass(frozen=True)
class Corpus:
    """Texts that can be searched."""

    name: str
    texts: tuple[str, ...]

    @cached_property
    def checksum(self) -> str:
        return hashlib.sha256("\0".join(self.texts).encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Settings:
    """Everything but the models."""

    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    """Further names under which the server may be asked."""
    token: str | None = None
    limits: Limits = LIMITS
    example: Example | None = None
    """A text to open with, which is analysed already when the page opens."""
    corpus: Corpus | None = None
    cache: Path | None = None
    """Where results are kept; None: in memory only."""
    cache_bytes: int = KEPT_BYTES
    queue: int = 64
    """How many different questions may wait."""
    workers: int = 2

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own, which nobody else can reach."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
