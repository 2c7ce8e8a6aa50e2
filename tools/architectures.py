"""Tries a tiny random model of every architecture in the installed Transformers, and writes the table of the docs.

For each one it is known afterwards whether its parts add up (Laws 1 and 2), is refused with a reason, or could not
be built small. `python -m tools.architectures [TYPE ...]`
"""

import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import torch
import transformers
from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from attnscope import InputError, Model, UnsupportedModel
from tools.tiny import attempt

PAGE = Path(__file__).parent.parent / "docs" / "architectures.md"
WORKS, ATTENTION_ONLY, REFUSED, FAILED, NOT_BUILT = "works", "attention only", "refused", "failed", "not built"
MEANING = {
    WORKS: "all measures, both laws proved",
    ATTENTION_ONLY: "measures of the attention alone; the way to the residual stream is not understood",
    FAILED: "the trial itself broke off",
    REFUSED: "no numbers are given, for the reason stated",
    NOT_BUILT: "no small model could be made to run without its own data or libraries",
}


@dataclass(frozen=True)
class Verdict:
    """What came of one architecture."""

    kind: str
    detail: str = ""


def judge(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> Verdict:
    """Prove a model on its inputs; a law that fails after the structure was believed would be a wrong number."""
    wrapped = Model(model, example=inputs)
    try:
        verification = wrapped.check_laws()
    except UnsupportedModel as error:
        return Verdict(REFUSED, error.reason)
    except InputError as error:
        return Verdict(REFUSED, str(error))
    failures = list(verification.failures())
    law_failures = [failure for failure in failures if failure.startswith("Law")]
    if law_failures:
        return Verdict(REFUSED, law_failures[0])
    stacks = ", ".join(f"{stack} {len(wrapped.structure.stack(stack))}" for stack in wrapped.structure.stacks)
    others = f"; without softmax attention: {len(verification.others)}" if verification.others else ""
    if failures:
        return Verdict(REFUSED, failures[0])
    reasons = {laws.block_reason for laws in verification.layers if laws.block_reason}
    if reasons:
        return Verdict(ATTENTION_ONLY, f"{stacks}{others}; {min(reasons)}")
    return Verdict(WORKS, f"{stacks}{others}")


def survey(types: Iterable[str] = CONFIG_MAPPING_NAMES) -> dict[str, Verdict]:
    """The verdict on every architecture, worked out in as many processes as there are cores.

    New processes, so that nothing that watches this one (coverage, checks of every shape) makes it ten times as long.
    """
    names, cores = list(types), os.cpu_count() or 1
    with ProcessPoolExecutor(cores, get_context("spawn"), _quiet) as pool:
        parts = pool.map(_survey, (names[start :: 4 * cores] for start in range(4 * cores)))
        found = {name: verdict for part in parts for name, verdict in part.items()}
    return {name: found[name] for name in names}


def _quiet() -> None:
    """What models of 800 types warn about is not the question here."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")


def _survey(types: Iterable[str]) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = {}
    for model_type in types:
        found: list[Verdict] = []

        def check(model: PreTrainedModel, inputs: dict[str, Tensor], found: list[Verdict] = found) -> None:
            found.append(Verdict(FAILED))
            found.append(judge(model, inputs))

        outcome = attempt(model_type, check=check)
        last = found[-1] if found else Verdict(NOT_BUILT, outcome.reason)
        verdicts[model_type] = Verdict(FAILED, outcome.reason) if last.kind == FAILED else last
    return verdicts


def page(verdicts: Mapping[str, Verdict]) -> str:
    """The documentation page."""
    counts = Counter(verdict.kind for verdict in verdicts.values())
    lines = [
        "# Architectures",
        "",
        f"Every model type of Transformers {transformers.__version__} was built small with random weights, and its",
        "parts were added up and compared with what the model itself computed (Laws 1 and 2). This page is generated:",
        "`make docs`.",
        "",
        *(f"- **{kind}** {MEANING[kind]}: {counts[kind]}" for kind in MEANING if counts[kind]),
        "",
        "| model type | outcome | attention layers by stack, or the reason |",
        "| --- | --- | --- |",
    ]
    order = list(MEANING)
    for name, verdict in sorted(verdicts.items(), key=lambda item: (order.index(item[1].kind), item[0])):
        detail = " ".join(verdict.detail.split()).replace("|", "\\|")
        lines.append(f"| `{name}` | {verdict.kind} | {detail[:160]} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page, or with types named just say what came of them."""
    if sys.argv[1:]:
        for name, verdict in survey(sys.argv[1:]).items():
            print(f"{name}: {verdict.kind}: {verdict.detail}")
        return
    verdicts = survey()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(verdicts), encoding="utf-8")
    print(Counter(verdict.kind for verdict in verdicts.values()))


if __name__ == "__main__":
    main()
