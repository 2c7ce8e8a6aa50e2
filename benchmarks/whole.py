"""Time and memory of whole models, BERT-base's shape, T = 128: `python -m benchmarks.whole [--save]`.

attribute / forward    wall time of `ats.attribute` (one backward pass through the frozen network) over that of the
                       model's own pass without gradients, in eager attention; interleaved, median of the pairs' ratios
against carrying       the same logit row by `benchmarks.carried`, which carries a (token, source, model) tensor
decomposed             its maps of all layers: time against the same baseline, and the most memory that a process that
                       does nothing else ever had (model, libraries and all)
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

import attnscope as ats
from benchmarks.__main__ import THREADS, inputs_of, seconds
from benchmarks.carried import carried

LENGTH = 128
REPEATS = 9
RATIO, GIGABYTES = 4.0, 2.0
"""What is asked for: times a plain pass, and the most memory of `decomposed`."""
RESULTS = Path(__file__).with_name("results_whole.json")


def classifier() -> BertForSequenceClassification:
    torch.manual_seed(0)
    config = BertConfig(num_labels=3)
    model = BertForSequenceClassification._from_config(config, attn_implementation="eager", dtype=torch.float32)  # noqa: SLF001
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:  # biases and gains that are not 0 and 1
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def attribution(model: ats.Model, repeats: int) -> dict[str, float]:
    inputs = inputs_of(LENGTH)

    def forward() -> None:
        with torch.no_grad():
            model.hf_model(**inputs)

    def attribute() -> None:
        ats.attribute(model, inputs, target=1)

    for task in (forward, attribute, forward, attribute):
        task()
    pairs = [(seconds(forward), seconds(attribute)) for _ in range(repeats)]
    return {
        "forward": statistics.median(own for own, _ in pairs),
        "attribute": statistics.median(ours for _, ours in pairs),
        "ratio": statistics.median(ours / own for own, ours in pairs),
    }


def maps(model: ats.Model) -> dict[str, float]:
    """Time of both ways to carry every token's part, and how far they are apart."""
    inputs = inputs_of(LENGTH)
    found: dict[str, Any] = {}
    ours = seconds(lambda: found.update(ours=ats.decomposed(model, inputs, target=1)))
    theirs = seconds(lambda: found.update(theirs=carried(model.hf_model, inputs)))
    lengths, expected = found["ours"]["decomposed"].to_numpy(), found["theirs"].lengths.numpy()
    logits, row = found["ours"]["contribution"].to_numpy(), found["theirs"].logits[:, 1].numpy()
    pairs = ((lengths, expected), (logits, row))
    apart = max(float(np.abs(one - other).max() / np.abs(other).max()) for one, other in pairs)
    assert apart < 1e-3, f"the two ways to carry are {apart:.1e} apart"
    return {"decomposed": ours, "carried": theirs, "apart": apart}


def peak(task: str) -> float:
    """The most memory, in GB, of a fresh process that runs one of the tasks below."""
    command = [sys.executable, "-m", "benchmarks.whole", "--only", task]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def only(task: str) -> None:
    torch.set_num_threads(THREADS)
    model, inputs = ats.Model(classifier()), inputs_of(LENGTH)
    if task == "decomposed":
        ats.decomposed(model, inputs, target=1)
    elif task == "carried":
        carried(model.hf_model, inputs)
    else:
        ats.attribute(model, inputs, target=1)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)


def measure_all(repeats: int) -> dict[str, Any]:
    torch.set_num_threads(THREADS)
    model = ats.Model(classifier())
    found: dict[str, Any] = {"torch": torch.__version__, "threads": THREADS, "length": LENGTH}
    found |= attribution(model, repeats) | maps(model)
    return found | {f"memory_{task}": peak(task) for task in ("attribute", "decomposed", "carried")}


def table(found: dict[str, Any]) -> str:
    def verdict(met: bool) -> str:
        return "met" if met else "MISSED"

    own = f"forward {1e3 * found['forward']:.0f} ms, attribute {1e3 * found['attribute']:.0f} ms"
    others = f"attribute {found['memory_attribute']:.2f} GB, carried as it stands {found['memory_carried']:.2f} GB"
    times = f"{found['decomposed']:.1f} s against {found['carried']:.1f} s; {found['apart']:.0e} apart"
    rows = (
        ("attribute / own forward", f"{found['ratio']:6.2f}   ", RATIO, found["ratio"], own),
        ("decomposed, memory of the process", f"{found['memory_decomposed']:6.2f} GB", GIGABYTES,
         found["memory_decomposed"], others),
        ("decomposed / carried as it stands", f"{found['decomposed'] / found['carried']:6.2f}   ", None, None, times),
        ("carried as it stands / attribute", f"{found['carried'] / found['attribute']:6.0f}   ", None, None,
         "the same row of the logit"),
    )  # fmt: skip
    lines: list[str] = []
    for label, shown, most, value, note in rows:
        asked = "" if most is None or value is None else f"(<= {most:g})  {verdict(value <= most)}"
        lines.append(f"{label:34}{shown}  {asked:16}{note}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole", description="Measure whole models.")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name}")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="pairs of timed passes")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        only(options.only)
        return
    load = os.getloadavg()[0]
    found = measure_all(max(3, options.repeats))
    print(table(found))
    if load > 0.5:
        print(f"The machine was busy when this began (load {load:.1f}): take the times with care.")
    if options.save:
        RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
