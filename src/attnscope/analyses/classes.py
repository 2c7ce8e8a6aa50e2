"""Which words speak for a class, before and after: contributions to the classes, over labelled sentences."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.attribute import attribute
from attnscope.analyses.compare import WordTally
from attnscope.analyses.pairing import plain_word
from attnscope.errors import AttnscopeError, InputError, UnsupportedModel, unknown
from attnscope.methods.resampling import bootstrap, false_discovery, mean_test
from attnscope.models.model import Model
from attnscope.result import Attribute, dataset, versions
from attnscope.text.words import role_labels, units

Labelled = tuple[str, str]
"""A label, by name or number, and the sentence that has it."""
Progress = Callable[[int, int], None]
CLASS = "class"
WORD = "word"
MODEL = "model"
BOUND = "bound"

LONG_NAMES = {
    "contribution": "what a word adds to a class against the mean of all, in logits, mean over occurrences",
    "contribution_error": "standard error of the contribution over the occurrences",
    "toward_correct": "what a word adds to the class that is correct against the mean of all, mean over occurrences",
    "toward_correct_change": "the same, after less before",
    "toward_correct_error": "standard error of toward_correct_change over the occurrences",
    "toward_correct_q": "p-value of toward_correct_change after Benjamini and Hochberg, over words that occur twice",
    "word_count": "occurrences of the word",
    "accuracy": "share of the sentences that a model puts in the correct class",
    "accuracy_interval": "95 % interval over sentences, by bootstrap",
}


@dataclass
class _Counts:
    """Sums over the occurrences of each word, and which sentences were right."""

    words: dict[str, WordTally] = field(default_factory=dict[str, WordTally])
    right: list[NDArray[np.float64]] = field(default_factory=list[NDArray[np.float64]])

    def add(self, word: str, values: NDArray[np.float64]) -> None:
        one = WordTally(1, values, np.square(values))
        if word in self.words:
            self.words[word].add(one)
        else:
            self.words[word] = one


def compare_classes(
    base: Model | None,
    tuned: Model,
    labelled: str | Path | Iterable[Labelled],
    *,
    progress: Progress | None = None,
) -> xr.Dataset:
    """What each word contributes to each class over labelled sentences, in two classifiers or, with None, in one.

    labelled   (label, sentence) pairs, or the path of a file with label TAB sentence in each line; a label is a
               class's name or number

    A contribution is that of `attribute` to a class's logit, less the mean over all classes, because only differences
    of logits decide. Words count whatever their case. `toward_correct` is the contribution to the class the label
    names; its change says which words came to speak for correct answers.
    """
    models = [model for model in (base, tuned) if model is not None]
    names = [class_names(model) for model in models]
    if names[0] != names[-1]:
        raise InputError(
            f"{models[0].name} has the classes {', '.join(names[0])} and {models[-1].name} {', '.join(names[-1])}; "
            "only classifiers with the same classes can be compared"
        )
    pairs = [(_label(label, names[0]), sentence) for label, sentence in read_labelled(labelled, names[0])]
    seen = sorted({label for label, _ in pairs})
    if len(seen) < 2:
        raise InputError(
            f"all {len(pairs)} sentences have the label {names[0][seen[0]]}; classes can only be told apart with "
            "sentences of at least two"
        )
    counts = _Counts()
    for number, (label, sentence) in enumerate(pairs, start=1):
        try:
            _one(models, names[0], label, sentence, counts)
        except UnsupportedModel:
            raise
        except AttnscopeError as error:
            raise InputError(f"sentence {number}: {error}") from error
        if progress is not None:
            progress(number, len(pairs))
    return _dataset(models, names[0], counts, len(pairs))


def class_names(model: Model) -> tuple[str, ...]:
    """The classes of a classifier of whole texts, in their order."""
    config: Any = model.hf_model.config
    if not type(model.hf_model).__name__.endswith("ForSequenceClassification"):
        raise UnsupportedModel(
            model.name,
            f"it has no head that puts texts into classes ({type(model.hf_model).__name__}), so no word in it speaks "
            "for one; compare two classifiers, or look at one alone with None in the place of the first",
        )
    return tuple(str(config.id2label[number]) for number in range(config.num_labels))


def read_labelled(labelled: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    """Labelled sentences; of a file, a first line whose label is none of the classes is its header."""
    if not isinstance(labelled, str | Path):
        pairs = [(str(label), str(sentence)) for label, sentence in labelled]
    else:
        path = Path(labelled)
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the sentences in {path} can't be read: {error}") from error
        rows = [(number, line.split("\t", 1)) for number, line in enumerate(lines, start=1) if line.strip()]
        short = next((number for number, row in rows if len(row) < 2), None)
        if short is not None:
            raise InputError(f"line {short} of {path} is not of the form label TAB sentence")
        pairs = [(row[0].strip(), row[1].strip()) for _, row in rows]
        known = {*names, *map(str, range(len(names)))}
        pairs = pairs[1:] if pairs and pairs[0][0] not in known else pairs
    if not pairs:
        raise InputError("there is no labelled sentence; give (label, sentence) pairs or a file of them")
    return pairs


def _label(label: str, names: Sequence[str]) -> int:
    if label in names:
        return names.index(label)
    if label.isdecimal() and int(label) < len(names):
        return int(label)
    raise unknown("label", label, [f"{name} ({number})" for number, name in enumerate(names)])


def _one(models: Sequence[Model], names: Sequence[str], label: int, sentence: str, counts: _Counts) -> None:
    """One sentence in each model: for every word its contribution to each class, and last to the correct one."""
    found: list[dict[str, NDArray[np.float64]]] = []
    plain: dict[str, str] = {}
    right: list[float] = []
    for model in models:
        each = [attribute(model, sentence, target=number, unit="word") for number in range(len(names))]
        logits = np.stack([one["contribution"].to_numpy().astype(np.float64) for one in each])
        right.append(float(np.argmax([float(one.attrs["target_value"]) for one in each]) == label))
        against = logits - logits.mean(0)
        columns = np.concatenate([against, against[label][None]]).T
        tokens = model.encode(sentence).source
        assert tokens is not None
        labels = role_labels(tokens)
        found.append(dict(zip(labels, columns, strict=True)))
        firsts = [group[0] for group in units(tokens).groups]
        plain |= {name: plain_word(tokens, first) for name, first in zip(labels, firsts, strict=True)}
    counts.right.append(np.array(right))
    for word in found[0]:
        if word in found[-1]:
            values = np.stack([of_model[word] for of_model in found])
            counts.add(plain[word], np.concatenate([values, values[-1:] - values[:1]]))


def _dataset(models: Sequence[Model], names: Sequence[str], counts: _Counts, sentences: int) -> xr.Dataset:
    tallies = list(counts.words.values())
    number = np.array([tally.count for tally in tallies])
    means = np.stack([tally.total for tally in tallies], -1) / number
    spread = np.maximum(np.stack([tally.squares for tally in tallies], -1) - number * np.square(means), 0)
    unknown: NDArray[np.float64] = np.full(spread.shape, np.nan)
    errors = np.sqrt(np.divide(spread, (number - 1) * number, out=unknown, where=number > 1))
    right = np.stack(counts.right)
    variables = {
        "contribution": ((MODEL, CLASS, WORD), means[:-1, :-1]),
        "contribution_error": ((MODEL, CLASS, WORD), errors[:-1, :-1]),
        "toward_correct": ((MODEL, WORD), means[:-1, -1]),
        "word_count": ((WORD,), number),
        "accuracy": ((MODEL,), right.mean(0)),
        "accuracy_interval": ((BOUND, MODEL), bootstrap(right)),
    }
    if len(models) > 1:
        variables |= {
            "toward_correct_change": ((WORD,), means[-1, -1]),
            "toward_correct_error": ((WORD,), errors[-1, -1]),
            "toward_correct_q": ((WORD,), false_discovery(mean_test(means[-1, -1], errors[-1, -1], number))),
        }
    labels: dict[str, tuple[tuple[str, ...], Sequence[object]]] = {
        MODEL: ((MODEL,), ("base", "tuned") if len(models) > 1 else ("tuned",)),
        CLASS: ((CLASS,), names),
        WORD: ((WORD,), tuple(counts.words)),
        BOUND: ((BOUND,), ("low", "high")),
    }
    attributes: dict[str, Attribute] = versions() | {
        "base": models[0].name if len(models) > 1 else "none",
        "tuned": models[-1].name,
        "sentences": sentences,
        "method": "decomposed",
    }
    return dataset(variables, labels, attributes, LONG_NAMES)
