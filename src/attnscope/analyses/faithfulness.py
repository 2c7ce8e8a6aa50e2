"""Which attribution method to trust on a model: does the decision depend on the tokens that a method names?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.attribution import Answer, Method, Question, lookup
from attnscope.analyses.findings import LEAST_TEXTS
from attnscope.errors import InputError, UnsupportedModel, whole_number
from attnscope.methods.faithfulness import PERCENT, Intervals, beats, highest, intervals, resampled, standing
from attnscope.models.decision import why_undecided
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.models.variants import Variant, maskable, way_of, without
from attnscope.result import Attribute, dataset, joined, versions
from attnscope.text.labelled import classes_of

DEFAULT_METHODS = (
    "decomposed",
    "attnlrp",
    "integrated_gradients",
    "gradient_x_input",
    "rollout_block_norm",
    "rollout_weight",
    "weight",
    "random",
)
CONTROL = "random"
_TEXTS_AT_ONCE = 32
"""Whose variants are batched together."""

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]
"""Called with the number of rankings done, of each text by each method, and the number there are."""


@dataclass(frozen=True)
class Setting:
    """What is asked of every text."""

    model: Model
    methods: tuple[Method, ...]
    target: Any
    percent: tuple[float, ...]
    how: str
    steps: int
    seed: int


@dataclass(frozen=True)
class Case:
    """One text with its rankings: which tokens are taken away, (way, method, fraction, token)."""

    sentence: str
    inputs: Encoded
    position: int | None
    explained: int
    """The class or token that the rankings are about."""
    gone: NDArray[np.bool_]


@dataclass(frozen=True)
class Outcome:
    """What a model made of one text, whole and with tokens taken away."""

    sentence: str
    predicted: int
    explained: int
    probability: float
    left: Floats
    """The probability of the explained class, (way, method, fraction)."""
    kept: NDArray[np.int64]
    """The predicted class, (way, method, fraction)."""


def faithfulness(
    model: Model,
    texts: str | Sequence[str],
    *,
    labels: Sequence[str | int] | None = None,
    methods: str | Sequence[str] = DEFAULT_METHODS,
    target: Any = None,
    percent: Sequence[int | float] = PERCENT,
    how: str | None = None,
    budget: int = 4096,
    samples: int = 2000,
    steps: int = 32,
    seed: int = 0,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Take away the tokens that a method ranks highest, and see how far the probability of the decision falls.

    texts      one text, or several
    labels     the right class of each text, by name or number, for the accuracy that is left
    methods    names of attribution methods (`attnscope.analyses.attribution.ATTRIBUTIONS`); "random" is the control,
               and always among them
    target     the class whose probability is watched; None for the one that is predicted for the whole text
    percent    how many of the tokens are taken away, in per cent; special tokens never are
    how        "mask" puts the mask token in their place, "remove" leaves them out; None masks where there is such a
               token
    budget     the most tokens in one pass
    samples    bootstrap samples of the texts, the same for all methods, so that these compare text by text
    steps      of the integral, for integrated gradients

    The result has `comprehensiveness` and `sufficiency` by method and fraction, and `aopc`, the mean of the
    comprehensiveness over the fractions, each with the bounds of its 95 % interval. `behind_best` is how far a method
    is behind the best one, and `verdict` says in words what that means. One method's numbers are
    `result.sel({"method": "decomposed"})`; the keyword `method=` means something else to xarray.
    """
    sentences = [texts] if isinstance(texts, str) else list(texts)
    if not sentences:
        raise InputError("no text was given")
    if labels is not None and len(labels) != len(sentences):
        raise InputError(f"there are {len(sentences)} texts, but {len(labels)} labels")
    if isinstance(target, tuple | list):
        raise InputError("faithfulness is about the probability of one class; give one target")
    if model.translates:
        raise UnsupportedModel(
            model.name, "it writes a text, token by token; faithfulness is of one decision on a text"
        )
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    chosen = tuple(lookup(name) for name in dict.fromkeys([*names, CONTROL]))
    for what, number, least in (("samples", samples, 1), ("budget", budget, 1), ("seed", seed, 0)):
        whole_number(what, number, least)
    gold = None if labels is None else classes_of([str(label) for label in labels], _classes(model))
    setting = Setting(model, chosen, target, tuple(map(float, percent)), way_of(model.tokenizer, how), steps, seed)
    outcomes, places = _outcomes(setting, sentences, budget, progress)
    right = None if gold is None else np.array([gold[place] for place in places])
    return _dataset(setting, outcomes, right, len(sentences) - len(outcomes), samples)


def _classes(model: Model) -> dict[str, int]:
    """The classes of a classifier, by name."""
    names: dict[Any, Any] = getattr(model.hf_model.config, "id2label", None) or {}
    return {str(name): int(number) for number, name in names.items()}


def _outcomes(
    setting: Setting, sentences: Sequence[str], budget: int, progress: Progress | None
) -> tuple[list[Outcome], list[int]]:
    """What came of each text that has two tokens to rank, and which texts these are."""
    found: list[Outcome] = []
    places: list[int] = []
    for start in range(0, len(sentences), _TEXTS_AT_ONCE):
        cases: list[Case] = []
        for place, sentence in enumerate(sentences[start : start + _TEXTS_AT_ONCE], start):
            case = _case(
                setting, sentence, place, partial(_step, progress, place, len(setting.methods), len(sentences))
            )
            if case is not None:
                cases.append(case)
                places.append(place)
        found += _decided(setting, cases, budget)
    if not found:
        raise InputError("no text has two tokens that could be ranked; give longer ones")
    return found, places


def _step(progress: Progress | None, text: int, methods: int, texts: int, method: int) -> None:
    if progress is not None:
        progress(text * methods + method, texts * methods)


def _case(setting: Setting, sentence: str, place: int, step: Callable[[int], None]) -> Case | None:
    model = setting.model
    inputs = model.encode(sentence)
    eligible = maskable(inputs, model.tokenizer)
    if eligible.sum() < 2:
        return None
    undecided = why_undecided(model, inputs)
    if undecided is not None:
        raise InputError(f"faithfulness is of one decision on a text, but {undecided}")
    question = Question(model, sentence, None, inputs, setting.target, steps=setting.steps, seed=(setting.seed, place))
    answers: list[Answer] = []
    for method in setting.methods:
        answers.append(method.compute(question))
        step(len(answers))
    target = answers[0].target
    gone: list[list[NDArray[np.bool_]]] = [[], []]
    for answer in answers:
        scores = _of_source(answer.found[0].contribution.cpu().numpy(), len(eligible))
        gone[0].append(highest(scores, eligible, setting.percent))
        gone[1].append(eligible & ~gone[0][-1])
    position = target.positions[0] if target.positions else None
    return Case(sentence, inputs, position, target.indices[0], np.array(gone))


def _of_source(scores: NDArray[np.float32], tokens: int) -> NDArray[np.float32]:
    """The scores of a text; where a decoder reads it a second time, shifted by one, with what its tokens do there."""
    again = scores[tokens:]
    if not len(again):
        return scores
    return scores[:tokens] + np.append(again[1:], np.float32(0))


def _decided(setting: Setting, cases: Sequence[Case], budget: int) -> Iterator[Outcome]:
    """Two rounds of passes: what the whole texts are, and what is left of that in their variants."""
    model = setting.model
    whole = [Variant(case.inputs.inputs, case.position) for case in cases]
    explained = [case.explained for case in cases]
    first = model.decide(whole, explained, budget=budget)
    distinct = [_Distinct.of(case) for case in cases]
    variants = [
        without(case.inputs, gone, case.position, setting.how, model.tokenizer)
        for case, one in zip(cases, distinct, strict=True)
        for gone in one.masks
    ]
    classes = [number for number, one in zip(explained, distinct, strict=True) for _ in one.masks]
    found = model.decide(variants, classes, budget=budget)
    start = 0
    for number, (case, one) in enumerate(zip(cases, distinct, strict=True)):
        part = slice(start, start + len(one.masks))
        start = part.stop
        yield Outcome(
            case.sentence,
            int(first.predicted[number]),
            explained[number],
            float(first.probability[number]),
            found.probability[part][one.index],
            found.predicted[part][one.index],
        )


@dataclass(frozen=True)
class _Distinct:
    """The masks of one text without those that come twice: methods often agree on them."""

    masks: NDArray[np.bool_]
    index: NDArray[np.intp]
    """Which of them it is, (way, method, fraction)."""

    @classmethod
    def of(cls, case: Case) -> "_Distinct":
        masks, index = np.unique(case.gone.reshape(-1, case.gone.shape[-1]), axis=0, return_inverse=True)
        return cls(masks, index.reshape(case.gone.shape[:-1]))


def _dataset(
    setting: Setting, outcomes: Sequence[Outcome], right: NDArray[np.intp] | None, skipped: int, samples: int
) -> xr.Dataset:
    whole = np.array([one.probability for one in outcomes])
    left = np.stack([one.left for one in outcomes], -1)  # (way, method, fraction, text)
    fall, rest = whole - left[0], whole - left[1]
    draws = resampled(len(outcomes), samples, setting.seed)
    by_text = fall.mean(1)
    compared = standing(by_text, draws)
    control = [method.name for method in setting.methods].index(CONTROL)
    above = beats(by_text, control, draws)
    same = np.stack([one.kept[0] for one in outcomes], -1) == np.array([one.predicted for one in outcomes])
    curve, line = ("method", "fraction"), ("method",)
    variables: dict[str, Any] = {"text_aopc": (("method", "text"), by_text), "probability": (("text",), whole)}
    for name, dims, found in (
        ("comprehensiveness", curve, intervals(fall, draws)),
        ("sufficiency", curve, intervals(rest, draws)),
        ("agreement", curve, intervals(same.astype(float), draws)),
        ("aopc", line, intervals(by_text, draws)),
        ("mean_sufficiency", line, intervals(rest.mean(1), draws)),
        ("behind_best", line, compared.behind),
        ("above_random", line, above),
    ):
        variables |= _bounded(name, dims, found)
    if right is not None:
        hit = np.stack([one.kept[0] for one in outcomes], -1) == right
        variables |= _bounded("accuracy", curve, intervals(hit.astype(float), draws))
    names = [method.name for method in setting.methods]
    coordinates: dict[str, Any] = {
        "method": (line, names),
        "fraction": (("fraction",), np.array(setting.percent, float) / 100),
        "verdict": (line, _verdicts(names, compared.best, compared.tied, above, len(outcomes))),
        "sentence": (("text",), [one.sentence for one in outcomes]),
    }
    attributes = _attributes(setting, outcomes, skipped, samples)
    attributes |= {"verdict": _verdict(names, compared.best, compared.tied, above, len(outcomes))}
    if right is not None:
        attributes |= {"accuracy": float((np.array([one.predicted for one in outcomes]) == right).mean())}
    return dataset(variables, coordinates, attributes, _NAMES)


_NAMES = {
    "comprehensiveness": "fall of the probability with the highest-ranked tokens taken away; more is better",
    "sufficiency": "fall of the probability with only the highest-ranked tokens left; less is better",
    "aopc": "mean of the comprehensiveness over the fractions",
    "mean_sufficiency": "mean of the sufficiency over the fractions",
    "behind_best": "aopc of the best method less this one's, text by text",
    "above_random": "aopc of this method less that of a random ranking, text by text",
    "agreement": "share of texts whose decision stays with the highest-ranked tokens taken away",
    "accuracy": "share of texts decided rightly with the highest-ranked tokens taken away",
    "probability": "of the explained class, for the whole text",
}


def _bounded(name: str, dims: tuple[str, ...], found: Intervals) -> dict[str, Any]:
    return {name: (dims, found.mean), f"{name}_low": (dims, found.low), f"{name}_high": (dims, found.high)}


def _verdicts(names: Sequence[str], best: int, tied: NDArray[np.bool_], above: Intervals, texts: int) -> list[str]:
    """One for each method, in a few words."""
    words: list[str] = []
    for number, name in enumerate(names):
        if name == CONTROL:
            words.append("the control")
        elif texts < LEAST_TEXTS:
            words.append("too few texts")
        elif above.low[number] <= 0:
            words.append("no better than chance")
        elif number == best:
            words.append("best")
        else:
            words.append("not told from the best" if tied[number] else "behind the best")
    return words


def _verdict(names: Sequence[str], best: int, tied: NDArray[np.bool_], above: Intervals, texts: int) -> str:
    """The sentence to take home."""
    if texts < LEAST_TEXTS:
        on = "this text" if texts == 1 else f"these {texts} texts"
        said = "one text says" if texts == 1 else f"{texts} texts say"
        return f"{names[best]} has the highest AOPC on {on}; {said} nothing about others"
    if names[best] == CONTROL or above.low[best] <= 0:
        return f"no method is told from a random ranking on these {texts} texts: trust none of them here"
    others = [name for number, name in enumerate(names) if tied[number] and number != best and name != CONTROL]
    if others:
        return f"{names[best]} is ahead, but not told from {' and '.join(others)} on these {texts} texts"
    return f"trust {names[best]}: it is ahead of all others on these {texts} texts"


def _attributes(setting: Setting, outcomes: Sequence[Outcome], skipped: int, samples: int) -> dict[str, Attribute]:
    model = setting.model
    return versions() | {
        "model": model.name,
        "methods": joined(method.name for method in setting.methods),
        "how": setting.how,
        "texts": len(outcomes),
        "skipped_texts": skipped,
        "bootstrap_samples": samples,
        "seed": setting.seed,
        "steps": setting.steps,
    }
