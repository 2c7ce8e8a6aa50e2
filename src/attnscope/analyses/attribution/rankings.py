"""Rankings of tokens that come from maps: which rows of a map belong to a decision."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnscope.analyses.attribution.registry import Answer, Question
from attnscope.analyses.whole import rollout
from attnscope.errors import UnsupportedModel
from attnscope.models.attribution import Attribution
from attnscope.models.gradients import sensitivity
from attnscope.models.targets import Target

_READ = 1e-6
"""The least gradient, relative to the largest, that counts as being read."""


def row_of(question: Question, values: NDArray[np.floating[Any]]) -> Answer:
    """The rows of a (query, source) map that belong to the decision; their mean, if there are several."""
    read, target = _read(question)
    found: list[Attribution] = []
    places: list[str] = []
    for one in read:
        rows = torch.nonzero(one.contribution > _READ * one.contribution.max())[:, 0].cpu()
        places.append(_named(rows, len(one.contribution)))
        found.append(Attribution(torch.from_numpy(values[rows.numpy()].mean(0)).float(), 0.0, one.value))
    return Answer(found, target, {"read_from": "; ".join(dict.fromkeys(places))})


def rolled(question: Question, measure: str) -> Answer:
    """The rollout of a measure to the last layer, from the tokens that the head reads."""
    model = question.model
    found = rollout(model, question.text, question.pair, measure=measure, layers=[model.sites()[-1].layer])
    return row_of(question, found["rollout"].to_numpy()[0])


def _read(question: Question) -> tuple[list[Attribution], Target]:
    """How much each number depends on each token's state behind the last layer.

    Which rows of a map belong to a decision is not guessed from the model's class: they are the tokens of the last
    layer's states on which the logit depends at all. That is [CLS] or the first token in most encoder classifiers, the
    last one in decoders, the mask in masked language models, and all tokens where the head takes their mean.
    """
    model = question.model
    if len(model.structure.stacks) > 1:
        raise UnsupportedModel(model.name, "tokens are ranked by maps in models with one stack of layers alone")
    last = model.sites()[-1]
    if last.step is None:
        raise UnsupportedModel(model.name, f"the states behind the last layer were not found: {last.step_reason}")
    return model.attribute(question.inputs, question.target, question.position, by=sensitivity, taps=[last.step.output])


def _named(rows: Tensor, size: int) -> str:
    """The rows a decision is read from, in words; tokens count from 1."""
    if len(rows) == size and size > 1:
        return f"the mean over all {size} tokens"
    if len(rows) == 1:
        return f"token {int(rows[0]) + 1} of {size}"
    return f"the mean over tokens {', '.join(str(int(row) + 1) for row in rows)} of {size}"
