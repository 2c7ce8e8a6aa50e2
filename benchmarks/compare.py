"""Comparing two models against analysing both: `python -m benchmarks.compare`.

The demo's pair, several texts of about 10, 30, 60 and 120 tokens. What `ats.compare` takes is set over what
`ats.analyze` takes on both models: interleaved in one run, the median of the pairs' ratios, of elapsed time, which is
what is asked for, and of processor time: where the models leave a core free, as here, a text is worked on while the
next one is read, so that less has to be waited for than is computed. And the highest level of memory, of numpy's arrays
in MiB (the two analyses keep nothing, the comparison a few numbers of each text and the draws of its bootstrap), of
torch's over that of the two analyses.
"""

import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import torch

import attnscope as ats
from attnscope.analyses.demo import TEXTS
from benchmarks.__main__ import peak_bytes

MEASURES = ("weight", "attention_norm", "block_norm")
WORDS = (8, 25, 52, 104)
COUNT, REPEATS = 24, 7
RATIO = 1.2
"""What is asked for: at most so much of the two analyses."""


def texts_of(words: int) -> list[str]:
    return [" ".join((text.split() * 3)[:words]) for text in TEXTS[:COUNT]]


def timed(task: Callable[[], Any]) -> tuple[float, float]:
    elapsed, used = time.perf_counter(), time.process_time()
    task()
    return time.perf_counter() - elapsed, time.process_time() - used


def python_peak(task: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure(base: ats.Model, tuned: ats.Model, name: str, words: int) -> str:
    texts = texts_of(words)
    tokens = sum(len(found) for found in (base.encode(text).source for text in texts) if found) / len(texts)

    def analyses() -> None:
        for text in texts:
            for model in (base, tuned):
                ats.analyze(model, text, measures=name)

    def comparison() -> None:
        ats.compare(base, tuned, texts, measure=name)

    for task in (analyses, comparison):
        task()
    pairs = [(timed(analyses), timed(comparison)) for _ in range(REPEATS)]
    elapsed, used = (statistics.median(mine[which] / two[which] for two, mine in pairs) for which in (0, 1))
    mine, theirs = (python_peak(task) / 2**20 for task in (comparison, analyses))
    tensors = peak_bytes(comparison) / peak_bytes(analyses)
    verdict = "met" if elapsed <= RATIO else "MISSED"
    cost = 1e3 * statistics.median(two[1] for two, _ in pairs) / len(texts)
    return (
        f"{name:14} {tokens:4.0f} tokens  analyses {cost:5.1f} ms a text  compare {elapsed:.2f} of them (<= {RATIO:g}) "
        f"{verdict:7} processor {used:.2f}  peak: {mine:.1f} MiB of arrays (analyses {theirs:.1f}), torch {tensors:.2f}"
    )


def main() -> None:
    torch.set_num_threads(1)
    base, tuned = ats.demo_models()
    for name in MEASURES:
        for words in WORDS:
            print(measure(base, tuned, name, words), flush=True)


if __name__ == "__main__":
    main()
