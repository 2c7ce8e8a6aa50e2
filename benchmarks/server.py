"""The server against the analysis it serves, and against a crowd: `python -m benchmarks.server`.

request / analysis  wall time of a question over HTTP (asked, followed by its events, fetched) over that of the same
                    computation called directly in this process; interleaved, a new text of some 30 tokens each time,
                    median of the pairs' ratios; the two processes take turns, so that neither waits for the other.
both models         a new text: both answers and both maps, asked at once as the page asks them.
kept                a question that was asked before.
50 clients          each with a text of its own through a queue of 64: none may be lost.
memory              the server's highest resident memory through all of this, above what it was when it began to answer.
"""

import contextlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psutil
import torch

import attnscope as ats
from attnscope.analyses.views import VIEWS

CLIENTS, REPEATS = 50, 15
RATIO, BOTH, MEMORY = 1.5, 1.5, 300
"""What is asked for: times the analysis, seconds for both models, MiB."""
_numbers = itertools.count(1)


def new_text() -> str:
    """Some thirty tokens that were never asked about."""
    number = next(_numbers)
    return (
        f"In chapter {number} the plot is thin, but the acting of the two sisters is wonderful, and nobody who saw it "
        "will forget the last scene."
    )


@contextlib.contextmanager
def server() -> Generator[tuple[psutil.Process, str]]:
    """The demo's server as a process of its own."""
    with tempfile.TemporaryDirectory() as kept:
        command = [sys.executable, "-m", "attnscope", "serve", "--port", "0", "--cache", kept, "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            try:
                yield psutil.Process(process.pid), found[0]
            finally:
                process.terminate()


def asked(client: httpx2.Client, view: str, **request: Any) -> bytes:
    """Ask as the browser does."""
    while (response := client.post(f"/api/views/{view}", json=request)).status_code == 429:
        time.sleep(0.1)
    job = response.json()
    if job["state"] in {"queued", "running"}:
        with client.stream("GET", f"/api/jobs/{job['id']}/events") as events:
            for line in events.iter_lines():
                job = json.loads(line[6:]) if line.startswith("data: ") else job
    assert job["state"] == "done", job
    return client.get(f"/api/results/{job['result']}").content


def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratio(client: httpx2.Client, model: ats.Model) -> tuple[float, float, float]:
    """Of a request over the analysis, and both in seconds."""
    view = VIEWS["maps"]

    def directly(text: str) -> None:
        request = view.request.model_validate({"text": text, "measure": "block_norm"})
        view.compute({"a": model}, request, lambda _done, _total: None).to_bytes()

    pairs: list[tuple[float, float]] = []
    for _ in range(REPEATS):
        text = new_text()
        served = timed(lambda text=text: asked(client, "maps", text=text, measure="block_norm"))
        pairs.append((served, timed(lambda text=text: directly(text))))
    middle = [statistics.median(times) for times in zip(*pairs, strict=True)]
    return statistics.median(one / other for one, other in pairs), middle[0], middle[1]


def both_models(client: httpx2.Client) -> float:
    """Seconds for what the page asks about a new text."""
    with ThreadPoolExecutor(4) as pool:

        def page() -> None:
            text = new_text()
            list(pool.map(lambda asking: asked(client, asking[0], text=text, slot=asking[1]),
                          itertools.product(("answer", "maps"), "ab")))  # fmt: skip

        return statistics.median(timed(page) for _ in range(REPEATS))


def crowd(url: str) -> tuple[float, int]:
    """Seconds for fifty clients, and how many got their own answer."""

    def one(text: str) -> bool:
        with httpx2.Client(base_url=url, timeout=300) as client:
            return b'\\"kind\\":\\"maps\\"' in asked(client, "maps", text=text)

    texts = [new_text() for _ in range(CLIENTS)]
    start = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        answered = sum(pool.map(one, texts))
    return time.perf_counter() - start, answered


def verdict(good: bool) -> str:
    return "met" if good else "MISSED"


def main() -> None:
    load = os.getloadavg()[0]
    torch.set_num_threads(1)  # as the server has it on two cores
    with server() as (process, url), httpx2.Client(base_url=url, timeout=300) as client:
        model = ats.demo_model()
        asked(client, "maps", text=new_text(), slot="b")  # the warm-up is over when this is answered
        before = process.memory_info().rss
        found, served, direct = ratio(client, model)
        print(f"request / analysis   {found:6.2f}  (<= {RATIO:g})  {verdict(found <= RATIO)}   "
              f"{1e3 * served:.0f} ms over {1e3 * direct:.0f} ms")  # fmt: skip
        both = both_models(client)
        print(f"both models          {both:6.2f} s (<= {BOTH:g})  {verdict(both <= BOTH)}")
        text = new_text()
        asked(client, "maps", text=text)
        kept = statistics.median(timed(lambda: asked(client, "maps", text=text)) for _ in range(REPEATS))
        print(f"kept                 {1e3 * kept:6.1f} ms")
        seconds, answered = crowd(url)
        print(f"{CLIENTS} clients           {seconds:6.2f} s, {answered} answered  {verdict(answered == CLIENTS)}")
        peak = getattr(process.memory_info(), "peak_wset", 0) or _highest(process.pid) or process.memory_info().rss
        grown = (peak - before) / 2**20
        print(f"memory               {grown:6.0f} MiB (<= {MEMORY})  {verdict(grown <= MEMORY)}   "
              f"above {before / 2**20:.0f} MiB")  # fmt: skip
    if load > 0.5:
        print(f"The machine was busy when this began (load {load:.1f}): take the times with care.")


def _highest(pid: int) -> int:
    """The highest resident memory of a process so far, where the system says."""
    try:
        with Path(f"/proc/{pid}/status").open(encoding="ascii") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
    except OSError:
        return 0


if __name__ == "__main__":
    main()
