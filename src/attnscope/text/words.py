"""From tokens to words: sums and means over the pieces of each word.

Attention *to* a word is the sum over its pieces, attention *from* a word the mean over its pieces; then rows
that sum to 1 over tokens still do over words. Special tokens stay in sight, each as a unit of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnscope.errors import InputError, one_of
from attnscope.text.labels import unique, visible
from attnscope.text.tokens import Tokens

How = Literal["sum", "mean"]
Array = NDArray[Any]
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Units:
    """The token indexes of each word or special token, in the order of the text, and their labels."""

    groups: Groups
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.groups)


def units(tokens: Tokens) -> Units:
    """The words and special tokens of a text."""
    groups = grouped(tokens.words)
    words = [tokens.words[group[0]] for group in groups]
    strings = [
        tokens.strings[group[0]] if word is None else tokens.word_strings[word]
        for group, word in zip(groups, words, strict=True)
    ]
    return Units(groups, unique([visible(string) for string in strings]))


def role_labels(tokens: Tokens) -> tuple[str, ...]:
    """Labels of units that are alike for all tokenizers: special tokens are [CLS] in front and [SEP] elsewhere."""
    words = [tokens.words[group[0]] for group in units(tokens).groups]
    return unique(
        [
            ("[SEP]" if place else "[CLS]") if word is None else visible(tokens.word_strings[word])
            for place, word in enumerate(words)
        ]
    )


def grouped(word_of_token: Sequence[int | None]) -> Groups:
    """The token indexes of each unit, by first appearance; a token without a word is a unit of its own."""
    members: dict[tuple[str, int], list[int]] = {}
    for i, word in enumerate(word_of_token):
        members.setdefault(("token", i) if word is None else ("word", word), []).append(i)
    return tuple(map(tuple, members.values()))


def to_words(array: Array, axis: int, word_of_token: Sequence[int | None], how: How = "sum") -> Array:
    """The array with the tokens of one axis put together into units, in the order of `grouped`."""
    one_of("way to put tokens together", how, ("sum", "mean"))
    _check_axis(array, axis, len(word_of_token))
    groups = grouped(word_of_token)
    if not groups:
        return array.copy()
    sizes = np.array([len(group) for group in groups])
    starts = np.cumsum(sizes) - sizes
    ordered = np.take(array, list(chain.from_iterable(groups)), axis=axis)
    counted = ordered.astype(np.int64) if ordered.dtype.kind == "b" else ordered
    sums = np.add.reduceat(counted, starts, axis=axis)
    return sums if how == "sum" else sums / _along(sizes, axis, sums)


def sum_over_key_pieces(array: Array, word_of_token: Sequence[int | None], axis: int = -1) -> Array:
    """What a word receives is what all its pieces receive."""
    return to_words(array, axis, word_of_token, "sum")


def mean_over_query_pieces(array: Array, word_of_token: Sequence[int | None], axis: int = -2) -> Array:
    """Where a word looks is where its pieces look on average."""
    return to_words(array, axis, word_of_token, "mean")


def between_words(
    array: Array, query_words: Sequence[int | None], key_words: Sequence[int | None] | None = None
) -> Array:
    """An array [..., query, key] of tokens as one of words; rows keep their sums.

    Without `key_words`, queries and keys are the same text.
    """
    keys = query_words if key_words is None else key_words
    return mean_over_query_pieces(sum_over_key_pieces(array, keys), query_words)


def _along(sizes: NDArray[np.intp], axis: int, array: Array) -> Array:
    """The sizes in the array's precision, shaped to divide along the axis."""
    shape = [1] * array.ndim
    shape[axis] = len(sizes)
    dtype = array.dtype if array.dtype.kind == "f" else np.float64
    return sizes.astype(dtype).reshape(shape)


def _check_axis(array: Array, axis: int, size: int) -> None:
    if not -array.ndim <= axis < array.ndim:
        raise InputError(f"axis {axis} is not one of the {array.ndim} axes of an array of shape {array.shape}")
    if array.shape[axis] != size:
        raise InputError(f"axis {axis} of an array of shape {array.shape} must have one entry per token, so {size}")
