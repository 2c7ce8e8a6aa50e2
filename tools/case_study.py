"""The numbers and figures of docs/case-study.md: `python -m tools.case_study SST2_FOLDER`.

The folder holds SST-2 as train.tsv and dev.tsv (label, tab, sentence, under a header). Nothing of it is kept but single
words and numbers. About five minutes on two cores.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from matplotlib.figure import Figure
from scipy import stats
from transformers import AutoTokenizer, BertForSequenceClassification
from transformers.modeling_outputs import SequenceClassifierOutput

import attnscope as ats
from attnscope.analyses.classes import words_that_moved as class_words
from attnscope.analyses.demo import demo_path
from attnscope.analyses.findings import LEAST_TEXTS, SURE, above_noise, word_noise, words_that_moved
from attnscope.plot import changes, palette
from attnscope.plot.files import save_figure
from attnscope.plot.lettering import style
from attnscope.text.labelled import read_labelled

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = DOCS / "figures"
SENTENCES, PROBE, SEED = 400, 4000, 0
MEASURES = ("weight", "attention_norm", "block_norm")
PENALTIES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
LISTED = 12


def sample(path: Path, count: int) -> list[tuple[str, str]]:
    read = read_labelled(path)
    pairs = list(zip(read.labels, read.sentences, strict=True))
    random.Random(SEED).shuffle(pairs)
    return pairs[:count]


class MeanPooledForSequenceClassification(BertForSequenceClassification):
    """A linear classifier on the mean of the token states, which is what the base was trained to give of a text.

    The pooler that BertForSequenceClassification reads was not: its weights are in the file, but nothing asked for
    its answers since the pretraining.
    """

    def forward(self, input_ids: Any = None, attention_mask: Any = None, **options: Any) -> SequenceClassifierOutput:
        states = self.bert(input_ids=input_ids, attention_mask=attention_mask, **options).last_hidden_state
        mask = torch.ones(states.shape[:2]) if attention_mask is None else attention_mask
        real = mask.to(states.dtype)[..., None]
        return SequenceClassifierOutput(logits=self.classifier((states * real).sum(1) / real.sum(1)))


def with_linear_head(labelled: list[tuple[str, str]]) -> tuple[ats.Model, dict[str, float]]:
    """The base with a classifier on its frozen features: what can be read off before anything in it changes.

    How much the classifier's weights are held down is decided by a fifth of the training phrases.
    """
    tokenizer = AutoTokenizer.from_pretrained(demo_path())
    model = MeanPooledForSequenceClassification.from_pretrained(
        demo_path(), num_labels=2, id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1}
    ).eval()
    features: list[torch.Tensor] = []
    head, model.classifier = model.classifier, torch.nn.Identity()
    with torch.no_grad():
        for start in range(0, len(labelled), 64):
            texts = [text for _, text in labelled[start : start + 64]]
            features.append(model(**tokenizer(texts, padding=True, return_tensors="pt")).logits)
    model.classifier = head
    X, y = torch.cat(features), torch.tensor([int(label) for label, _ in labelled])
    held = len(y) // 5
    reached = {penalty: correct(fitted(head, X[held:], y[held:], penalty), X[:held], y[:held]) for penalty in PENALTIES}
    best = max(PENALTIES, key=lambda penalty: reached[penalty])
    fitted(head, X, y, best)
    said = {"phrases": len(y), "penalty": best, "held_out": round(reached[best], 4)}
    return ats.Model(model, tokenizer, name="all-MiniLM-L6-v2 + linear head"), said


def fitted(head: torch.nn.Linear, X: torch.Tensor, y: torch.Tensor, penalty: float) -> torch.nn.Linear:
    """Logistic regression; the penalty is on the squares of its weights, for each example."""
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    optimiser = torch.optim.LBFGS(head.parameters(), max_iter=1000, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        found = torch.nn.functional.cross_entropy(head(X), y) + penalty * head.weight.square().sum()
        found.backward()
        return found

    optimiser.step(loss)
    return head


def correct(head: torch.nn.Linear, X: torch.Tensor, y: torch.Tensor) -> float:
    with torch.no_grad():
        return float((head(X).argmax(-1) == y).float().mean())


def by_layer(values: xr.DataArray) -> list[float]:
    return [round(float(v), 4) for v in (values.mean("head") if "head" in values.dims else values)]


def numbers(found: xr.Dataset) -> dict[str, Any]:
    """What the page says of one measure."""
    gained, lost = words_that_moved(found, LISTED)
    masses = found["category_mass"]
    masses = masses.mean("head") if "head" in masses.dims else masses
    roles = found["head_role"]
    return {
        "jensen_shannon": by_layer(found["jensen_shannon"]),
        "jensen_shannon_interval": [by_layer(found["jensen_shannon_interval"].sel(bound=b)) for b in ("low", "high")],
        "total_variation": by_layer(found["total_variation"]),
        "spearman": by_layer(found["spearman"]),
        "noise_jensen_shannon": float(found["noise_jensen_shannon"].mean()),
        "noise_total_variation": float(found["noise_total_variation"].mean()),
        "times_noise": float(found["jensen_shannon"].mean() / found["noise_jensen_shannon"].mean()),
        "above_noise": [int(above_noise(found).sum()), found["jensen_shannon"].size],
        "edges": {str(where): float(found["edges"].sel(where=where).mean()) for where in found["where"].to_numpy()},
        "categories": {
            str(kind): {str(model): by_layer(masses.sel(model=model, category=kind)) for model in ("base", "tuned")}
            for kind in found["category"].to_numpy()
        },
        "roles_changed": int((roles.sel(model="base") != roles.sel(model="tuned")).sum()),
        "gained": [word(found, place) for place in gained],
        "lost": [word(found, place) for place in lost],
        "word_noise": word_noise(found),
        "summary": found.attrs["summary"].splitlines(),
    }


def word(found: xr.Dataset, place: int) -> dict[str, Any]:
    one = found.isel(word=place)
    names = ("word_mean_change", "word_mean_error", "word_q", "word_effect", "word_texts")
    return {"word": str(one["word"].item())} | {name: round(float(one[name]), 4) for name in names}


def disagreement(weight: xr.Dataset, norm: xr.Dataset) -> tuple[dict[str, Any], xr.Dataset]:
    """Words by their change in weight and in norm: how far the two agree, and where they do not."""
    both = xr.Dataset(
        {f"{name}_{which}": found[name]
         for which, found in (("weight", weight), ("norm", norm))
         for name in ("word_mean_change", "word_q", "word_mean_error")}
    )  # fmt: skip
    both = both.isel(word=np.flatnonzero(weight["word_texts"].to_numpy() >= LEAST_TEXTS))
    x, y = both["word_mean_change_weight"].to_numpy(), both["word_mean_change_norm"].to_numpy()
    sure = (both["word_q_weight"] < SURE).to_numpy() & (both["word_q_norm"] < SURE).to_numpy()
    opposed = sure & (np.sign(x) != np.sign(y))
    names = both["word"].to_numpy()
    said = {
        "words": len(names),
        "spearman": float(stats.spearmanr(x, y).statistic),
        "sure_in_weight": int((both["word_q_weight"] < SURE).sum()),
        "sure_in_norm": int((both["word_q_norm"] < SURE).sum()),
        "sure_in_both": int(sure.sum()),
        "opposed": [[str(names[p]), round(float(x[p]), 3), round(float(y[p]), 3)] for p in np.flatnonzero(opposed)],
    }
    return said, both


def disagreement_figure(both: xr.Dataset) -> Figure:
    """A point for each word: its change in weight across, its change in norm upward."""
    figure = changes.new_page(7.4, 6.2)
    ax = figure.subplots()
    x, y = both["word_mean_change_weight"].to_numpy(), both["word_mean_change_norm"].to_numpy()
    sure = (both["word_q_norm"] < SURE).to_numpy() | (both["word_q_weight"] < SURE).to_numpy()
    ax.axhline(0, color=palette.MUTED, linewidth=0.8)
    ax.axvline(0, color=palette.MUTED, linewidth=0.8)
    ax.plot(x[~sure], y[~sure], "o", color=palette.RULE, markersize=4)
    for chosen, colour in ((sure & (y > 0), palette.TEAL), (sure & (y <= 0), palette.PURPLE)):
        ax.plot(x[chosen], y[chosen], "o", color=colour, markersize=5)
    place_labels(ax, both["word"].to_numpy(), x, y, sure)
    ax.set_xlabel("change in weight, in even shares", labelpad=6, **style(8.5, palette.MUTED))
    ax.set_ylabel("change in attention_norm, in even shares", labelpad=6, **style(8.5, palette.MUTED))
    ax.grid(visible=True, color=palette.RULE, linewidth=0.5)
    ax.tick_params(length=0, labelsize=8)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_title("Where words moved, by weight and by norm", loc="left", pad=12,
                 **style(11, palette.INK, fontweight="bold"))  # fmt: skip
    return figure


def place_labels(ax: Any, names: Any, x: Any, y: Any, sure: Any) -> None:
    """The names of the sure words, the most outlying first, where they do not cover another."""
    spans = np.ptp(x) or 1.0, np.ptp(y) or 1.0
    taken: list[tuple[float, float, float]] = []
    order = sorted(np.flatnonzero(sure), key=lambda p: -np.hypot(x[p] / spans[0], y[p] / spans[1]))
    for place in order:
        left, height, width = x[place] / spans[0], y[place] / spans[1], 0.011 * (len(str(names[place])) + 2)
        if any(abs(height - h) < 0.026 and left < r + w and r < left + width for r, h, w in taken):
            continue
        taken.append((left, height, width))
        ax.annotate(str(names[place]), (x[place], y[place]), (5, 0), textcoords="offset points", va="center",
                    **style(7.5, palette.INK))  # fmt: skip


def classes_of(base: ats.Model, tuned: ats.Model, labelled: list[tuple[str, str]]) -> tuple[dict[str, Any], xr.Dataset]:
    found = ats.compare_classes(base, tuned, labelled)
    up, down = class_words(found, LISTED)
    names = ("toward_correct_change", "toward_correct_error", "toward_correct_q", "toward_correct_effect", "word_texts")

    def one(place: int) -> dict[str, Any]:
        row = found.isel(word=place)
        before_after = [round(float(value), 4) for value in row["toward_correct"]]
        return (
            {"word": str(row["word"].item())}
            | {name: round(float(row[name]), 4) for name in names}
            | {"before_after": before_after}
        )

    return {
        "accuracy": [round(float(value), 4) for value in found["accuracy"]],
        "accuracy_interval": np.round(found["accuracy_interval"].to_numpy().T, 4).tolist(),
        "up": [one(place) for place in up],
        "down": [one(place) for place in down],
        "tested": int(found["toward_correct_q"].notnull().sum()),
        "sure": int((found["toward_correct_q"] < SURE).sum()),
    }, found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.case_study", description=__doc__)
    parser.add_argument("sst2", type=Path, help="the folder with train.tsv and dev.tsv")
    folder = parser.parse_args().sst2
    torch.set_num_threads(1)
    labelled = sample(folder / "dev.tsv", SENTENCES)
    texts = [text for _, text in labelled]
    base, tuned = ats.demo_models()
    FIGURES.mkdir(exist_ok=True)
    said: dict[str, Any] = {"sentences": len(texts), "seed": SEED}
    results: dict[str, xr.Dataset] = {}
    for name in MEASURES:
        results[name] = ats.compare(base, tuned, texts, measure=name, noise="int8", seed=SEED)
        said[name] = numbers(results[name])
        print("\n".join([name, *said[name]["summary"]]))
    said["words"], both = disagreement(results["weight"], results["attention_norm"])
    linear, probe = with_linear_head(sample(folder / "train.tsv", PROBE))
    said["classes"], classes = classes_of(linear, tuned, labelled)
    said["classes"]["probe"] = probe
    figures = {
        "case-study-heads": changes.matrix_figure(results["weight"]),
        "case-study-kinds-weight": changes.category_figure(results["weight"]),
        "case-study-kinds-norm": changes.category_figure(results["attention_norm"]),
        "case-study-words-norm": changes.word_figure(results["attention_norm"], picked(results["attention_norm"])),
        "case-study-words-weight": changes.word_figure(results["weight"], picked(results["weight"])),
        "case-study-disagreement": disagreement_figure(both),
        "case-study-classes": changes.class_figure(classes, [p for side in class_words(classes, LISTED) for p in side]),
    }
    for name, figure in figures.items():
        save_figure(figure, FIGURES / f"{name}.png", overwrite=True, dpi=110)
    text = json.dumps(said, indent=1, ensure_ascii=False)
    (FIGURES / "case-study.json").write_text(text + "\n", encoding="utf-8")


def picked(found: xr.Dataset) -> list[int]:
    gained, lost = words_that_moved(found, LISTED)
    return [*gained, *reversed(lost)]


if __name__ == "__main__":
    main()
