"""What the web application's tests are checked against: parcels of small and of real models, and graphs traced here.

    python -m tools.fixtures

writes `web/test/fixtures`: in `tiny`, maps and what `attnscope.flow` traces from the same model with many options
(`flows.json`); in `demo`, the answers to every view's question for the demo's two models. A tracing in the browser
that differs from `flows.json` is wrong.
"""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig

import attnscope as ats
from attnscope.analyses.views import VIEWS
from tests import zoo
from tools.tiny import randomise

FOLDER = Path("web/test/fixtures")
DEMO_TEXT = "The plot is thin, but the acting is wonderful."
TINY_TEXT = "the cat sat on the mats."
LAYERS = 4


def main() -> None:
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    write_tiny(FOLDER / "tiny")
    write_demo(FOLDER / "demo")
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1000:.0f} kB in {FOLDER}")


def tiny_classifier() -> ats.Model:
    return _tiny("bert", transformers.AutoModelForSequenceClassification, {"num_hidden_layers": LAYERS})


def tiny_decoder() -> ats.Model:
    return _tiny("gpt2", transformers.AutoModelForCausalLM, {"n_layer": LAYERS})


def _tiny(name: str, head: Any, options: dict[str, Any]) -> ats.Model:
    spec = zoo.SPECS[name]
    config = AutoConfig.for_model(spec.model_type, num_labels=zoo.LABELS, **spec.options | options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = head.from_config(config, attn_implementation="eager", dtype=torch.float32)
    randomise(model, 0)
    assert spec.tokenizer is not None
    return ats.Model(model.eval(), zoo.tokenizer(spec.tokenizer), name=f"tiny {name}")


# Options of attnscope.flow, for each maps parcel: (model, measure, reading, unit).
CASES: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {
    ("bert", "weight", "direct", "token"): [
        {"threshold": 0.0, "layers": [4]},
        {"threshold": 0.133},
        {"threshold": 0.138, "target": 3},
        {"threshold": 0.121, "layers": [2, 3]},
        {"threshold": 0.117, "heads": [1, 3]},
        {"threshold": 0.113, "heads": [2], "layers": [1, 2], "target": 5, "decay": 0.9},
        {"threshold": 0.05, "top": 1},
        {"threshold": 0.1, "top": 2, "layers": [3, 4], "decay": 0.0},
        {"threshold": 0.9},
        {"threshold": 0.131, "target": "logit:LABEL_1"},
        {"threshold": 0.12, "target": "logit:", "layers": [3, 4], "top": 2},
        {"threshold": 0.135, "by": "value"},
    ],
    ("bert", "block_norm", "direct", "token"): [
        {"threshold": 0.06},
        {"threshold": 0.055, "target": 6, "layers": [1, 2, 3]},
        {"threshold": 1.0, "by": "value"},
        {"threshold": 0.08, "target": "logit:LABEL_2", "top": 3},
    ],
    ("bert", "weight", "direct", "word"): [{"threshold": 0.19}, {"threshold": 0.15, "target": "logit:LABEL_1"}],
    ("bert", "weight", "cumulative", "token"): [
        {"threshold": 0.14},
        {"threshold": 0.121, "layers": [3]},
        {"threshold": 0.13, "target": 2, "top": 2},
    ],
    ("bert", "block_norm", "cumulative", "word"): [{"threshold": 0.15}],
    ("bert", "weight", "flow", "token"): [{"threshold": 0.101}, {"threshold": 0.1, "layers": [2, 3], "target": 1}],
    ("gpt2", "head_norm", "direct", "token"): [
        {"threshold": 0.09},
        {"threshold": 0.11, "target": 2},
        {"threshold": 0.13, "heads": [2, 4], "top": 2},
        {"threshold": 0.11, "target": "logit:"},
    ],
}


def write_tiny(folder: Path) -> None:
    models = {"bert": tiny_classifier(), "gpt2": tiny_decoder()}
    flows: list[dict[str, Any]] = []
    for (name, measure, reading, unit), cases in CASES.items():
        model = models[name]
        file = f"maps-{name}-{measure}-{reading}-{unit}.parcel"
        _write(folder / file, {"a": model}, "maps", measure=measure, reading=reading, unit=unit, text=TINY_TEXT)
        for options in cases:
            traced = ats.flow(model, TINY_TEXT, measure=measure, reading=reading, unit=unit, **options)
            case = {"maps": file, "options": options, "flow": traced.model_dump(mode="json")}
            target = options.get("target")
            if isinstance(target, str) and target.startswith("logit:"):
                case["words"] = f"words-{name}-{target.removeprefix('logit:') or 'predicted'}-{unit}.parcel"
                asked = target.removeprefix("logit:") or None
                _write(folder / case["words"], {"a": model}, "words", target=asked, unit=unit, text=TINY_TEXT)
            flows.append(case)
    (folder / "flows.json").write_text(json.dumps(flows, separators=(",", ":"), ensure_ascii=False) + "\n")


def write_demo(folder: Path) -> None:
    base, tuned = ats.demo_models()
    models = {"a": base, "b": tuned}
    for slot in models:
        for name, file, options in _demo_questions():
            _write(folder / f"{file}-{slot}.parcel", models, name, text=DEMO_TEXT, slot=slot, **options)
    _write(folder / "change.parcel", models, "change", text=DEMO_TEXT)
    _write(folder / "faithfulness-b.parcel", models, "faithfulness", text=DEMO_TEXT, slot="b")
    negative = {"text": DEMO_TEXT, "slot": "b", "target": "negative"}
    _write(folder / "words-negative-b.parcel", models, "words", **negative)


def _demo_questions() -> Iterable[tuple[str, str, dict[str, Any]]]:
    yield "answer", "answer", {}
    yield "maps", "maps-weight", {"measure": "weight"}
    yield "maps", "maps-block_norm", {"measure": "block_norm"}
    yield "words", "words", {}
    yield "heads", "heads", {}
    yield "head", "head-5-3", {"layer": 5, "head": 3}
    yield "search", "search", {"word": "but", "threshold": 0.3}


def _write(path: Path, models: dict[str, ats.Model], name: str, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    view = VIEWS[name]
    path.write_bytes(view.compute(models, view.request(**options), lambda _done, _total: None).to_bytes())


if __name__ == "__main__":
    main()
