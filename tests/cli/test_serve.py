"""`attnscope serve` as a process of its own: how it begins, and how it ends."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest
import torch

from attnscope.analyses import demo
from tests import zoo

SERVE = [sys.executable, "-m", "attnscope", "serve"]


@contextlib.contextmanager
def serving(
    *options: object, command: list[str] | None = None, **environment: str
) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A server, and the address it says."""
    command = command or [*SERVE, "--port", "0", *map(str, options)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, (line, process.communicate(timeout=60))
            yield process, found[0]
        finally:
            process.kill()


def stopped(process: subprocess.Popen[str], sign: int = signal.SIGINT) -> str:
    """Interrupt it, and return what it said on standard error."""
    process.send_signal(sign)
    _, errors = process.communicate(timeout=60)
    return errors


def answered(client: httpx2.Client, view: str, **request: Any) -> dict[str, Any]:
    response = client.post(f"/api/views/{view}", json=request)
    assert response.status_code in {200, 202}, response.text
    job = response.json()
    deadline = time.monotonic() + 60
    while job["state"] in {"queued", "running"}:
        assert time.monotonic() < deadline
        time.sleep(0.01)
        job = client.get(f"/api/jobs/{job['id']}").json()
    return job


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_two_models_are_served_and_an_interrupt_ends_it_also_while_someone_listens(bert, tmp_path):
    (tmp_path / "texts.txt").write_text("the cat sat\na dog")
    kept = tmp_path / "kept"
    options = (bert, bert, "--corpus", tmp_path / "texts.txt", "--cache", kept)
    with serving(*options) as (process, url), httpx2.Client(base_url=url, timeout=60) as client:
        session = client.get("/api/session").json()
        assert session["models"]["b"] is not None
        assert session["corpus"] == {"name": "texts.txt", "texts": 2}
        assert session["demo"] is None
        assert answered(client, "maps", text="the cat sat on the mat")["state"] == "done"
        assert list(kept.rglob("*.parcel"))
        job = client.post("/api/views/maps", json={"text": "the dog " * 30, "measure": "value_zeroing"}).json()
        with client.stream("GET", f"/api/jobs/{job['id']}/events") as events:
            next(events.iter_lines())
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "stopped"
    assert "Traceback" not in errors
    assert "Error" not in errors


# A question that hears nothing while it is worked on.
_DEAF = """
import sys, time
from attnscope.analyses.views import registry
from attnscope.server import jobs
jobs._PATIENCE = 0.3
def deaf(models, request, progress):
    time.sleep(600)
registry.VIEWS["deaf"] = registry.View("deaf", "A question for tests.", registry.SlotRequest, deaf)
sys.argv = ["attnscope", "serve", *sys.argv[1:]]
from attnscope.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_ends_it_also_where_a_pass_can_not_be_stopped(bert):
    command = [sys.executable, "-c", _DEAF, str(bert), "--port", "0", "--no-cache"]
    with serving(command=command) as (process, url), httpx2.Client(base_url=url, timeout=60) as client:
        job = client.post("/api/views/deaf", json={"text": "the cat"}).json()
        while client.get(f"/api/jobs/{job['id']}").json()["state"] == "queued":
            time.sleep(0.01)
        errors = stopped(process)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "stopped"
    assert "Traceback" not in errors


def test_the_python_of_the_page_about_it_works(bert):
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0].replace('"layer": 3', '"layer": 2')
    with serving(bert, "--no-cache") as (_, url):
        names: dict[str, Any] = {}
        exec(code.replace("http://127.0.0.1:8765", url.rstrip("/")), names)
    assert set(names["maps"]) == {"weight", "norm"}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_server_for_others_makes_up_a_token(bert):
    with serving(bert, "--host", "0.0.0.0", "--no-cache") as (process, url):
        assert "?token=" in url
        port = httpx2.URL(url).port
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
            assert client.get("/api/session").status_code == 401
            assert client.get("/?" + url.partition("/?")[2]).status_code == 200
            assert client.get("/api/session").status_code == 200
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert "not encrypted" in errors
    assert "Traceback" not in errors
    assert process.returncode == -signal.SIGTERM


def test_a_token_from_the_environment(bert):
    token = "a-token-of-my-own"
    with serving(bert, "--no-cache", "--memory", "inf", ATTNSCOPE_TOKEN=token) as (process, url):
        assert url.endswith(f"?token={token}")
        with httpx2.Client(base_url=url.partition("?")[0]) as client:
            assert client.get("/api/session").status_code == 401
            assert client.get("/api/session", headers={"authorization": f"Bearer {token}"}).status_code == 200
        assert "stopped" in stopped(process)


@pytest.mark.skipif(find_spec(demo.PACKAGE) is None, reason="the demo's wheel is not installed")
def test_the_demo_is_worked_out_before_anyone_asks(tmp_path):
    with serving("--cache", tmp_path) as (process, url), httpx2.Client(base_url=url, timeout=60) as client:
        session = client.get("/api/session").json()
        assert session["demo"] == {"text": demo.SENTENCE, "pair": None}
        assert session["models"]["b"]["classes"] == ["negative", "positive"]
        deadline = time.monotonic() + 60
        while (
            response := client.post("/api/views/words", json={"text": demo.SENTENCE, "slot": "b"})
        ).status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert response.json()["state"] == "done"
        assert "stopped" in stopped(process)


def test_a_port_that_is_taken(refused, bert):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} is taken" in refused("serve", bert, "--port", port, "--no-cache")
        assert "--port" in refused("serve", bert, "--port", port, "--no-cache")


def test_addresses_that_are_none(refused, bert):
    assert "no address of this machine" in refused("serve", bert, "--host", "192.0.2.1", "--no-cache")
    assert "there is no address" in refused("serve", bert, "--host", "no such host", "--no-cache")


def test_models_that_are_none_are_refused_before_anything_is_served(refused, bert, tmp_path):
    fixed = ("--port", 0, "--no-cache")
    assert "no folder at" in refused("serve", tmp_path / "nowhere", *fixed)
    assert "no folder at" in refused("serve", bert, tmp_path / "nowhere", *fixed)
    assert "no PEFT adapter" in refused("serve", bert, "--adapter", tmp_path, *fixed)
    assert "--adapter needs a BASE" in refused("serve", "--adapter", tmp_path, *fixed)
    (tmp_path / "empty").mkdir()
    assert "config.json" in refused("serve", tmp_path / "empty", *fixed)
    vit = zoo.save(zoo.build("vit"), tmp_path / "vit")
    assert "vit has no tokenizer" in refused("serve", vit, *fixed)
    assert "vit has no tokenizer" in refused("serve", bert, vit, *fixed)
    assert "name is empty" in refused("serve", bert, "", *fixed)
    pickled = zoo.save(zoo.build("bert"), tmp_path / "pickled")
    (pickled / "model.safetensors").unlink()
    torch.save(zoo.build("bert").state_dict(), pickled / "pytorch_model.bin")
    assert "--allow-pickle" in refused("serve", pickled, *fixed)
    assert "unknown device" in refused("serve", bert, "--device", "quantum", *fixed)


def test_options_that_are_none(refused, run, bert, tmp_path):
    fixed = ("--port", 0)
    (tmp_path / "file").write_text("mine")
    assert "--no-cache" in refused("serve", bert, "--cache", tmp_path / "file", *fixed)
    assert "can't be read" in refused("serve", bert, "--corpus", tmp_path / "missing", "--no-cache", *fixed)
    for option in ("--cache", "--corpus"):
        assert "home folder" in refused("serve", bert, option, "~nobody-of-that-name/texts", *fixed)
    for token in ("short", "", "with a blank in it", "ümlaut-ümlaut-ümlaut", "a;b;c;d;e;f;g;h;i;j"):
        assert "token is" in refused("serve", bert, "--token", token, "--no-cache", *fixed)
    assert run("serve", bert, "--port", "70000").exit_code == 2
    assert run("serve", bert, bert, bert).exit_code == 2


def test_help_loads_neither_torch_nor_the_server():
    code = """
import sys
sys.argv = ["attnscope", "serve", "--help"]
from attnscope.cli import main
try:
    main()
except SystemExit:
    pass
print({"torch", "transformers", "fastapi", "uvicorn", "numpy"} & set(sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "set()\n"
    assert "--corpus" in done.stdout


def test_the_page_is_opened_where_that_is_asked_for(bert, tmp_path):
    opened = tmp_path / "opened"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    script.chmod(0o755)
    with serving(bert, "--no-cache", "--open", BROWSER=f"{script} %s") as (process, url):
        deadline = time.monotonic() + 30
        while not opened.exists() or not opened.read_text().endswith("\n"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert opened.read_text().strip() == url
        stopped(process)


def test_a_path_to_the_page_is_in_the_package():
    from attnscope.server.static import FOLDER

    assert Path(demo.__file__).parents[1] / "server" / "static" == FOLDER
