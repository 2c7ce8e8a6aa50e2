"""Who may ask: this machine, under its own name, from its own page; others with the token.

A page that the user has open elsewhere can send requests to this machine, and a name can be made to point at it (DNS
rebinding). So the Host must be a name of this server, what changes something must come from its own page, and nothing
is answered to other pages' scripts.
"""

import asyncio
import hmac
import ipaddress
import logging
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attnscope.server.jobs import DEFECT, sentence
from attnscope.server.settings import PATIENCE, Settings, is_loopback

_log = logging.getLogger("attnscope.server")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGE = frozenset({"same-origin", "none"})

_POLICY = {
    "default-src": "'self'",
    "img-src": "'self' data: blob:",  # pictures are exported by drawing them
    "font-src": "'self' data:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{what} {where}" for what, where in _POLICY.items()),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_ENTERED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>attnscope</title><p>Opening …</p></html>
"""


class Refused(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(frozen=True)
class Guard:
    """Wraps the application: looks at each request before it, and at each answer behind it."""

    app: ASGIApp
    settings: Settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            entered = self._check(scope)
            if entered is not None:
                await entered(scope, receive, answer)
                return
            body = await self._body(scope, receive)
            await self.app(scope, body, answer)
        except Refused as refused:
            await JSONResponse({"message": sentence(refused.message)}, refused.status)(scope, receive, answer)
        except Exception:  # noqa: BLE001 - a defect is for the log, and for nobody else
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if not answer.begun:
                await JSONResponse({"message": DEFECT}, 500)(scope, receive, answer)

    def _check(self, scope: Scope) -> Response | None:
        """Refuse what must not be answered; the answer itself for who brings the token for the first time."""
        headers = Headers(scope=scope)
        check_host(headers, self.settings)
        check_origin(scope["method"], scope["path"], headers)
        if self.settings.token is None:
            return None
        return _entrance(scope, headers, self.settings.token)

    async def _body(self, scope: Scope, receive: Receive) -> Receive:
        """The body at once, because it is small or refused."""
        if scope["method"] in _SAFE:
            return receive
        try:
            async with asyncio.timeout(PATIENCE):
                body = await _whole(Headers(scope=scope), receive, self.settings.limits.body_bytes)
        except TimeoutError:
            raise Refused(408, f"the request did not arrive within {PATIENCE:.0f} seconds; send it again") from None
        return _Replay(body, receive)


def check_host(headers: Headers, settings: Settings) -> None:
    """The Host must be a name of this machine, so that no foreign name is made to point at it."""
    given = headers.getlist("host")
    name = _name(given[0]) if len(given) == 1 else ""
    if is_loopback(name) or (name and name in _names(settings)):
        return
    if name and not settings.is_local and _is_address(name):
        return  # a name is needed to rebind; addresses are what people type for a machine nearby
    raise Refused(
        400,
        f"this server is not called {name or 'that'}; open it under the address it printed, or start it with --name",
    )


def check_origin(method: str, path: str, headers: Headers) -> None:
    """The API answers its own page only, and what changes something must say that it comes from there."""
    if not path.startswith("/api"):
        return
    host = headers["host"].lower()
    origins = {origin.lower() for origin in headers.getlist("origin")}
    foreign = not origins <= {f"http://{host}", f"https://{host}"}
    if not _OWN_PAGE.issuperset(headers.getlist("sec-fetch-site")) or (foreign and method not in _SAFE):
        raise Refused(403, "this server answers its own page only; open the address it printed")


def _names(settings: Settings) -> set[str]:
    return {name.rstrip(".").lower() for name in (*settings.names, settings.host)} - {"0.0.0.0", "::"}


def _name(host: str) -> str:
    """The Host without its port."""
    if any(letter in host for letter in "@/?#\\"):
        return ""  # more than a host: what counts for an address counts for nothing here
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _entrance(scope: Scope, headers: Headers, token: str) -> Response | None:
    """Let in who has the token: as a cookie or a header, or in the page's address, which then becomes the cookie."""
    name = f"attnscope-{(scope.get('server') or ('', 0))[1]}"
    if _brought(headers, name, token):
        return None
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if scope["path"] == "/" and any(key == "token" and _same(value, token) for key, value in query):
        rest = urlencode([(key, value) for key, value in query if key != "token"])
        # Not a redirect: behind a link from elsewhere, a browser would not send the strict cookie along.
        response = HTMLResponse(_ENTERED, headers={"refresh": f"0; url=/{'?' if rest else ''}{rest}"})
        response.set_cookie(name, token, httponly=True, samesite="strict", path="/")
        return response
    raise Refused(401, "this server needs its token; open the address it printed, which has ?token= at its end")


def _brought(headers: Headers, name: str, token: str) -> bool:
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and _same(given.strip(), token):
        return True
    # Other programs on this machine share our cookies, and theirs may be anything.
    found = cookie_parser(headers.get("cookie", "")).get(name)
    return found is not None and _same(found, token)


def _same(given: str, token: str) -> bool:
    """Whether they are equal, in a time that tells nothing."""
    return hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode())


async def _whole(headers: Headers, receive: Receive, most: int) -> bytes:
    too_large = Refused(413, f"the request has more than {most:,} bytes; shorten the text")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:12]) > most:
        raise too_large
    found = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the request broke off; send it again")
        found += message.get("body", b"")
        if len(found) > most:
            raise too_large
        if not message.get("more_body", False):
            return bytes(found)


class _Replay:
    """Hands out a body that has arrived, and then what comes after it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _Answer:
    """Sends an answer on, with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await self._send(message)
