"""Time and memory of the engine on a model of BERT-base's shape: `python -m benchmarks [--save]`.

What is measured, and how:

analyze / forward   wall time of `ats.analyze` with all eight measures over that of the model's own eager pass with
                    `output_attentions=True`; same inputs, interleaved, median of the pairs' ratios.
speed-up            one layer: the engine's `Parts` and measures against the materialised reference in float32. Both
                    get what they start from ready-made, and both leave out the expansion rate, which the engine keeps
                    and the reference takes from an SVD. The reference is naive on purpose; so `attention_norm` alone is
                    also timed against the best contraction that builds the vectors.
memory              what torch's CPU allocator was asked for (profiler, exact): the highest level during one layer's
                    decomposition above the level before it, over the size of that layer's weights (head · query ·
                    key · 4 bytes). And for the whole of `analyze`: its highest level above that of the plain pass.
                    The finished numpy arrays are no torch memory; their size is given beside it.
import              a fresh interpreter, median.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor
from transformers import BertConfig, BertModel

import attnscope as ats
from attnscope.decompose.parts import Parts
from attnscope.measures import MEASURES
from attnscope.record import LayerRecord
from benchmarks import reference

ALL = tuple(name for name, measure in MEASURES.items() if not measure.needs_tail and not measure.self_only)
LENGTHS = (128, 384)
REPEATS = 9
THREADS = 2
LAYER = 6
TARGETS = {"ratio": 1.5, "speedup": 15.0, "memory": 3.0, "import": 0.3}
RESULTS = Path(__file__).with_name("results.json")


def bert_base() -> BertModel:
    """Default configuration, random weights, biases and gains that are not 0 and 1."""
    torch.manual_seed(0)
    model = BertModel._from_config(BertConfig(), attn_implementation="eager", dtype=torch.float32)  # noqa: SLF001
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def inputs_of(length: int) -> dict[str, Tensor]:
    ids = torch.randint(1000, 30000, (1, length), generator=torch.Generator().manual_seed(length))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def seconds(task: Callable[[], Any]) -> float:
    started = time.perf_counter()
    task()
    return time.perf_counter() - started


def own_pass(model: BertModel, inputs: dict[str, Tensor], *, attentions: bool = True) -> None:
    with torch.no_grad():
        model(**inputs, output_attentions=attentions)


def overhead(model: ats.Model, length: int, repeats: int) -> dict[str, float]:
    inputs = inputs_of(length)
    tasks = (
        lambda: own_pass(model.hf_model, inputs),
        lambda: ats.analyze(model, inputs, measures=ALL),
    )
    for task in tasks:
        task()
        task()
    pairs = [tuple(seconds(task) for task in tasks) for _ in range(repeats)]
    return {
        "forward": statistics.median(own for own, _ in pairs),
        "analyze": statistics.median(mine for _, mine in pairs),
        "ratio": statistics.median(mine / own for own, mine in pairs),
    }


def decomposed(record: LayerRecord) -> list[Tensor]:
    """What `analyze` does with a layer's record, but for the copy into the result."""
    measures = [MEASURES[name] for name in ALL if name != "expansion_rate"]
    scopes = dict.fromkeys(scope for measure in measures if measure.is_map for scope in measure.scopes)
    parts = Parts(record, tuple(scopes))
    found = []
    for rows in record.row_blocks(128):
        block = parts.rows(rows)
        found += [measure.compute(block).sum() for measure in measures if measure.is_map]
        found.append(parts.sketched_error(block).max())
    found += [measure.compute(parts).sum() for measure in measures if not measure.is_map]
    return found


def plain(record: LayerRecord) -> reference.Layer:
    """The same layer as the reference takes it."""
    block = record.block
    norm = reference.Norm(block.post.weight, block.post.bias, block.post.eps, block.post.centred)
    return reference.Layer(
        alpha=record.attention(),
        value=record.value,
        W_O=record.projection,
        b_O=record.bias,
        residual=block.residual,
        attention_output=record.projected,
        block_output=block.output,
        norm=norm,
        place="post",
    )


def attention_only(record: LayerRecord) -> list[Tensor]:
    """The engine, asked for `attention_norm` alone."""
    parts = Parts(record, ("attention",))
    return [parts.rows(rows).lengths["attention"].sum() for rows in record.row_blocks(128)]


def contracted(layer: reference.Layer) -> Tensor:
    """The best one can do with vectors: one contraction over heads, and only (query, key, model) in memory."""
    return torch.einsum("hqk,hkd->qkd", layer.alpha, reference.sent(layer)).norm(dim=-1)


def a_record(model: ats.Model, length: int) -> LayerRecord:
    return model.records(inputs_of(length))[LAYER - 1]


def reference_bytes(length: int) -> int:
    """Three tensors of all vectors are alive at once: the vectors, the sum's input and its square."""
    return 3 * 12 * length * length * 768 * 4


def speedup(model: ats.Model, length: int, repeats: int) -> dict[str, float]:
    with torch.no_grad():
        record = a_record(model, length)
        layer = plain(record)
        mine, theirs = (lambda: decomposed(record)), (lambda: reference.materialise(layer, torch.float32))
        rivals = (lambda: attention_only(record)), (lambda: contracted(layer))
        for task in (mine, *rivals):
            task()
        pairs = [(seconds(mine), seconds(theirs)) for _ in range(repeats)]
        contests = [tuple(seconds(rival) for rival in rivals) for _ in range(2 * repeats)]
    return {
        "speedup_contracted": statistics.median(slow / engine for engine, slow in contests),
        "engine": statistics.median(engine for engine, _ in pairs),
        "reference": statistics.median(slow for _, slow in pairs),
        "speedup": statistics.median(slow / engine for engine, slow in pairs),
    }


def peak_bytes(task: Callable[[], Any]) -> int:
    """The highest level of torch's CPU memory during a task above the level before it."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        task()
    events = profile.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    level = highest = 0
    for _, change in changes:
        level += change
        highest = max(highest, level)
    return highest


def memory(model: ats.Model, length: int) -> dict[str, float]:
    inputs = inputs_of(length)
    alpha = 12 * length * length * 4
    with torch.no_grad():
        record = a_record(model, length)
        record.attention_diagonal  # noqa: B018 (kept with the record; of the order of a row)
        layer = peak_bytes(lambda: decomposed(record))
        del record
        result = ats.analyze(model, inputs, measures=ALL)
        whole = peak_bytes(lambda: ats.analyze(model, inputs, measures=ALL))
        own = peak_bytes(lambda: own_pass(model.hf_model, inputs, attentions=False))
    return {
        "memory": layer / alpha,
        "memory_of_analyze": (whole - own) / alpha,
        "result_per_layer": result.nbytes / 12 / alpha,
    }


def import_time(repeats: int = 7) -> dict[str, float | bool]:
    code = (
        "import sys, time; start = time.perf_counter(); import attnscope; "
        "print(time.perf_counter() - start, 'torch' in sys.modules)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(repeats)]  # fmt: skip
    return {"import": statistics.median(float(run[0]) for run in runs), "imports_torch": runs[0][1] == "True"}


def verdict(name: str, value: float) -> str:
    good = value >= TARGETS[name] if name == "speedup" else value <= TARGETS[name]
    return "met" if good else "MISSED"


def table(found: dict[str, Any]) -> str:
    lines = [f"{'':34}{'measured':>12}{'target':>10}"]

    def line(label: str, name: str, value: float, unit: str = "", note: str = "") -> None:
        sign = ">=" if name == "speedup" else "<="
        target = f"{sign} {TARGETS[name]:g}"
        lines.append(f"{label:34}{value:>11.2f}{unit:1}{target:>10}  {verdict(name, value):8}{note}")

    for length, values in found["lengths"].items():
        times = f"forward {1e3 * values['forward']:.0f} ms, analyze {1e3 * values['analyze']:.0f} ms"
        line(f"T={length}: analyze / own forward", "ratio", values["ratio"], note=times)
        times = f"T={values['speedup_length']}: a layer {1e3 * values['engine']:.2f} ms, "
        line(f"T={length}: speed-up over materialised", "speedup", values["speedup"], "x",
             times + f"reference {1e3 * values['reference']:.0f} ms; "
             f"attention_norm alone, over one contraction: {values['speedup_contracted']:.0f}x")  # fmt: skip
        beside = f"whole analyze {values['memory_of_analyze']:.2f}, result {values['result_per_layer']:.2f} a layer"
        line(f"T={length}: peak memory of a layer / its weights", "memory", values["memory"], note=beside)
    line("import attnscope (s)", "import", found["import"], note=f"torch imported: {found['imports_torch']}")
    return "\n".join(lines)


def measure_all(repeats: int) -> dict[str, Any]:
    torch.set_num_threads(THREADS)
    model = ats.Model(bert_base())
    model.verify()
    found: dict[str, Any] = {"torch": torch.__version__, "threads": THREADS, "lengths": {}}
    for length in LENGTHS:
        fits = reference_bytes(length) < 0.7 * psutil.virtual_memory().available
        reachable = length if fits else 256
        found["lengths"][length] = (
            overhead(model, length, repeats)
            | speedup(model, reachable, max(3, repeats // 3))
            | {"speedup_length": reachable}
            | memory(model, length)
        )
    return found | import_time()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure time and memory.")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name}")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="pairs of timed passes (at least 7)")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found = measure_all(max(7, options.repeats))
    print(table(found))
    if load > 0.5:
        print(f"The machine was busy when this began (load {load:.1f}): take the times with care.")
    if options.save:
        RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
