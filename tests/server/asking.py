"""Asking a server, and following what it says."""

import time
from typing import Any

import httpx2

FINAL = {"done", "failed", "cancelled"}


def ask(client: Any, view: str = "held", *, text: str = "the cat sat", **request: Any) -> httpx2.Response:
    return client.post(f"/api/views/{view}", json={"text": text, **request})


def finish(client: Any, response: httpx2.Response, seconds: float = 60.0) -> dict[str, Any]:
    """Follow a job to its end."""
    assert response.status_code in {200, 202}, response.text
    job = response.json()
    deadline = time.monotonic() + seconds
    while job["state"] not in FINAL:
        assert time.monotonic() < deadline, job
        time.sleep(0.005)
        job = client.get(f"/api/jobs/{job['id']}").json()
    return job


def parcel_of(client: Any, job: dict[str, Any]) -> bytes:
    assert job["state"] == "done", job
    response = client.get(f"/api/results/{job['result']}")
    assert response.status_code == 200
    return response.content


def sentence(response: httpx2.Response, status: int) -> str:
    """The one sentence of an answer that refuses."""
    assert response.status_code == status, response.text
    body = response.json()
    assert list(body) == ["message"]
    assert body["message"]
    assert "\n" not in body["message"]
    assert "Traceback" not in body["message"]
    return body["message"]
