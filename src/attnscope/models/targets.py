"""Which numbers of a model's output are explained: a class, the difference of two, a next or masked token, a span,
or one number for each token."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from attnscope.errors import InputError, UnsupportedModel, near, unknown
from attnscope.models.encode import Encoded, is_encoder_decoder

_LISTED = 50
"""Up to so many names are listed to who gave a wrong one."""
Position = int | Literal["each"] | None


@dataclass
class Target:
    """Picks the numbers, and says afterwards what they were."""

    name_of_model: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    inputs: Encoded
    choice: Any
    """A class or token by number or name, a pair of them for their difference, or None for the predicted one."""
    position: Position
    """The token whose logits are meant, counted from 0, where a model has some for each token; or each of them."""
    names: list[str] = field(default_factory=list, init=False)
    indices: list[int] = field(default_factory=list, init=False)
    """The classes or tokens that were picked, one after the other."""
    positions: list[int] = field(default_factory=list, init=False)
    """The tokens whose logits were picked; empty where there is one set for the whole text."""

    @classmethod
    def of(cls, model: Any, inputs: Encoded, choice: Any, position: Position) -> "Target":
        """The target of an `attnscope.Model`."""
        return cls(model.name, model.hf_model, model.tokenizer, inputs, choice, position)

    def __call__(self, output: Any) -> list[Tensor]:
        for found in (self.names, self.indices, self.positions):
            found.clear()
        if getattr(output, "start_logits", None) is not None:
            return [self._span(output.start_logits[0], output.end_logits[0])]
        logits = getattr(output, "logits", None)
        if not isinstance(logits, Tensor):
            raise UnsupportedModel(
                self.name_of_model, "it has no head whose logits could be explained; load one with a task head"
            )
        if logits.ndim == 2:
            if self.position is not None:
                raise InputError("the model has one set of logits for the whole text; leave position out")
            return [self._picked(logits[0], self.choice)]
        if self.position != "each":
            self.positions.append(self._position(logits.shape[1]))
            return [self._picked(logits[0, self.positions[0]], self.choice)]
        following = self._following() if self.choice is None else []
        self.positions.extend(range(logits.shape[1]))
        choices = [*following, *[self.choice] * (logits.shape[1] - len(following))]
        return [self._picked(row, choice) for row, choice in zip(logits[0], choices, strict=True)]

    def _following(self) -> list[int]:
        """The tokens that do follow, where logits are about what follows."""
        if is_encoder_decoder(self.model):
            ids = self.inputs.inputs.get("decoder_input_ids")
        else:
            ids = self.inputs.inputs.get("input_ids") if self.model.can_generate() else None
        following = [] if ids is None else ids[0, 1:].tolist()
        return following if self.inputs.last is None else [*following, self.inputs.last]

    def _picked(self, logits: Tensor, chosen: Any) -> Tensor:
        """One logit, or the difference of two."""
        if isinstance(chosen, tuple | list):
            if len(chosen) != 2:
                raise InputError(f"a contrast is of two classes, not {len(chosen)}")
            one, other = (self._index(choice, logits) for choice in chosen)
            self.names.append(f"{self._name(one, len(logits))} − {self._name(other, len(logits))}")
            return logits[one] - logits[other]
        index = self._index(chosen, logits)
        self.names.append(self._name(index, len(logits)))
        self.indices.append(index)
        return logits[index]

    def _span(self, start: Tensor, end: Tensor) -> Tensor:
        """The predicted answer, or the one that begins and ends at two given tokens."""
        first, last = _likeliest(start, end) if self.choice is None else self._ends(len(start))
        self.names.append(f"answer from token {first} to {last}")
        return start[first] + end[last]

    def _ends(self, length: int) -> tuple[int, int]:
        given = self.choice if isinstance(self.choice, tuple | list) else ()
        if len(given) != 2 or not all(isinstance(one, int | np.integer) and 0 <= one < length for one in given):
            raise InputError(f"an answer is two token numbers from 0 to {length - 1}, not {self.choice!r}")
        first, last = map(int, given)
        if last < first:
            raise InputError(f"an answer ends where it begins or later, so from token {first} to {last} is none")
        return first, last

    def _position(self, length: int) -> int:
        if self.position is not None:
            if not isinstance(self.position, int | np.integer):
                raise InputError(f"position is a token's number, counted from 0, or 'each'; not {self.position!r}")
            if not -length <= self.position < length:
                raise InputError(f"there is no token {self.position}; the text has {length}, counted from 0")
            return int(self.position)
        mask = getattr(self.tokenizer, "mask_token_id", None)
        ids = self.inputs.inputs.get("input_ids")
        if mask is not None and ids is not None and bool((ids[0] == mask).any()):
            return int((ids[0] == mask).nonzero()[0])
        if self.model.can_generate() or is_encoder_decoder(self.model):
            return length - 1
        raise InputError("the model has logits for each token; say which token is meant: position=")

    def _index(self, choice: Any, logits: Tensor) -> int:
        if choice is None:
            return int(logits.argmax())
        names = self._names(len(logits))
        if isinstance(choice, str) and choice in names:
            return names[choice]
        if isinstance(choice, str) and choice.isdecimal():
            choice = int(choice)
        if isinstance(choice, int | np.integer) and 0 <= choice < len(logits):
            return int(choice)
        if names and len(names) <= _LISTED:
            raise unknown("target", str(choice), [f"{name} ({index})" for name, index in names.items()])
        close = " or ".join(map(repr, near(choice, names))) if isinstance(choice, str) else ""
        raise InputError(
            f"there is no target {choice!r}; {f'did you mean {close}? ' if close else ''}the model has {len(logits)}, "
            f"counted from 0{', by the names of the tokens in its vocabulary' if names else ''}"
        )

    def _names(self, count: int) -> dict[str, int]:
        """Classes or tokens, by name."""
        labels = getattr(self.model.config, "id2label", None) or {}
        if len(labels) == count:
            return {str(name): int(index) for index, name in labels.items()}
        return {} if self.tokenizer is None else dict(self.tokenizer.get_vocab())

    def _name(self, index: int, count: int) -> str:
        return self.named([index], count)[0]

    def named(self, places: Iterable[int], count: int) -> list[str]:
        """What some of so many logits are called."""
        names = {number: name for name, number in self._names(count).items()}
        return [names.get(place, str(place)) for place in places]


def _likeliest(start: Tensor, end: Tensor) -> tuple[int, int]:
    """The ends of the answer with the largest sum of logits, of those that end where they begin or later."""
    sums = start[:, None] + end
    allowed = torch.ones_like(sums, dtype=torch.bool).triu()
    place = int(sums.detach().masked_fill(~allowed, -torch.inf).argmax())
    return divmod(place, len(end))
