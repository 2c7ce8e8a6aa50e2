"""Texts with some of their tokens masked or removed, and what a model makes of many of them at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from attnscope.errors import InputError, UnsupportedModel, one_of
from attnscope.models.dispatch import call
from attnscope.models.encode import Encoded, collate

HOW = ("mask", "remove")


@dataclass(frozen=True)
class Variant:
    """One text as the model is to read it, and the token whose logits decide (None: the text has one set)."""

    inputs: dict[str, Tensor]
    position: int | None

    @property
    def length(self) -> int:
        return self.inputs["input_ids"].shape[1]


@dataclass(frozen=True)
class Decisions:
    """What a model decided on each of several variants."""

    probability: NDArray[np.float64]
    """Of the class asked about."""
    predicted: NDArray[np.int64]
    """The class with the highest."""


def way_of(tokenizer: PreTrainedTokenizerBase | None, how: str | None) -> str:
    """How tokens are taken away: masked where the tokenizer has a token for it, else removed."""
    mask = getattr(tokenizer, "mask_token_id", None)
    if how is None:
        return "remove" if mask is None else "mask"
    one_of("way to take tokens away", how, HOW)
    if how == "mask" and mask is None:
        raise InputError("the tokenizer has no mask token; take tokens away with how='remove'")
    return how


def maskable(inputs: Encoded, tokenizer: PreTrainedTokenizerBase | None) -> NDArray[np.bool_]:
    """The tokens that may be taken away: none that the tokenizer added, and no mask that is to be filled."""
    if inputs.source is None or "input_ids" not in inputs.inputs:
        raise InputError("tokens are masked in texts; this input is none")
    special = np.array(inputs.source.special, bool)
    mask = getattr(tokenizer, "mask_token_id", None)
    return ~special & (np.array(inputs.source.ids) != mask)


def without(
    inputs: Encoded,
    gone: NDArray[np.bool_],
    position: int | None,
    how: str,
    tokenizer: PreTrainedTokenizerBase | None,
) -> Variant:
    """The text with some tokens masked or removed."""
    if how == "mask":
        ids = inputs.inputs["input_ids"].clone()
        mask: Any = getattr(tokenizer, "mask_token_id", None)
        ids[0, torch.from_numpy(gone).to(ids.device)] = mask
        return Variant(inputs.inputs | {"input_ids": ids}, position)
    kept = torch.from_numpy(np.flatnonzero(~gone))
    length = len(gone)
    shorter = {
        name: tensor[:, kept.to(tensor.device)] if tensor.ndim == 2 and tensor.shape[1] == length else tensor
        for name, tensor in inputs.inputs.items()
    }
    return Variant(shorter, None if position is None else max(0, int((~gone[: position + 1]).sum()) - 1))


def decide(
    model: PreTrainedModel, variants: Sequence[Variant], classes: Sequence[int], pad: int | None, budget: int
) -> Decisions:
    """The probability of each variant's class, many variants in a pass: at most `budget` tokens, padding included.

    Variants go in by length, so that little is padded. Without a padding token each length has passes of its own.
    """
    probability, predicted = np.empty(len(variants)), np.empty(len(variants), np.int64)
    with torch.no_grad():
        single = _reads_padding(model) and model.config.get_text_config().pad_token_id is None
        for batch in _batches(variants, 1 if single else budget, mixed=pad is not None):
            logits = _logits(model, [variants[place] for place in batch], pad or 0)
            chosen = torch.tensor([classes[place] for place in batch], device=logits.device)
            probability[batch] = logits.softmax(-1).gather(1, chosen[:, None])[:, 0].cpu().numpy()
            predicted[batch] = logits.argmax(-1).cpu().numpy()
    return Decisions(probability, predicted)


def _reads_padding(model: PreTrainedModel) -> bool:
    """Whether a model looks for the last token by the padding token, and can't batch without one."""
    return type(model).__name__.endswith("ForSequenceClassification")


def _batches(variants: Sequence[Variant], budget: int, *, mixed: bool) -> Iterator[list[int]]:
    """Places of variants in batches, the longest first."""
    batch: list[int] = []
    for place in sorted(range(len(variants)), key=lambda place: -variants[place].length):
        longest = variants[batch[0]].length if batch else 0
        if batch and (longest * (len(batch) + 1) > budget or not (mixed or variants[place].length == longest)):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _logits(model: PreTrainedModel, batch: Sequence[Variant], pad: int) -> Tensor:
    """One row of logits for each variant."""
    output = call(model, _collated(batch, pad))
    logits = getattr(output, "logits", None)
    if not isinstance(logits, Tensor):
        raise UnsupportedModel(
            type(model).__name__,
            "it has no head that decides between classes or tokens; load one with such a task head",
        )
    if logits.ndim == 3:
        rows = [-1 if variant.position is None else variant.position for variant in batch]
        logits = logits[torch.arange(len(batch)), torch.tensor(rows)]
    if logits.shape[-1] < 2:
        raise InputError("the model puts out one number and no classes, so there is no probability that could fall")
    return logits.double()


def _collated(batch: Sequence[Variant], pad: int) -> dict[str, Tensor]:
    return collate([Encoded(variant.inputs, None) for variant in batch], pad)
