"""What a model decides on a text: all its logits, where it has some that are about one question."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from attnscope.artifacts.answer import Choice, Task
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.models.targets import Target


@dataclass(frozen=True)
class Decision:
    """The likeliest choices, the best first; or why there are none."""

    task: Task
    choices: tuple[Choice, ...] = ()
    position: int | None = None
    """The token whose logits these are, where each has some."""
    reason: str | None = None


def decision(model: Model, inputs: Encoded, most: int = 10) -> Decision:
    """What the model decides, by one plain pass; encoder–decoders go on from the target that is given.

    The answers of question answering have two ends, and token classifiers decide for every token; for both there is
    no list of choices yet.
    """
    none = why_undecided(model, inputs)
    if none is not None:
        return Decision("none", reason=none)
    output = model.rerun(inputs, {})
    target = Target.of(model, inputs, 0, None)
    target(output)
    position = target.positions[0] if target.positions else None
    logits: Tensor = output.logits[0] if position is None else output.logits[0, position]
    values = logits.double().cpu().numpy()
    probability = _probabilities(model, values, position)
    best = [int(place) for place in np.argsort(-values, kind="stable")[:most]]
    choices = tuple(
        Choice(
            name=name,
            label=name if position is None else _readable(model, name, place),
            probability=None if probability is None else float(probability[place]),
            logit=float(values[place]),
        )
        for place, name in zip(best, target.named(best, len(values)), strict=True)
    )
    return Decision(_task(model, inputs, position), choices, position)


def why_undecided(model: Model, inputs: Encoded) -> str | None:
    """Why a model decides no one thing on a text, if so."""
    kind = type(model.hf_model).__name__
    if not model.has_logits:
        return f"{model.name} has no head that decides anything"
    if kind.endswith(("ForQuestionAnswering", "ForQuestionAnsweringSimple")):
        return f"{model.name} answers with a part of the text"
    if kind.endswith("ForTokenClassification"):
        return f"{model.name} decides for every token"
    if model.translates and inputs.target is None:
        return f"{model.name} writes a text; give a second text as what it has written so far"
    if kind.endswith("ForMaskedLM") and not _has_mask(model, inputs):
        mask = getattr(model.tokenizer, "mask_token", None) or "a mask token"
        return f"{model.name} fills gaps; put {mask} where it is to fill one"
    return None


def _has_mask(model: Model, inputs: Encoded) -> bool:
    mask = getattr(model.tokenizer, "mask_token_id", None)
    ids = inputs.inputs.get("input_ids")
    return mask is not None and ids is not None and bool((ids[0] == mask).any())


def _task(model: Model, inputs: Encoded, position: int | None) -> Task:
    if position is None:
        return "classes"
    return "masked" if not model.is_encoder_decoder and _has_mask(model, inputs) else "next"


def _probabilities(
    model: Model, logits: Float[np.ndarray, "choice"], position: int | None
) -> Float[np.ndarray, "choice"] | None:
    """Of choices that exclude each other together 1; of labels that don't, each by itself; of one number none."""
    if position is None and len(logits) == 1:
        return None
    config: Any = model.hf_model.config
    if position is None and getattr(config, "problem_type", None) == "multi_label_classification":
        return 1 / (1 + np.exp(-logits))
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def _readable(model: Model, name: str, index: int) -> str:
    """A token as people read it, with its blank in front."""
    return name if model.tokenizer is None else str(model.tokenizer.decode([index])) or name
