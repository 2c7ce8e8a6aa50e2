"""Fine-tune the demo's second model: a sentiment classifier, as a LoRA adapter on all-MiniLM-L6-v2.

    python -m tools.train_demo --base FOLDER --data FOLDER --out FOLDER [--seeds 1 2 3] [--ranks 64] [--rates 5e-4]

`--data` holds SST-2 as train.tsv, dev.tsv and test.tsv (label TAB sentence, with a header). Every combination of seed,
rank and rate is trained in a process of its own, `--jobs` of them at a time. The one with the best dev accuracy is kept
in `--out`, in half precision, with what all of them reached in runs.json; the test set is looked at but decides
nothing. Word and position embeddings stay as they are, so that whatever changes is what the layers do with them.
"""

import argparse
import itertools
import json
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

LABELS = {0: "negative", 1: "positive"}
LINEAR_LAYERS = ["query", "key", "value", "dense"]
"""By the end of their names: all of attention, feed-forward and pooler."""
Example = tuple[list[int], int]


@dataclass(frozen=True)
class Run:
    """One fine-tuning."""

    seed: int
    rank: int
    rate: float
    epochs: int
    batch: int

    @property
    def name(self) -> str:
        return f"rank{self.rank}-rate{self.rate:g}-seed{self.seed}"


@dataclass(frozen=True)
class Outcome:
    """What came of it: accuracies in per cent."""

    run: Run
    dev: float
    test: float
    best_epoch: int
    seconds: float


def read(path: Path, tokenizer: Any) -> list[Example]:
    """The examples of one file, as token ids and label."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    pairs = [line.split("\t", 1) for line in lines if line.strip()]
    ids = tokenizer([sentence.strip() for _, sentence in pairs], truncation=True, max_length=128)["input_ids"]
    return [(tokens, int(label)) for tokens, (label, _) in zip(ids, pairs, strict=True)]


def batches(examples: Sequence[Example], size: int, shuffle: random.Random | None = None) -> Iterator[list[Example]]:
    """Batches of sentences of similar length, in random order where they are for training."""
    noise = (lambda: shuffle.random() * 4) if shuffle else (lambda: 0.0)
    ordered = sorted(examples, key=lambda example: len(example[0]) + noise())
    found = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    if shuffle:
        shuffle.shuffle(found)
    yield from found


def tensors(batch: Sequence[Example], device: torch.device) -> dict[str, torch.Tensor]:
    longest = max(len(ids) for ids, _ in batch)
    ids = torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids, _ in batch], device=device)
    mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in batch], device=device)
    return {"input_ids": ids, "attention_mask": mask}


@torch.no_grad()
def accuracy(model: Any, examples: Sequence[Example], device: torch.device) -> float:
    model.eval()
    right = 0
    for batch in batches(examples, 256):
        found = model(**tensors(batch, device)).logits.argmax(-1).tolist()
        right += sum(label == answer for (_, label), answer in zip(batch, found, strict=True))
    return 100 * right / len(examples)


def train(base: Path, data: Path, out: Path, run: Run) -> Outcome:
    """Fine-tune once; the adapter of the best epoch is left in a folder under `out`."""
    began = time.monotonic()
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = AutoTokenizer.from_pretrained(base)
    sets = {name: read(data / f"{name}.tsv", tokenizer) for name in ("train", "dev", "test")}
    plain = AutoModelForSequenceClassification.from_pretrained(
        base, dtype=torch.float32, id2label=LABELS, label2id={name: number for number, name in LABELS.items()}
    )
    settings = LoraConfig(
        task_type="SEQ_CLS", r=run.rank, lora_alpha=run.rank, lora_dropout=0.1, target_modules=LINEAR_LAYERS
    )
    model = get_peft_model(plain, settings).to(device)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=run.rate, weight_decay=0.01)
    steps = run.epochs * -(-len(sets["train"]) // run.batch)
    schedule = get_linear_schedule_with_warmup(optimizer, steps // 20, steps)
    shuffle = random.Random(run.seed)
    best, best_epoch = 0.0, 0
    for epoch in range(1, run.epochs + 1):
        model.train()
        for batch in batches(sets["train"], run.batch, shuffle):
            labels = torch.tensor([label for _, label in batch], device=device)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = model(**tensors(batch, device), labels=labels).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            schedule.step()
        reached = accuracy(model, sets["dev"], device)
        print(f"{run.name} epoch {epoch}: dev {reached:.2f} %", flush=True)
        if reached > best:
            best, best_epoch = reached, epoch
            model.save_pretrained(out / run.name)
            test = accuracy(model, sets["test"], device)
    return Outcome(run, best, test, best_epoch, time.monotonic() - began)


def keep(folder: Path, out: Path) -> None:
    """The adapter in half precision, with the base model's public name and the names of the classes."""
    weights = load_file(folder / "adapter_model.safetensors")
    save_file({name: tensor.half() for name, tensor in weights.items()}, out / "adapter_model.safetensors")
    settings = json.loads((folder / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = "sentence-transformers/all-MiniLM-L6-v2"
    (out / "adapter_config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
    names = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "id2label": {str(number): name for number, name in LABELS.items()},
        "label2id": {name: number for number, name in LABELS.items()},
    }
    (out / "config.json").write_text(json.dumps(names, indent=2, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("base", "data", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--ranks", type=int, nargs="+", default=[64])
    parser.add_argument("--rates", type=float, nargs="+", default=[5e-4])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    work = given.out / "runs"
    combinations = itertools.product(given.ranks, given.rates, given.seeds)
    runs = [Run(seed, rank, rate, given.epochs, given.batch) for rank, rate, seed in combinations]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        outcomes = [pool.submit(train, given.base, given.data, work, run) for run in runs]
        found = [outcome.result() for outcome in outcomes]
    found.sort(key=lambda outcome: -outcome.dev)
    (given.out / "runs.json").write_text(json.dumps([asdict(outcome) for outcome in found], indent=2) + "\n")
    for outcome in found:
        print(f"{outcome.run.name}: dev {outcome.dev:.2f} %, test {outcome.test:.2f} %, epoch {outcome.best_epoch}")
    keep(work / found[0].run.name, given.out)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
