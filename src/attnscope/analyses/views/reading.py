"""What every view needs of a text: the model of a slot, the tokens of a stack, and maps in tokens or in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnscope.analyses.analyze import Unit, sides
from attnscope.analyses.views.registry import Models, Slot
from attnscope.artifacts.tokens import TokenList
from attnscope.errors import InputError
from attnscope.models.decision import Decision, decision
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.text.tokens import Tokens
from attnscope.text.words import between_words, grouped, units


def chosen(models: Models, slot: Slot) -> Model:
    """The model of a slot."""
    if slot not in models:
        raise InputError(f"there is no model {slot.upper()}; start with two models to compare them")
    return models[slot]


def inner_stack(model: Model, stack: str | None = None) -> str:
    """The stack asked for, or the first of tokens that look at each other."""
    return stack or model.default_stack()


@dataclass(frozen=True)
class Axis:
    """The tokens along an axis of a map, in units of tokens or of words."""

    tokens: Tokens
    unit: Unit

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The tokens of each unit."""
        return grouped(self.tokens.words) if self.unit == "word" else tuple((i,) for i in range(len(self.tokens)))

    def listed(self) -> TokenList:
        """Labels, and what each unit is."""
        firsts = [group[0] for group in self.groups]
        words = [self.tokens.words[first] for first in firsts]
        return TokenList(
            labels=units(self.tokens).labels if self.unit == "word" else self.tokens.labels,
            special=tuple(self.tokens.special[first] for first in firsts),
            words=tuple(words),
            starts_word=tuple(
                word is None or place == 0 or words[place - 1] != word for place, word in enumerate(words)
            ),
        )

    def __len__(self) -> int:
        return len(self.groups)


@dataclass(frozen=True)
class Axes:
    """Who looks and who is looked at in a stack."""

    queries: Axis
    keys: Axis

    def between(self, maps: NDArray[Any]) -> NDArray[Any]:
        """Maps of tokens, (…, query, key), in the units of the axes."""
        if self.queries.unit == "token":
            return maps
        return between_words(maps, self.queries.tokens.words, self.keys.tokens.words)


def axes(model: Model, text: str, pair: str | None, stack: str, unit: Unit) -> Axes:
    """The tokens of a text in a stack."""
    queries, keys = sides(model.encode(text, pair), stack)
    if queries is None or keys is None:
        raise InputError(f"the {stack} stack reads a target; give one as the pair")
    return Axes(Axis(queries, unit), Axis(keys, unit))


def decided_on(model: Model, inputs: Encoded) -> Decision:
    """What is decided about this text, if it is one text alone that is decided on."""
    if model.is_encoder_decoder:
        return Decision("none", reason=f"{model.name} has an encoder and a decoder, so its words have two sides")
    return decision(model, inputs)


def default_target(tokens: TokenList, causal: bool) -> int:
    """Where tracing begins if nobody says: the last token of a text read from left to right, else the first."""
    return len(tokens.labels) - 1 if causal else 0


def is_causal(map_: NDArray[np.floating[Any]]) -> bool:
    """Whether no token takes anything from a later one."""
    return map_.shape[-1] > 1 and map_.shape[-1] == map_.shape[-2] and not np.triu(map_, 1).any()
