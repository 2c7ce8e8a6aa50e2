"""Which layers, heads and tokens of two models stand for each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from attnscope.analyses.analyze import analyze
from attnscope.axes import HEAD, KEY, LAYER, QUERY
from attnscope.errors import InputError
from attnscope.measures import Measure
from attnscope.methods.comparison import kernel_alignment
from attnscope.methods.tracing import row_shares
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.text.categories import Categories, Scheme, categorise
from attnscope.text.roles import kind_masks
from attnscope.text.tokens import Tokens
from attnscope.text.words import between_words, grouped, role_labels

Item = str | tuple[str, str]
"""A text, or two: a pair, or the source and target of an encoder–decoder."""
SAMPLE = 16
"""Texts by which layers are matched, where that has to be found out."""


@dataclass(frozen=True)
class Units:
    """What a text is made of, as two models have it in common: tokens, or words."""

    labels: tuple[str, ...]
    """Words as they are written, special tokens [CLS] or [SEP]; each is there once."""
    kinds: Bool[np.ndarray, "kind token"]
    categories: Categories
    pieces: Float[np.ndarray, "token"]
    """How many tokens each unit has."""
    words: tuple[str, ...]
    """The word of each unit: of pieces, the word that they are part of."""
    by_word: bool
    tokens: Tokens

    @classmethod
    def of(cls, tokens: Tokens, by_word: bool, scheme: str | Scheme) -> "Units":
        """The units of a text that one model has read."""
        groups = grouped(tokens.words) if by_word else tuple((place,) for place in range(len(tokens)))
        first = [group[0] for group in groups]
        named = categorise(tokens, scheme)
        return cls(
            role_labels(tokens) if by_word else tokens.labels,
            kind_masks(tokens)[:, first],
            Categories(named.names, named.index[first]),
            np.array([len(group) for group in groups], dtype=np.float64),
            tuple(plain_word(tokens, place) for place in first),
            by_word,
            tokens,
        )

    def only(self, places: Sequence[int]) -> "Units":
        """Some of them."""
        return replace(
            self,
            labels=tuple(self.labels[place] for place in places),
            kinds=self.kinds[:, places],
            categories=Categories(self.categories.names, self.categories.index[places]),
            pieces=self.pieces[places],
            words=tuple(self.words[place] for place in places),
        )


@dataclass(frozen=True)
class Reading:
    """One text as one model reads it: shares (layer, head, query, key) in units that the models have in common."""

    shares: Float[np.ndarray, "layer head token token"]
    units: Units
    error: float

    def only(self, labels: Sequence[str]) -> "Reading":
        """What some units give to each other, as shares."""
        places = [self.units.labels.index(label) for label in labels]
        cut = self.shares[..., places, :][..., places]
        return Reading(row_shares(cut), self.units.only(places), self.error)


@dataclass(frozen=True)
class Reader:
    """Reads texts with one model and one measure."""

    model: Model
    measure: Measure
    stack: str
    by_word: bool
    categories: str | Scheme

    def __call__(self, item: Item, known: Units | None = None) -> Reading:
        """Read a text; `known` are its units in another model, which are the same if both have as many tokens.

        Only models that cut texts alike may pass them on: others have words of other pieces.
        """
        text, pair = (item, None) if isinstance(item, str) else item
        encoded = self.model.encode(text, pair)
        found = analyze(self.model, encoded, measures=self.measure.name, stack=self.stack)
        values = found[self.measure.name]
        if HEAD not in values.dims:
            values = values.expand_dims({HEAD: 1}, 1)
        maps = values.transpose(LAYER, HEAD, QUERY, KEY).to_numpy()
        units = known
        if units is None or units.by_word or len(units.tokens) != maps.shape[-1]:
            causal = not np.triu(maps[0], 1).any() and maps.shape[-1] > 1
            scheme = "decoder" if causal and self.categories == "auto" else self.categories
            units = Units.of(_tokens(encoded, self.stack), self.by_word, scheme)
        if self.by_word:
            maps = between_words(maps, units.tokens.words)
        return Reading(row_shares(maps), units, float(found.attrs["reconstruction_error"]))


def plain_word(tokens: Tokens, place: int) -> str:
    """The word a token is part of, whatever its case; of special tokens, what they do."""
    word = tokens.words[place]
    return ("[SEP]" if place else "[CLS]") if word is None else tokens.word_strings[word].casefold()


def _tokens(encoded: Encoded, stack: str) -> Tokens:
    tokens = encoded.target if stack == "decoder" and encoded.target is not None else encoded.source
    assert tokens is not None
    return tokens


def chosen_stack(base: Model, tuned: Model, stack: str | None, paired: bool) -> str:
    """The stack of tokens that look at each other, in both models."""
    name = stack or next(iter(name for name in ("self", "encoder", "decoder") if name in base.structure.stacks))
    if name == "cross":
        raise InputError("models are compared in a stack of tokens that look at each other: encoder or decoder")
    if name == "decoder" and "encoder" in base.structure.stacks and not paired:
        raise InputError("the decoder stack reads a target; give pairs (source, target) as texts")
    for model in (base, tuned):
        if name not in model.structure.stacks:
            raise InputError(
                f"{model.name} has no {name} stack (it has {', '.join(model.structure.stacks)}), so {base.name} and "
                f"{tuned.name} can't be compared there"
            )
    return name


def same_tokenizer(base: Model, tuned: Model) -> bool:
    """Whether two models cut texts alike, as far as their vocabularies tell."""
    one, other = base.tokenizer, tuned.tokenizer
    if one is None or other is None:
        missing = base if one is None else tuned
        raise InputError(
            f"{missing.name} has no tokenizer, so it can't read texts; pass one: Model(hf_model, tokenizer)"
        )
    return one is other or (type(one) is type(other) and _vocabulary(one) == _vocabulary(other))


_vocabularies: WeakKeyDictionary[Any, tuple[int, int]] = WeakKeyDictionary()


def _vocabulary(tokenizer: Any) -> int:
    """A number that is another one for another vocabulary; it is kept, as long as the vocabulary does not grow."""
    size = len(tokenizer)
    kept = _vocabularies.get(tokenizer)
    if kept is None or kept[0] != size:
        kept = size, hash(frozenset(tokenizer.get_vocab().items()))
        _vocabularies[tokenizer] = kept
    return kept[1]


def in_common(base: Reading, tuned: Reading, names: tuple[str, str]) -> tuple[Reading, Reading]:
    """Both readings, of the units that both have; what a query gives to other units is shared out among those."""
    one, other = base.units.labels, tuned.units.labels
    if one == other:
        return base, tuned
    both = [label for label in one if label in set(other)]
    if sum(not label.startswith("[") for label in both) < 1:
        raise InputError(f"{names[0]} and {names[1]} have no word of a text in common: {' '.join(one[:5])!r}")
    return base.only(both), tuned.only(both)


@dataclass(frozen=True)
class Match:
    """For each layer and head of the base, by place, which of the tuned model stands for it."""

    layers: NDArray[np.intp]
    heads: NDArray[np.intp]
    """(layer, head)."""
    by: str
    """How it was found, in words."""

    @property
    def is_plain(self) -> bool:
        """Whether each stands for the one of the same number."""
        return self.by == "number"

    def apply(self, shares: NDArray[Any]) -> NDArray[Any]:
        """The tuned model's maps in the places of the base's."""
        return shares if self.is_plain else shares[self.layers[:, None], self.heads]


def match(one: Reader, other: Reader, texts: Sequence[Item], step: Callable[[], None] | None = None) -> Match:
    """By number where depth and heads are the same, else by centred kernel alignment over a few texts.

    A layer of the base is matched to the layer, and then a head to the head, whose queries are alike in the same way.
    """
    shapes = [_shape(reader) for reader in (one, other)]
    if shapes[0] == shapes[1]:
        layers, heads = shapes[0]
        return Match(np.arange(layers), np.tile(np.arange(heads), (layers, 1)), "number")
    across: list[NDArray[np.float64]] = []
    between: list[NDArray[np.float64]] = []
    for item in texts[:SAMPLE]:
        p, q = (reading.shares for reading in in_common(one(item), other(item), (one.model.name, other.model.name)))
        across.append(kernel_alignment(p.mean(1)[:, None], q.mean(1)[None]))
        between.append(kernel_alignment(p[:, None, :, None], q[None, :, None, :]))
        if step is not None:
            step()
    layers = _mean(across).argmax(-1)
    heads = _mean(between)[np.arange(len(layers)), layers].argmax(-1)
    return Match(layers, heads, f"kernel alignment over {len(across)} texts")


def _mean(found: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.nan_to_num(np.stack(found)).mean(0)


def _shape(reader: Reader) -> tuple[int, int]:
    sites = reader.model.sites(reader.stack)
    heads = {site.heads for site in sites}
    if HEAD not in reader.measure.dims:
        return len(sites), 1
    if len(heads) > 1:
        raise InputError(
            f"the layers of {reader.model.name} have different numbers of heads ({sorted(heads)}); compare a measure "
            "of all heads together, such as block_norm"
        )
    return len(sites), heads.pop()


def received(shares: Float[np.ndarray, "layer head token token"], pieces: Float[np.ndarray, "token"]) -> NDArray[Any]:
    """What each unit gets in each layer, in even shares: 1 is what a token would get if all got the same."""
    return shares.mean(2).mean(1, dtype=np.float64) * pieces.sum() / pieces
