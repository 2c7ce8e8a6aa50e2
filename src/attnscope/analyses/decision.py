"""One decision in one result: where each class's words stand in the deepest layer, and which words decide."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.analyze import analyze
from attnscope.analyses.attribute import Unit, check_complete, check_one, in_units, sources_of
from attnscope.analyses.attribution import Question
from attnscope.analyses.attribution.rankings import row_of
from attnscope.analyses.whole import map_measure
from attnscope.axes import HEAD, SOURCE
from attnscope.errors import InputError, UnsupportedModel, one_of
from attnscope.models.attribution import Attribution
from attnscope.models.model import Model
from attnscope.models.targets import Position
from attnscope.result import Attribute, dataset, versions

CLASS = "class"
Floats = NDArray[np.float64]
_NAMES = {
    "contribution": "what a word adds to the class, in logits",
    "share": "its size as a share of all words' and the biases'",
    "deepest": "what the word's state that enters the deepest layer adds to the class, in logits",
    "deepest_share": "its size as a share of all words' and the biases'",
    "attention": "share of the deepest layer's attention that the decision's own tokens pay to the word",
    "logit": "the class's logit: all contributions and the bias",
    "probability": "of the class, among those of the classifier",
    "bias": "what the bias parameters add to the class, in logits",
    "bias_share": "its size as a share of all words' and the biases'",
    "deepest_bias": "what the bias parameters from the deepest layer on add to the class, in logits",
    "deepest_bias_share": "its size as a share of all words' and the biases'",
    "completeness_error": "what is left over, relative; the larger of that of the words and of the deepest layer",
}


def decision(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    classes: Sequence[Any] | None = None,
    position: Position = None,
    measure: str = "weight",
    unit: Unit = "word",
) -> xr.Dataset:
    """For each class: the words that decide, and what the deepest layer's tokens stand for, side by side.

    classes    classes or tokens by name or number; None for all classes of a classifier, or for the predicted token
    position   the token whose logits are meant, in models that have some for each
    measure    what the deepest layer's attention is measured by: any map, the mean over heads
    unit       "word", or "token"

    `attention` is how much the tokens that the head reads look at each word in the deepest layer, as shares; it is the
    same for all classes. `deepest` takes it apart by class: what the state of each word that enters that layer adds to
    the class's logit, signed. `contribution` goes on through all layers, down to the words themselves. Both add up:
    Σ contribution + bias = Σ deepest + deepest_bias = logit. Shares are of Σ|contribution| + |bias|.
    """
    one_of("unit", unit, ("token", "word"))
    check_one(position)
    names = _classes(model) if classes is None else list(classes)
    if not names:
        raise InputError("no class was named; leave classes out for all of them")
    inputs = model.encode_for_decision(text, pair)
    question = Question(model, text, pair, inputs, names[0], position)
    attention, read_from = _attention(question, map_measure(measure).name)
    last = model.sites()[-1]
    assert last.step is not None  # or its rows would not have been found
    from_words: list[Attribution] = []
    from_deepest: list[Attribution] = []
    labels: list[str] = []
    for name in names:
        (words,), target = model.attribute(inputs, name, position)
        (states,), _ = model.attribute(inputs, name, position, taps=[last.step.residual.tap])
        check_complete(model, [words, states])
        from_words.append(words)
        from_deepest.append(states)
        labels.append(target.names[0])
    sources, _ = sources_of(inputs, len(attention), unit)
    variables = {"attention": ((SOURCE,), in_units(inputs, attention.astype(np.float32), unit))}
    for name, bias, found in (("contribution", "bias", from_words), ("deepest", "deepest_bias", from_deepest)):
        values = in_units(inputs, np.stack([one.contribution.cpu().numpy() for one in found]), unit)
        variables |= _with_shares(name, values, bias, np.array([one.bias for one in found]))
    logits = np.array([one.value for one in from_words])
    errors = [max(one.completeness_error for one in both) for both in zip(from_words, from_deepest, strict=True)]
    variables |= {"logit": ((CLASS,), logits), "completeness_error": ((CLASS,), np.array(errors))}
    if classes is None and len(names) > 1:
        above = np.exp(logits - logits.max())
        variables["probability"] = ((CLASS,), above / above.sum())
    attributes: dict[str, Attribute] = versions() | {
        "model": model.name,
        "unit": unit,
        "measure": measure,
        "deepest_layer": last.layer,
        "read_from": read_from,
        "predicted": labels[int(logits.argmax())],
        "completeness_error": float(max(errors)),
    }
    if isinstance(text, str):
        attributes |= {"text": text} | ({} if pair is None else {"pair": pair})
    coordinates = {CLASS: ((CLASS,), labels), "source_token": ((SOURCE,), sources)}
    return dataset(variables, coordinates, attributes, _NAMES)


def _classes(model: Model) -> list[Any]:
    """All classes of a classifier of whole texts; else the predicted one."""
    config: Any = model.hf_model.config
    is_classifier = type(model.hf_model).__name__.endswith("ForSequenceClassification")
    return list(range(int(config.num_labels))) if is_classifier else [None]


def _attention(question: Question, measure: str) -> tuple[Floats, str]:
    """The share that each token gets of the deepest layer's attention, and from which tokens it comes."""
    model = question.model
    if len(model.structure.stacks) > 1:
        raise UnsupportedModel(model.name, "it has several stacks of layers, so no one layer is the deepest")
    last = model.sites()[-1].layer
    found = analyze(model, question.text, question.pair, measures=measure, layers=[last])[measure]
    answer = row_of(question, (found.mean(HEAD) if HEAD in found.dims else found).to_numpy()[0])
    row = answer.found[0].contribution.numpy().astype(np.float64)
    return row / (row.sum() or 1.0), str(answer.notes["read_from"])


def _with_shares(name: str, values: NDArray[np.float32], bias_name: str, bias: Floats) -> dict[str, Any]:
    """Contributions and biases, with the sizes of both as shares of all."""
    whole = np.abs(values).sum(-1, dtype=np.float64) + np.abs(bias)
    whole = np.where(whole > 0, whole, 1)
    share_name = "share" if name == "contribution" else f"{name}_share"
    return {
        name: ((CLASS, SOURCE), values),
        share_name: ((CLASS, SOURCE), np.abs(values) / whole[:, None]),
        bias_name: ((CLASS,), bias),
        f"{bias_name}_share": ((CLASS,), np.abs(bias) / whole),
    }
