"""Before and after: how attention changed from one model to another, where, for which words, and beyond chance."""

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]

from attnscope.analyses.analyze import UNITS, Unit
from attnscope.analyses.findings import sentences
from attnscope.analyses.pairing import (
    Item,
    Match,
    Reader,
    Reading,
    chosen_stack,
    in_common,
    match,
    received,
    same_tokenizer,
)
from attnscope.analyses.whole import map_measure
from attnscope.axes import CATEGORY, HEAD, LAYER
from attnscope.errors import AttnscopeError, InputError, UnsupportedModel, one_of, whole_number
from attnscope.measures import Measure
from attnscope.methods.comparison import DIFFERENCES, category_mass, differences, entropy, offset_mass
from attnscope.methods.occurrences import Occurrences, added, by_name, means
from attnscope.methods.resampling import DRAWS, bootstrap, false_discovery, mean_test, paired_test
from attnscope.models.model import Model
from attnscope.result import Attribute, dataset, versions
from attnscope.text.categories import Scheme
from attnscope.text.labelled import lines_of
from attnscope.text.labels import unique
from attnscope.text.roles import ROLES, role_of

ROLE = "role"
WORD = "word"
BOUND = "bound"
WHERE = "where"
MODEL = "model"
INT8 = "int8"
Progress = Callable[[int, int], None]
"""Called with the number of texts done and the number there are."""
Array = NDArray[np.float64]
Summary = dict[str, Array]
"""What is kept of a text: a few numbers for each layer and head."""
_AHEAD = 2
"""Texts whose maps may be in memory at once, so that the next is read while the last is summed up."""

LONG_NAMES = {
    "jensen_shannon": "Jensen–Shannon divergence of the rows, in nats; 0 where nothing changed, at most ln 2",
    "total_variation": "share of a row that moved to other keys; 0 where nothing changed, at most 1",
    "cosine": "cosine similarity of the rows; 1 where nothing changed",
    "spearman": "rank correlation of the rows; 1 where the order of the keys stayed",
    "kernel_alignment": "centred kernel alignment of the maps; 1 where queries are alike in the same way",
    "edges": "keys of a query that reach the threshold in one model only or in both, mean over queries",
    "role_mass": "mean share that goes to the token itself, its neighbours and kinds of tokens",
    "entropy": "mean entropy of the rows, in nats",
    "head_role": "what a head is called by Clark's thresholds on these masses",
    "category_mass": "share that the keys of a category get, mean over queries",
    "word_change": "what a word gets, after less before, in even shares",
    "word_error": "standard error of word_change, over texts",
    "word_mean_change": "word_change, mean over layers",
    "word_mean_error": "standard error of word_mean_change, over texts",
    "word_q": "p-value of word_mean_change after Benjamini and Hochberg, over all words in more than one text",
    "word_effect": "word_mean_change in standard deviations between texts",
    "word_count": "occurrences of the word",
    "word_texts": "texts in which the word occurs",
    "noise_jensen_shannon": "the same between the base and the model that shows what noise does",
    "noise_total_variation": "the same between the base and the model that shows what noise does",
    "noise_word_mean_change": "the same between the base and the model that shows what noise does",
}


@dataclass
class Tally:
    """What is known after some texts; two of them add up to that of all their texts, in their order."""

    summaries: list[Summary] = field(default_factory=list[Summary])
    words: dict[str, Occurrences] = field(default_factory=dict[str, Occurrences])
    noise_words: dict[str, Occurrences] = field(default_factory=dict[str, Occurrences])
    categories: tuple[str, ...] = ()
    error: float = 0.0

    def add(self, other: "Tally") -> None:
        """Take in what is known of other texts."""
        if self.categories and other.categories and self.categories != other.categories:
            raise InputError(f"the texts have different categories: {self.categories} and {other.categories}")
        self.summaries += other.summaries
        self.categories = self.categories or other.categories
        self.error = max(self.error, other.error)
        added(self.words, other.words)
        added(self.noise_words, other.noise_words)

    def stacked(self, name: str) -> Array:
        """One number of every text: (text, …)."""
        return np.stack([summary[name] for summary in self.summaries])


def compare(
    base: Model,
    tuned: Model,
    texts: str | Path | Iterable[Item],
    *,
    measure: str = "weight",
    threshold: float | int = 0.1,
    unit: Unit = "token",
    stack: str | None = None,
    categories: str | Scheme = "auto",
    noise: Model | Literal["int8"] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Compare what each query takes from each key in two models, over one text or many.

    texts      a text, a list of texts (or of pairs of texts), or the path of a file with one in each line
    measure    any that is a map; its rows are taken as shares
    threshold  the share of a row from which on a key counts as joined to its query, for the edges
    noise      what a change must exceed to be one: "int8" compares the base with itself, its weights rounded to
               int8; a Model compares it with another one, such as the same training from another seed
    draws      of the bootstrap, whose intervals are over texts

    Values are of (layer, head), or of (layer) for measures of all heads together. Models that cut texts differently
    are compared by words, and models of another depth or number of heads by the layers and heads most like each
    other; the attributes say so. Only a few numbers of each text are kept.
    """
    chosen = map_measure(measure)
    _check(base, tuned, threshold, unit, draws, seed, noise)
    items = read_texts(texts)
    paired = not isinstance(items[0], str)
    name = chosen_stack(base, tuned, stack, paired)
    third = _noise_model(base, noise)
    alike = same_tokenizer(base, tuned) and (third is None or same_tokenizer(base, third))
    by_word = unit == "word" or not alike
    read = partial(Reader, measure=chosen, stack=name, by_word=by_word, categories=categories)
    first, second = read(base), read(tuned)
    found = match(first, second, items)
    others = None if third is None else (read(third), match(first, read(third), items))
    tally = Tally()
    for number, part in enumerate(_parts(first, second, found, others, items, float(threshold)), start=1):
        tally.add(part)
        if progress is not None:
            progress(number, len(items))
    attributes: dict[str, Attribute] = versions() | {
        "base": base.name,
        "tuned": tuned.name,
        "measure": chosen.name,
        "stack": name,
        "unit": "word" if by_word else "token",
        "aligned": "words" if by_word else "tokens",
        "tokenizers": "alike" if alike else "different",
        "layer_match": found.by,
        "texts": len(items),
        "threshold": float(threshold),
        "noise": "none" if third is None else third.name,
        "draws": draws,
        "seed": seed,
        "reconstruction_error": tally.error,
    }
    if len(items) == 1 and isinstance(items[0], str):
        attributes["text"] = items[0]
    numbers = [site.layer for site in base.sites(name)], [site.layer for site in tuned.sites(name)]
    return _dataset(tally, chosen, found, numbers, attributes)


def read_texts(texts: Any) -> list[Item]:
    """The texts that were given, as a list; a path is read line by line."""
    if isinstance(texts, Path):
        try:
            texts = lines_of(texts.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the texts in {texts} can't be read: {error}") from error
    items: list[Any] = [texts] if isinstance(texts, str) else list(texts)
    if not items:
        raise InputError("there is no text to compare the models on; give at least one")
    if all(isinstance(item, str) for item in items):
        return items
    return [_pair(item) for item in items]


def _pair(item: Any) -> tuple[str, str]:
    if not isinstance(item, str):
        with contextlib.suppress(TypeError, ValueError):
            source, target = item
            if isinstance(source, str) and isinstance(target, str):
                return source, target
    raise InputError("texts are all strings, or all pairs of strings")


def _check(base: Any, tuned: Any, threshold: Any, unit: str, draws: Any, seed: Any, noise: Any) -> None:
    for which, model in (("first", base), ("second", tuned)):
        if not isinstance(model, Model):
            raise InputError(f"the {which} argument is an attnscope Model, not {type(model).__name__}")
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise InputError(f"the threshold must be a number from 0 to 1, a share of a row, not {threshold!r}")
    one_of("unit", unit, UNITS)
    whole_number("draws", draws, 100)
    whole_number("seed", seed, 0)
    if isinstance(noise, str):
        one_of("noise", noise, (INT8,))
    elif noise is not None and not isinstance(noise, Model):
        raise InputError(f'noise is "int8" or an attnscope Model, not {type(noise).__name__}')


def _noise_model(base: Model, noise: Model | str | None) -> Model | None:
    if isinstance(noise, str):
        from attnscope.models.quantise import quantised

        return quantised(base)
    return noise


def _parts(
    first: Reader,
    second: Reader,
    found: Match,
    others: tuple[Reader, Match] | None,
    items: Sequence[Item],
    threshold: float,
) -> Iterable[Tally]:
    """A tally for each text; where a core is free, one is summed up while the next goes through the models."""
    pending: list[Future[Tally]] = []
    with _worker() as submit:
        for number, item in enumerate(items, start=1):
            try:
                one = first(item)
                readings = [one, *(reader(item, one.units) for reader in (second, *(others or ())[:1]))]
                aligned = in_common(readings[0], readings[1], (first.model.name, second.model.name))
                noisy = None
                if others is not None:
                    noisy = in_common(readings[0], readings[2], (first.model.name, others[0].model.name))
            except UnsupportedModel:
                raise
            except AttnscopeError as error:
                raise InputError(f"text {number}: {error}" if len(items) > 1 else str(error)) from error
            matches = found, None if others is None else others[1]
            single = len(items) == 1
            pending.append(submit(partial(one_text, aligned, noisy, matches, threshold, single=single)))
            if len(pending) >= _AHEAD:
                yield pending.pop(0).result()
        for future in pending:
            yield future.result()


@contextlib.contextmanager
def _worker() -> Generator[Callable[[Callable[[], Tally]], "Future[Tally]"]]:
    """Works on tallies beside the models where these leave a core free, and else at once, when it is asked to.

    Numpy's products get one thread: with more they and those of the models wait for each other.
    """
    with threadpool_limits(1, user_api="blas"):
        if torch.get_num_threads() >= (os.cpu_count() or 1):
            yield _at_once
        else:
            with ThreadPoolExecutor(1) as worker:
                yield worker.submit


def _at_once(work: Callable[[], Tally]) -> "Future[Tally]":
    done: Future[Tally] = Future()
    done.set_result(work())
    return done


def one_text(
    aligned: tuple[Reading, Reading],
    noisy: tuple[Reading, Reading] | None,
    matches: tuple[Match, Match | None],
    threshold: float,
    *,
    single: bool = True,
) -> Tally:
    """What two readings of a text say."""
    before, after = aligned
    p, q = before.shares, matches[0].apply(after.shares)
    summary = differences(p, q, threshold)
    for name, compute in (("role_mass", _role_mass), ("category_mass", _category_mass), ("entropy", _entropy)):
        summary[name] = np.stack([compute(before, p), compute(before, q)]).astype(np.float64)
    tally = Tally(
        [summary], _by_word(before, p, q, single), {}, before.units.categories.names, max(before.error, after.error)
    )
    if noisy is not None and matches[1] is not None:
        p, q = noisy[0].shares, matches[1].apply(noisy[1].shares)
        floor = differences(p, q, threshold)
        summary |= {f"noise_{name}": floor[name] for name in ("jensen_shannon", "total_variation")}
        tally.noise_words = _by_word(noisy[0], p, q, single)
    return tally


def _by_word(reading: Reading, p: NDArray[Any], q: NDArray[Any], single: bool) -> dict[str, Occurrences]:
    """What each word gets in the second less what it gets in the first: in each layer, and last the mean over layers.

    In a single text, words that are there twice are two.
    """
    units = reading.units
    change = received(q, units.pieces) - received(p, units.pieces)
    change = np.concatenate([change, change.mean(0, keepdims=True)])
    return by_name(units.labels if single else units.words, change.T)


def _role_mass(reading: Reading, shares: NDArray[Any]) -> NDArray[Any]:
    neighbours = [offset_mass(shares, lag) for lag in (0, -1, 1)]
    kinds = category_mass(shares, reading.units.kinds)
    return np.concatenate([np.stack(neighbours, -1), kinds], -1)


def _category_mass(reading: Reading, shares: NDArray[Any]) -> NDArray[Any]:
    return category_mass(shares, reading.units.categories.masks)


def _entropy(_reading: Reading, shares: NDArray[Any]) -> NDArray[Any]:
    return entropy(shares)


@dataclass
class _Variables:
    """The variables of a result: no head axis where the measure has none, intervals where there are several texts."""

    has_heads: bool
    several: bool
    draws: int
    seed: int
    found: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = field(
        default_factory=dict[str, tuple[tuple[str, ...], NDArray[Any]]]
    )

    def put(self, name: str, array: NDArray[Any], before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> None:
        """A variable, whose axes layer and head stand between others."""
        values = array if self.has_heads else np.take(array, 0, axis=len(before) + 1)
        self.found[name] = ((*before, LAYER, *((HEAD,) if self.has_heads else ()), *after), values)

    def put_mean(self, name: str, values: Array) -> None:
        """The mean over texts, and its interval."""
        self.put(name, _mean(values))
        if self.several:
            self.put(f"{name}_interval", bootstrap(values, draws=self.draws, seed=self.seed), (BOUND,))

    def put_change(self, name: str, change: Array, after: tuple[str, ...] = ()) -> None:
        """The mean of paired differences, and whether it is more than chance."""
        test = paired_test(change, draws=self.draws, seed=self.seed)
        self.put(name, test.mean, (), after)
        if self.several:
            self.put(f"{name}_interval", test.interval, (BOUND,), after)
            self.put(f"{name}_q", test.q, (), after)
            self.put(f"{name}_effect", test.effect, (), after)


def _dataset(
    tally: Tally, measure: Measure, found: Match, numbers: tuple[list[int], list[int]], attributes: dict[str, Attribute]
) -> xr.Dataset:
    several = len(tally.summaries) > 1
    variables = _Variables(HEAD in measure.dims, several, int(attributes["draws"]), int(attributes["seed"]))
    for name in DIFFERENCES:
        variables.put_mean(name, tally.stacked(name))
    variables.put("edges", _mean(tally.stacked("edges")), (), (WHERE,))
    for name, axis in (("role_mass", (ROLE,)), ("category_mass", (CATEGORY,)), ("entropy", ())):
        values = tally.stacked(name)
        variables.put(name, _mean(values), (MODEL,), axis)
        variables.put_change(f"{name.removesuffix('_mass')}_change", values[:, 1] - values[:, 0], axis)
    variables.put("head_role", _roles(tally), (MODEL,))
    if "noise_jensen_shannon" in tally.summaries[0]:
        for name in ("noise_jensen_shannon", "noise_total_variation"):
            variables.put(name, _mean(tally.stacked(name)))
        excess = tally.stacked("jensen_shannon") - tally.stacked("noise_jensen_shannon")
        variables.put_change("above_noise", excess)
    variables.found |= _words(tally)
    labels: dict[str, tuple[tuple[str, ...], Sequence[object]]] = {
        LAYER: ((LAYER,), numbers[0]),
        HEAD: ((HEAD,), list(range(1, found.heads.shape[1] + 1))),
        ROLE: ((ROLE,), ROLES),
        CATEGORY: ((CATEGORY,), tally.categories),
        MODEL: ((MODEL,), ("base", "tuned")),
        WHERE: ((WHERE,), ("base", "tuned", "both")),
        BOUND: ((BOUND,), ("low", "high")),
        WORD: ((WORD,), unique(tally.words)),
    }
    if not found.is_plain:
        labels["tuned_layer"] = ((LAYER,), [numbers[1][place] for place in found.layers])
        if variables.has_heads:
            variables.found["tuned_head"] = ((LAYER, HEAD), found.heads + 1)
    result = dataset(variables.found, labels, attributes, _long_names(variables.found))
    result.attrs["summary"] = "\n".join(sentences(result))
    return result


def _roles(tally: Tally) -> NDArray[np.object_]:
    """What each head is called, in both models."""
    masses, entropies = _mean(tally.stacked("role_mass")), _mean(tally.stacked("entropy"))
    roles = np.empty(entropies.shape, dtype=object)
    for place in np.ndindex(entropies.shape):
        roles[place] = role_of(masses[place], float(entropies[place]))
    return roles


def _long_names(variables: Iterable[str]) -> dict[str, str]:
    endings = {
        "_interval": "95 % interval of the mean over texts, by bootstrap",
        "_q": "p-value of the paired test after Benjamini and Hochberg, over all entries",
        "_effect": "Cohen's d of the paired differences",
        "_change": "after less before",
    }
    known = {name: long for name in variables for end, long in endings.items() if name.endswith(end)}
    return known | LONG_NAMES | {"above_noise": "Jensen–Shannon divergence less that of the noise"}


def _words(tally: Tally) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
    words = means(list(tally.words.values()))
    found: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {
        "word_change": ((LAYER, WORD), words.mean[:-1]),
        "word_error": ((LAYER, WORD), words.error[:-1]),
        "word_mean_change": ((WORD,), words.mean[-1]),
        "word_mean_error": ((WORD,), words.error[-1]),
        "word_count": ((WORD,), words.count),
        "word_texts": ((WORD,), words.texts),
    }
    if tally.noise_words:
        silent = dict.fromkeys(tally.words, np.nan) | {
            word: float(one.total[-1] / one.count) for word, one in tally.noise_words.items()
        }
        found["noise_word_mean_change"] = ((WORD,), np.array([silent[word] for word in tally.words]))
    if len(tally.summaries) > 1:
        p = mean_test(words.mean[-1], words.error[-1], words.texts)
        found["word_q"] = ((WORD,), false_discovery(p))
        found["word_effect"] = ((WORD,), words.effect[-1])
    return found


def _mean(values: Array) -> Array:
    """The mean over texts that have a number."""
    known = ~np.isnan(values)
    total: Array = np.where(known, values, 0).sum(0)
    count = known.sum(0)
    unknown: Array = np.full(values.shape[1:], np.nan)
    return np.divide(total, count, out=unknown, where=count > 0)
