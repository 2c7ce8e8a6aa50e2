"""The engine on a GPU: `python -m benchmarks.gpu [--save]`, on a machine that has one.

proof      every model of the tests' zoo in float32 on the GPU: Laws 1 and 2, and each measure against that of the CPU
speed      wall time of `ats.analyze` over that of the model's own eager pass with `output_attentions=True`, of
           `ats.attribute` over the model's own pass, BERT-base's shape; interleaved, median of the pairs' ratios
memory     what the GPU held at most above the weights, for both
"""

import argparse
import json
import statistics
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

import attnscope as ats
from attnscope.measures import MEASURES
from benchmarks.__main__ import ALL, inputs_of, own_pass, seconds
from tests import zoo
from tools.tiny import randomise

MAPS = tuple(name for name in ALL if MEASURES[name].is_map)
LENGTHS = (128, 384, 512)
REPEATS = 9
RESULTS = Path(__file__).with_name("gpu.json")


def on_gpu(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: tensor.cuda() for name, tensor in inputs.items()}


def proof(name: str) -> dict[str, float]:
    """The largest law error on the GPU, and how far its measures are from the CPU's, relative to their largest."""
    inputs = zoo.inputs(name)
    here = ats.analyze(ats.Model(zoo.build(name)), inputs, measures=MAPS)
    there = ats.analyze(ats.Model(zoo.build(name).cuda()), on_gpu(inputs), measures=MAPS)
    apart = max(float(np.nanmax(abs(here[one] - there[one])) / np.nanmax(abs(here[one]))) for one in MAPS)
    return {"law": ats.Model(zoo.build(name).cuda()).verify().worst, "apart": apart}


def proofs() -> dict[str, dict[str, float] | str]:
    found: dict[str, dict[str, float] | str] = {}
    for name in zoo.NAMES:
        try:
            found[name] = proof(name)
        except Exception as error:  # noqa: BLE001 (one model's failure is a row of the table)
            found[name] = f"{type(error).__name__}: {str(error)[:200]}"
    return found


def timed(task: Callable[[], Any]) -> float:
    def whole() -> None:
        task()
        torch.cuda.synchronize()

    torch.cuda.synchronize()
    return seconds(whole)


def peak(task: Callable[[], Any]) -> int:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    task()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def speed(dtype: torch.dtype, length: int) -> dict[str, float]:
    torch.manual_seed(0)
    made = BertForSequenceClassification._from_config(BertConfig(), attn_implementation="eager", dtype=torch.float32)  # noqa: SLF001
    randomise(made, 0)
    made = made.to("cuda", dtype).eval()
    model, inputs = ats.Model(made), on_gpu(inputs_of(length))
    tasks = {
        "forward": lambda: own_pass(made, inputs),
        "analyze": lambda: ats.analyze(model, inputs, measures=ALL),
        "plain": lambda: own_pass(made, inputs, attentions=False),
        "attribute": lambda: ats.attribute(model, inputs, target=0),
    }
    if dtype is not torch.float32:  # rounding is far above what a proof of completeness allows
        del tasks["attribute"]
    for task in tasks.values():
        task()
        task()
    rounds = [{name: timed(task) for name, task in tasks.items()} for _ in range(REPEATS)]
    median = {name: 1e3 * statistics.median(one[name] for one in rounds) for name in tasks}
    ratios = {"analyze_ratio": statistics.median(one["analyze"] / one["forward"] for one in rounds)}
    if "attribute" in tasks:
        ratios["attribute_ratio"] = statistics.median(one["attribute"] / one["plain"] for one in rounds)
    alpha = 12 * length * length * torch.finfo(dtype).bits // 8
    memory = {f"{name}_peak_over_weights": peak(tasks[name]) / alpha for name in tasks}
    return median | ratios | memory


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description="Prove and time the engine on a GPU.")
    parser.add_argument("--save", type=Path, nargs="?", const=RESULTS, help=f"write the results ({RESULTS.name})")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.backends.cuda.matmul.allow_tf32 = False
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "proofs": proofs()}
    broken = {name: one for name, one in found["proofs"].items() if isinstance(one, str)}
    proved = [one for one in found["proofs"].values() if not isinstance(one, str)]
    print(f"{len(proved)} models proved on {found['device']}: law error {max(one['law'] for one in proved):.1e}, "
          f"apart from the CPU {max(one['apart'] for one in proved):.1e}; {len(broken)} broken")  # fmt: skip
    for name, one in broken.items():
        print(f"  {name}: {one}")
    found["speed"] = {}
    for dtype in (torch.float32, torch.bfloat16):
        for length in LENGTHS:
            key = f"{str(dtype).removeprefix('torch.')} T={length}"
            found["speed"][key] = speed(dtype, length)
            print(key, {name: round(value, 2) for name, value in found["speed"][key].items()})
    if options.save:
        options.save.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
