"""Who is answered, and with which headers."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import Message

from attnscope.artifacts.session import Limits
from attnscope.server import security
from attnscope.server.settings import Settings, is_loopback
from tests.server.asking import ask, finish, sentence
from tests.server.conftest import ADDRESS

TOKEN = "a-token-for-the-tests"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "localhost.:80", "[::1]:8765", "127.0.0.1:9999", "127.1.2.3"],
)
def test_this_machine_under_its_own_names(client, host):
    assert client.get("/api/session", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example#localhost",
        "192.168.0.7:8765",
        "0.0.0.0",
        "[::]",
        "[::1",
        "",
        "local host",
        "2130706433",
        "localhost,evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1#.evil.example",
        "127.0.0.1/evil.example",
    ],
)
def test_foreign_names_are_refused_everywhere(client, host):
    for path in ("/", "/api/session", "/assets/x.js"):
        sentence(client.get(path, headers={"host": host}), 400)
    sentence(client.post("/api/views/held", headers={"host": host}, json={"text": "a"}), 400)


def test_a_name_is_not_repeated_at_length(client):
    assert len(sentence(client.get("/", headers={"host": "a" * 50_000}), 400)) < 1100


def test_two_hosts_are_none(client):
    hosts = [("host", "127.0.0.1"), ("host", "evil.example")]
    sentence(client.get("/api/session", headers=httpx2.Headers(hosts)), 400)


def test_names_that_were_given(start):
    client = start(names=("My.Machine.",))
    assert client.get("/api/session", headers={"host": "my.machine:80"}).status_code == 200


def test_a_server_for_others_answers_to_addresses_and_its_names_alone(start):
    client = start(host="0.0.0.0", names=("box",), token=TOKEN)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    for host in ("192.168.0.7:8765", "[fe80::1]", "box:8765", "127.0.0.1", "localhost"):
        assert client.get("/api/session", headers=bearer | {"host": host}).status_code == 200
    for host in ("evil.example", "box.evil.example"):
        sentence(client.get("/api/session", headers=bearer | {"host": host}), 400)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://localhost:8765"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:8765.evil.example"},
        {"origin": "http://[broken"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:8765"},
        [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
        [("origin", "http://127.0.0.1:8765"), ("origin", "http://evil.example")],
    ],
)
def test_other_pages_change_nothing(client, held, headers):
    headers = httpx2.Headers(headers)
    sentence(client.post("/api/views/held", json={"text": "a"}, headers=headers), 403)
    job = finish(client, ask(client))
    sentence(client.delete(f"/api/jobs/{job['id']}", headers=headers), 403)
    assert held.count == 1


def test_other_pages_read_nothing(client):
    for site in ("cross-site", "same-site"):
        sentence(client.get("/api/session", headers={"sec-fetch-site": site}), 403)
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 503  # a link to the page is fine
    assert (
        "access-control-allow-origin" not in client.get("/api/session", headers={"origin": "http://a.example"}).headers
    )
    preflight = {"origin": "http://a.example", "access-control-request-method": "POST"}
    response = client.options("/api/views/held", headers=preflight)
    assert response.status_code >= 400
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_its_own_page_is_answered(client):
    own = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}
    assert client.post("/api/views/held", json={"text": "a"}, headers=own).status_code == 202
    forwarded = {"host": "localhost:9000", "origin": "http://localhost:9000", "sec-fetch-site": "same-origin"}
    assert client.post("/api/views/held", json={"text": "b"}, headers=forwarded).status_code == 202
    assert client.get("/api/session", headers={"sec-fetch-site": "none"}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/nothing", "/assets/a.js", "/api/session", "/api/jobs/x", "/api/nothing"])
def test_every_answer_has_the_headers(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self'; ")
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_answers_that_refuse_have_the_headers_too(client, monkeypatch):
    refused = [
        client.get("/", headers={"host": "evil.example"}),
        client.post("/api/views/held", content=b"{", headers={"content-type": "application/json"}),
        client.post("/api/views/held", content=b"x" * (1 << 20)),
    ]
    monkeypatch.setattr(client.desk, "ask", None)
    refused.append(ask(client))
    assert [response.status_code for response in refused] == [400, 422, 413, 500]
    assert all("content-security-policy" in response.headers for response in refused)


def test_the_token_once_in_the_address_then_as_a_cookie(start):
    client = start(token=TOKEN)
    for path in ("/", "/api/session", "/assets/a.js", f"/api/session?token={TOKEN}", "/?token=", "/?token=wrong"):
        assert "token" in sentence(client.get(path), 401)
    assert "token" in sentence(client.post("/api/views/answer", json={"text": "a"}), 401)
    entered = client.get("/?view=heads&text=a+%26+b&token=" + TOKEN)
    assert entered.status_code == 200
    assert entered.headers["refresh"] == "0; url=/?view=heads&text=a+%26+b"
    assert TOKEN not in entered.text
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/api/session").status_code == 200
    assert client.get("/").status_code == 503


@pytest.mark.parametrize("other", ['{"a": 1}=x', 'json={"a": "b, c"}', "foo[bar]=1", "a b=c", "=", "x", "\xfc=\xe9"])
def test_cookies_of_other_programs_do_not_lock_out(start, other):
    client = start(token=TOKEN)
    own = client.get(f"/?token={TOKEN}").headers["set-cookie"].partition(";")[0]
    client.cookies.clear()
    cookie = f"{other}; {own}".encode("latin-1")
    assert client.get("/api/session", headers={"cookie": cookie}).status_code == 200


def test_the_token_as_a_header(start):
    client = start(token=TOKEN)
    for header in (f"Bearer {TOKEN}", f"bearer  {TOKEN} "):
        assert client.get("/api/session", headers={"authorization": header}).status_code == 200
    for header in ("Bearer", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer \xff", f"Bearer {TOKEN[:-1]}"):
        sentence(client.get("/api/session", headers={"authorization": header.encode("latin-1")}), 401)
    for cookie in ("attnscope-8765=wrong", "attnscope-8765", "=;;=", 'x="', f"other={TOKEN}", "attnscope-8765=\xff"):
        sentence(client.get("/api/session", headers={"cookie": cookie.encode("latin-1")}), 401)


def test_entering_leads_nowhere_else(start):
    client = start(token=TOKEN)
    sentence(client.get(f"{ADDRESS}//evil.example/?token={TOKEN}"), 401)
    entered = client.get("/", params={"token": TOKEN, "text": "a\r\nset-cookie: b=c", "x": "//evil.example"})
    assert entered.headers["refresh"].startswith("0; url=/?text=a%0D%0Aset-cookie")
    assert "b=c" not in entered.headers["set-cookie"]


def test_without_a_token_none_is_asked_for(client):
    assert client.get("/?token=anything").status_code == 503


def test_bodies_that_are_too_large(start):
    client = start(limits=Limits(characters=100, tokens=10, body_bytes=1000))
    sentence(client.post("/api/views/answer", content=b"x" * 1001), 413)
    sentence(client.post("/api/views/answer", content=iter([b"x" * 600, b"x" * 600])), 413)
    sentence(client.request("DELETE", "/api/jobs/x", content=b"x" * 1001), 413)
    for length in ("1001", "9" * 5000, "-1", "ten", "1e3"):
        headers = {"content-length": length, "content-type": "application/json"}
        sentence(client.post("/api/views/answer", content=iter([b"{}"]), headers=headers), 413)


def run_guard(settings: Settings, messages: list[Message | None], path: str = "/api/views/held") -> list[Message]:
    """A request by hand: what is sent back for messages that come (None: nothing comes any more)."""
    sent: list[Message] = []

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        body = await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body["body"]})
        if messages:
            await receive()

    async def receive() -> Message:
        message = messages.pop(0) if messages else None
        if message is None:
            await asyncio.sleep(3600)
        assert message is not None
        return message

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    asyncio.run(security.Guard(app, settings)(scope, receive, send))
    return sent


def chunk(body: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_in_pieces_arrives_whole_and_what_follows_is_passed_on():
    sent = run_guard(Settings(), [chunk(b"ab", more=True), chunk(b"cd", more=False), {"type": "http.disconnect"}])
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"abcd")


def test_a_body_that_does_not_come(monkeypatch):
    monkeypatch.setattr(security, "PATIENCE", 0.02)
    assert run_guard(Settings(), [chunk(b"a", more=True), None])[0]["status"] == 408
    assert run_guard(Settings(), [chunk(b"a", more=True), {"type": "http.disconnect"}])[0]["status"] == 400


def test_what_is_no_request_is_not_passed_on():
    async def app(*_: Any) -> None:
        raise AssertionError

    asyncio.run(security.Guard(app, Settings())({"type": "websocket"}, None, None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/assets/../../secret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/..\\secret.txt",
        "/..%5csecret.txt",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/assets/%00",
        "/link.txt",
        "/folder/secret.txt",
        "/" + "a" * 5000,
        "/" + "a/" * 2000,
        "/assets",
        "/assets/",
    ],
)
def test_nothing_outside_the_folder_is_read(start, tmp_path, path):
    (tmp_path / "secret.txt").write_text("a secret")
    folder = built(tmp_path / "static")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "folder").symlink_to(tmp_path)
    client = start(folder=folder)
    response = client.get(httpx2.URL(f"http://127.0.0.1:8765{path}")) if "\\" not in path else client.get(path)
    assert response.status_code == 404
    assert b"a secret" not in response.content
    sentence(response, 404)


def built(folder: Path) -> Path:
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>the page")
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "assets" / "index-abc.js").write_text("1")
    return folder


def test_the_page_and_its_files(start, tmp_path):
    client = start(folder=built(tmp_path / "static"))
    page = client.get("/?text=a&view=flow")
    assert page.text == "<!doctype html>the page"
    assert page.headers["cache-control"] == "no-cache"
    script = client.get("/assets/index-abc.js")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "javascript" in script.headers["content-type"]
    assert client.get("/icon.svg").headers["content-type"] == "image/svg+xml"
    assert client.head("/").content == b""
    missing = client.get("/assets/index-old.js")
    sentence(missing, 404)
    assert "immutable" not in missing.headers["cache-control"]
    sentence(client.get("/index"), 404)  # no page but the one
    sentence(client.post("/icon.svg"), 405)


def test_a_page_that_is_not_built_says_how(start, tmp_path):
    client = start(folder=tmp_path / "static")
    response = client.get("/")
    assert response.status_code == 503
    assert "make web" in response.text
    sentence(client.get("/assets/index.js"), 404)
    built(tmp_path / "static")
    assert client.get("/").status_code == 200


def test_which_addresses_are_this_machines():
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LocalHost.")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "", "localhost.example.org")))
