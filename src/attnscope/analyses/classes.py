"""Which words speak for a class, before and after: contributions to the classes, over labelled sentences."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.attribute import attribute
from attnscope.analyses.findings import LEAST_TEXTS, SURE, extremes
from attnscope.analyses.pairing import plain_word
from attnscope.errors import AttnscopeError, InputError, UnsupportedModel
from attnscope.methods.occurrences import Occurrences, added, by_name, means
from attnscope.methods.resampling import bootstrap, false_discovery, mean_test
from attnscope.models.model import Model
from attnscope.result import Attribute, dataset, versions
from attnscope.text.labelled import classes_of, read_labelled
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
    "contribution_error": "standard error of the contribution, over sentences",
    "toward_correct": "what a word adds to the class that is correct against the mean of all, mean over occurrences",
    "toward_correct_change": "the same, after less before",
    "toward_correct_error": "standard error over sentences: of toward_correct_change, or of one model alone",
    "toward_correct_q": "p-value of the same after Benjamini and Hochberg, over words in more than one sentence",
    "toward_correct_effect": "the same in standard deviations between sentences",
    "word_texts": "sentences in which the word occurs",
    "word_count": "occurrences of the word",
    "accuracy": "share of the sentences that a model puts in the correct class",
    "accuracy_interval": "95 % interval over sentences, by bootstrap",
}


@dataclass
class _Counts:
    """Sums over the occurrences of each word, and which sentences were right."""

    words: dict[str, Occurrences] = field(default_factory=dict[str, Occurrences])
    right: list[NDArray[np.float64]] = field(default_factory=list[NDArray[np.float64]])


def compare_classes(
    base: Model | None,
    tuned: Model,
    labelled: str | Path | Iterable[Labelled],
    *,
    progress: Progress | None = None,
) -> xr.Dataset:
    """What each word contributes to each class over labelled sentences, in two classifiers or, with None, in one.

    labelled   (label, sentence) pairs, or the path of a file with a label, a tab and a sentence in each line, or the
               other way round under a header that says so; a label is a class's name or number

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
    given = _read(labelled)
    pairs = list(zip(check_labels(given, names[0]), [sentence for _, sentence in given], strict=True))
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
    if not has_classes(model):
        raise UnsupportedModel(
            model.name,
            f"it has no head that puts texts into classes ({type(model.hf_model).__name__}), so no word in it speaks "
            "for one; compare two classifiers, or look at one alone with None in the place of the first",
        )
    return tuple(str(config.id2label[number]) for number in range(config.num_labels))


def has_classes(model: Model) -> bool:
    """Whether a model puts whole texts into classes."""
    return type(model.hf_model).__name__.endswith("ForSequenceClassification")


def check_labels(labelled: Sequence[Labelled], names: Sequence[str]) -> list[int]:
    """The numbers of the classes that sentences have; there must be at least two."""
    numbers = classes_of([label for label, _ in labelled], {name: number for number, name in enumerate(names)})
    if len(set(numbers)) < 2:
        raise InputError(
            f"all {len(numbers)} sentences have the label {names[numbers[0]]}; classes can only be told apart with "
            "sentences of at least two"
        )
    return numbers


def _read(labelled: str | Path | Iterable[Labelled]) -> list[Labelled]:
    """Labelled sentences, from wherever they come."""
    if isinstance(labelled, str | Path):
        read = read_labelled(Path(labelled))
        return list(zip(read.labels, read.sentences, strict=True))
    given = [(str(label), str(sentence)) for label, sentence in labelled]
    if not given:
        raise InputError("there is no labelled sentence; give (label, sentence) pairs or a file of them")
    return given


def words_that_moved(result: xr.Dataset, count: int) -> tuple[list[int], list[int]]:
    """The places of words that came to speak most for the correct class, and most against it, beyond chance.

    Of one model alone, those that speak for it and against it.
    """
    name = "toward_correct_change" if "toward_correct_change" in result else "toward_correct"
    values = result[name].to_numpy().reshape(-1)
    sure = (result["word_texts"].to_numpy() >= LEAST_TEXTS) & (result["toward_correct_q"].to_numpy() < SURE)
    return extremes(values, sure, count)


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
    both = [word for word in found[0] if word in found[-1]]
    values = np.array([[of_model[word] for of_model in found] for word in both])
    values = np.concatenate([values, values[:, -1:] - values[:, :1]], 1)
    added(counts.words, by_name([plain[word] for word in both], values))


def _dataset(models: Sequence[Model], names: Sequence[str], counts: _Counts, sentences: int) -> xr.Dataset:
    words = means(list(counts.words.values()))
    mean, error = words.mean, words.error
    right = np.stack(counts.right)
    variables = {
        "contribution": ((MODEL, CLASS, WORD), mean[:-1, :-1]),
        "contribution_error": ((MODEL, CLASS, WORD), error[:-1, :-1]),
        "toward_correct": ((MODEL, WORD), mean[:-1, -1]),
        "word_count": ((WORD,), words.count),
        "word_texts": ((WORD,), words.texts),
        "accuracy": ((MODEL,), right.mean(0)),
        "accuracy_interval": ((BOUND, MODEL), bootstrap(right)),
    }
    # Of two models what counts is the change, of one what it is.
    tested = mean[-1, -1], error[-1, -1]
    if len(models) > 1:
        variables |= {"toward_correct_change": ((WORD,), tested[0])}
    else:
        tested = mean[0, -1], error[0, -1]
    variables |= {
        "toward_correct_error": ((WORD,), tested[1]),
        "toward_correct_q": ((WORD,), false_discovery(mean_test(*tested, words.texts))),
        "toward_correct_effect": ((WORD,), words.effect[-1 if len(models) > 1 else 0, -1]),
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
