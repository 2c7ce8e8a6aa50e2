"""Which heads look at a word, in one text or in many."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnscope.analyses.analyze import Unit, analyze
from attnscope.analyses.views.reading import Axes, Axis, axes, chosen, inner_stack
from attnscope.analyses.views.registry import Models, Progress, SlotRequest, view
from attnscope.analyses.whole import map_measure
from attnscope.artifacts.parcel import Parcel
from attnscope.artifacts.search import FoundText, Search
from attnscope.axes import HEAD
from attnscope.errors import InputError, TextTooLong
from attnscope.measures import Measure
from attnscope.methods.tracing import row_shares
from attnscope.models.model import Model

MOST_HITS = 500
Direction = Literal["to", "from"]


class SearchRequest(SlotRequest):
    """Which word, and how much counts."""

    word: str
    """A word as it is written, or a token's label; its case does not matter."""
    measure: str = "weight"
    threshold: float = 0.3
    direction: Direction = "to"
    where: Literal["text", "corpus"] = "text"
    unit: Unit = "word"
    corpus: tuple[str, ...] = ()
    """The texts to search where it is not this text; a server puts its own here."""


@view
def search(models: Models, request: SearchRequest, progress: Progress) -> Parcel:
    """Which heads and layers take at least a share of a row from a word, or give it to a word from others.

    "to" are queries that look at the word, "from" is where the word itself looks. Shares of words are sums over the
    pieces of the key and means over those of the query. Texts of a corpus that the model can't read, because they are
    too long for it or of another script, are counted and left out.
    """
    model = chosen(models, request.slot)
    measure = map_measure(request.measure)
    _check(request)
    stack = inner_stack(model)
    sites = model.sites(stack)
    heads = max(site.heads for site in sites) if HEAD in measure.dims else 1
    found = _Tally(np.zeros((len(sites), heads), dtype=np.uint32))
    several = request.where == "corpus"
    texts = [(text, None) for text in request.corpus] if several else [(request.text, request.pair)]
    for number, (text, pair) in enumerate(texts):
        step = partial(_within, progress, number, len(texts)) if several else progress
        step(0, 1)
        try:
            both = axes(model, text, pair, stack, request.unit)
        except InputError as error:
            if not several:
                raise
            long = isinstance(error, TextTooLong)
            why = f"it has {error.tokens} tokens, {error.most} are the most" if long else str(error)
            found.unread.append(f"text {number + 1}: {why}")
        else:
            _one(_Place(number, text, pair), both, model, measure, stack, request, found, step)
    if len(found.unread) == len(texts):
        raise InputError(f"{model.name} can read no text of the corpus; {found.unread[0]}")
    progress(len(texts), len(texts))
    used = sorted({int(text) for text in found.place[:, 0]})
    place = found.place.copy()
    place[:, 0] = np.searchsorted(used, place[:, 0])
    hits = int(found.count.sum())
    artifact = Search(
        model=model.name,
        measure=measure.name,
        word=request.word,
        threshold=request.threshold,
        direction=request.direction,
        where=request.where,
        unit=request.unit,
        stack=stack,
        layers=tuple(site.layer for site in sites),
        heads=tuple(range(1, heads + 1)) if HEAD in measure.dims else (),
        texts=tuple(found.texts[number] for number in used),
        searched=len(texts) - len(found.unread),
        unread=len(found.unread),
        why_unread=found.unread[0] if found.unread else None,
        with_word=found.with_word,
        hits=hits,
        truncated=hits > MOST_HITS,
        reconstruction_error=found.error,
    )
    return Parcel(artifact, {"place": place, "share": found.share, "count": found.count})


def _within(progress: Progress, number: int, count: int, _done: int, _total: int) -> None:
    """Report texts in the place of a text's layers."""
    progress(number, count)


def _check(request: SearchRequest) -> None:
    if not request.word.strip():
        raise InputError("no word was given to look for")
    if not 0 < request.threshold <= 1:
        raise InputError(f"the threshold must be a share of a row, above 0 and at most 1, not {request.threshold:g}")
    if request.where == "corpus" and not request.corpus:
        raise InputError("there is no corpus to search; start with one: attnscope serve --corpus FOLDER")


@dataclass
class _Tally:
    """What was found up to now: the strongest hits, and how many there are."""

    count: NDArray[np.uint32]
    place: NDArray[np.int32] = field(default_factory=partial(np.empty, (0, 5), np.int32))
    share: NDArray[np.float32] = field(default_factory=partial(np.empty, 0, np.float32))
    texts: dict[int, FoundText] = field(default_factory=dict[int, FoundText])
    with_word: int = 0
    error: float = 0.0
    unread: list[str] = field(default_factory=list[str])
    """Why texts were left out."""

    def add(
        self, text: int, layer: int, places: tuple[NDArray[np.intp], ...], share: NDArray[np.floating[Any]]
    ) -> None:
        """Take in the hits of a layer: head, query and key of each, and its share."""
        np.add.at(self.count[layer], places[0], 1)
        whole = np.stack([np.full(len(share), text), np.full(len(share), layer), *places], -1).astype(np.int32)
        everything, shares = np.concatenate([self.place, whole]), np.concatenate([self.share, share])
        best = np.argsort(-shares, kind="stable")[:MOST_HITS]
        self.place, self.share = everything[best], shares[best].astype(np.float32)


@dataclass(frozen=True)
class _Place:
    """A text, and its place among those that are searched."""

    number: int
    text: str
    pair: str | None


def _one(
    place: _Place,
    both: Axes,
    model: Model,
    measure: Measure,
    stack: str,
    request: SearchRequest,
    found: _Tally,
    progress: Progress,
) -> None:
    """Search one text."""
    wanted = _matching(both.keys, request.word)
    if not wanted.any():
        return
    found.with_word += 1
    mask = wanted[None, :] if request.direction == "to" else wanted[:, None]
    number = 0

    def fold(layer: Mapping[str, NDArray[np.float32]]) -> dict[str, Any]:
        nonlocal number
        (values,) = layer.values()
        shares = row_shares(both.between(values if values.ndim == 3 else values[None]))
        places = np.nonzero((shares >= request.threshold) & mask)
        found.add(place.number, number, places, shares[places])
        number += 1
        return {}

    result = analyze(model, place.text, place.pair, measures=measure.name, stack=stack, fold=fold, progress=progress)
    found.error = max(found.error, float(result.attrs["reconstruction_error"]))
    found.texts[place.number] = FoundText(
        number=place.number, text=place.text, pair=place.pair, tokens=both.keys.listed()
    )


def _matching(axis: Axis, word: str) -> NDArray[np.bool_]:
    """The units that are the word, or a piece of it."""
    tokens, sought = axis.tokens, word.strip().casefold()

    def names(token: int) -> set[str]:
        word_of = tokens.words[token]
        whole = set[str]() if word_of is None else {tokens.word_strings[word_of]}
        pieces = {tokens.strings[token], tokens.raw[token]} if axis.unit == "token" or word_of is None else set[str]()
        return {name.strip().casefold() for name in whole | pieces}

    labels = [label.casefold() for label in axis.listed().labels]
    return np.array([sought in names(group[0]) | {label} for group, label in zip(axis.groups, labels, strict=True)])
