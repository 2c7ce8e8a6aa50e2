"""Fixed numbers of tiny models, computed by the materialised reference: `python -m tests.golden.numbers` writes them.

They are written once and then only compared with: a change of a number is a change of what attnscope says.
"""

import json
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.reference import materialise
from tests import zoo
from tests.contracts.extraction import extract

FOLDER = Path(__file__).parent
DIGITS = 6
CASES = {"bert_tiny": ("bert", "self"), "gemma2_tiny": ("gemma2", "self"), "bart_cross_tiny": ("bart", "cross")}
IDS = [[2, 47, 12, 90, 3, 61, 3]]
TARGET_IDS = [[2, 18, 77, 9]]


def inputs(name: str) -> dict[str, Tensor]:
    given = {"input_ids": torch.tensor(IDS), "attention_mask": torch.ones(1, len(IDS[0]), dtype=torch.long)}
    if zoo.KINDS[name] == "encoder-decoder":
        given["decoder_input_ids"] = torch.tensor(TARGET_IDS)
    return given


def rounded(values: object) -> object:
    """Six significant digits, nested as the tensor is."""
    return [rounded(value) for value in values] if isinstance(values, list) else float(f"{values:.{DIGITS}g}")


def computed(name: str, stack: str) -> dict[str, object]:
    """By measure, layer by layer."""
    layers = [materialise(layer).measures for layer in extract(zoo.build(name), inputs(name), name, stack)]
    return {measure: rounded([layer[measure].tolist() for layer in layers]) for measure in layers[0]}


def stored(case: str) -> dict[str, object]:
    return json.loads((FOLDER / f"{case}.json").read_text(encoding="utf-8"))


def main() -> None:
    for case, (name, stack) in CASES.items():
        lines = [f'  "{measure}": {json.dumps(values)}' for measure, values in computed(name, stack).items()]
        (FOLDER / f"{case}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
