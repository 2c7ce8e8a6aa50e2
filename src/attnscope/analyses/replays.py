"""Layers run again on copies of a text, one copy for each key, all layers in one pass.

    zeroed    a layer's attention without what the key's values bring; at the layer's end its real output is put back,
              so that every layer is asked alone
    carried   the key's part of the block's output is sent as a derivative through the frozen rest of the layer
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.decompose.laws import block_constant, relative_error
from attnscope.decompose.scopes import scope
from attnscope.decompose.vectors import part_vectors
from attnscope.errors import UnsupportedModel
from attnscope.measures import Measure
from attnscope.measures.registry import Replay, Replayed
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.models.rerun import Change, Passing, flowing
from attnscope.models.structure import Site
from attnscope.models.trace import Tap
from attnscope.record import LayerRecord

COPIES = 16
"""Copies of a text in one pass, unless someone says otherwise: memory grows with them, time hardly shrinks beyond."""
Layers = Sequence[tuple[Site, LayerRecord]]
Changes = dict[Tap, list[Change]]


@dataclass
class Played:
    """What came of it: maps by measure, one for each layer, and the errors of Law 3 where parts were carried."""

    maps: dict[str, list[Float[Tensor, "query key"]]] = field(default_factory=lambda: defaultdict(list))
    errors: list[float] = field(default_factory=list[float])


def play(
    model: Model,
    inputs: Encoded,
    layers: Layers,
    measures: Sequence[Measure],
    copies: int = COPIES,
    step: Callable[[], None] | None = None,
) -> Played:
    """Run the layers again for all measures that need it; `step` is called after each pass."""
    played = Played()
    for kind in dict.fromkeys(measure.replay for measure in measures):
        wanted = [measure for measure in measures if measure.replay == kind]
        found = {measure.name: [_empty(record) for _, record in layers] for measure in wanted}
        sums = [torch.zeros_like(record.projected) for _, record in layers]

        def take(index: int, keys: slice, output: Tensor, found=found, sums=sums, wanted=wanted) -> None:  # noqa: ANN001
            sums[index] += output.sum(0)
            for measure in wanted:
                replayed = Replayed(layers[index][1], output)
                found[measure.name][index][:, keys] = measure.compute(replayed)

        if kind is not None:
            _passes(model, inputs, layers, kind, copies, take, step)
        if kind == "carried":
            played.errors = law_errors(model, inputs, layers, sums)
        played.maps |= found
    return played


def passes(layers: Layers, measures: Sequence[Measure], copies: int = COPIES) -> int:
    """How many passes `play` takes."""
    kinds = {measure.replay for measure in measures if measure.replay is not None}
    return len(kinds) * -(-layers[0][1].keys // copies)


def law_errors(
    model: Model, inputs: Encoded, layers: Layers, tokens: Sequence[Float[Tensor, "query model"]]
) -> list[float]:
    """Law 3: what the tokens bring to each layer's output, and what biases do, are the output itself."""
    biases: list[Tensor] = []

    def carry(record: LayerRecord) -> Tensor:
        assert record.block is not None and record.tail is not None
        constant = block_constant(record, record.block, with_extra=not record.tail.is_parallel)
        own = scope(record, "block").own() if record.is_cross else None
        return (constant if own is None else constant + own)[None]  # across stacks the stream is no key's

    changes: Changes = defaultdict(list)
    for site, record in layers:
        _carry(changes, site, record, None, carry, biases.append)
    with flowing():
        model.rerun(inputs, changes, frozen=True, with_biases=True)
    pairs = zip(layers, tokens, biases, strict=True)
    return [relative_error(total + bias[0], _end(record)) for (_, record), total, bias in pairs]


def verify_tail(model: Model, inputs: Encoded, layers: Layers) -> list[float]:
    """Law 3 in two passes: all tokens' parts as one."""
    totals: list[Tensor] = []

    def carry(record: LayerRecord) -> Tensor:
        assert record.block is not None and record.tail is not None
        constant = block_constant(record, record.block, with_extra=not record.tail.is_parallel)
        tokens = record.block.output - constant
        if record.tail.is_parallel:  # the stream and the feed-forward's share of it arrive by themselves
            assert record.block.extra is not None
            tokens = tokens - record.block.extra - record.block.residual
        return tokens[None]

    changes: Changes = defaultdict(list)
    for site, record in layers:
        _carry(changes, site, record, lambda values: values, carry, totals.append)
    with flowing():
        model.rerun(inputs, changes, frozen=True)
    return law_errors(model, inputs, layers, [total[0] for total in totals])


Take = Callable[[int, slice, Tensor], None]


def _passes(
    model: Model,
    inputs: Encoded,
    layers: Layers,
    kind: Replay,
    copies: int,
    take: Take,
    step: Callable[[], None] | None,
) -> None:
    for keys in _chunks(layers[0][1].keys, copies):
        changes: Changes = defaultdict(list)
        for index, (site, record) in enumerate(layers):

            def keep(output: Tensor, index: int = index, keys: slice = keys) -> None:
                take(index, keys, output)

            if kind == "zeroed":
                _zero(changes, site, record, keys, keep)
            else:
                _send(changes, site, record, keys, keep)
        with flowing():
            model.rerun(inputs, changes, copies=keys.stop - keys.start, frozen=kind == "carried")
        if step is not None:
            step()


def _zero(changes: Changes, site: Site, record: LayerRecord, keys: slice, keep: Callable[[Tensor], None]) -> None:
    assert site.tail is not None and record.tail is not None
    end = record.tail.output

    def take_away(passing: Passing) -> None:
        brought = part_vectors(record, "attention", keys)
        passing.replace(passing.values - brought.to(passing.tensor))

    def leave(passing: Passing) -> None:
        keep(passing.values.to(end, copy=True))
        passing.replace(end.expand_as(passing.tensor))

    changes[site.projected].append(take_away)
    changes[site.tail.output].append(leave)


def _send(changes: Changes, site: Site, record: LayerRecord, keys: slice, keep: Callable[[Tensor], None]) -> None:
    assert record.tail is not None
    parallel = record.tail.is_parallel

    def own(values: Tensor) -> Tensor:
        return one_each(values, keys)

    _carry(
        changes,
        site,
        record,
        None if record.is_cross else own,
        lambda record: part_vectors(record, "block", keys, own=not parallel),
        keep,
    )


def one_each(values: Float[Tensor, "copies token model"], tokens: slice) -> Float[Tensor, "copies token model"]:
    """The state of a token of its own for each copy, and zero for all others."""
    part = torch.zeros_like(values)
    for copy, token in enumerate(range(tokens.start, tokens.stop)):
        part[copy, token] = values[copy, token]
    return part


def _carry(
    changes: Changes,
    site: Site,
    record: LayerRecord,
    own: Callable[[Tensor], Tensor] | None,
    brought: Callable[[LayerRecord], Tensor],
    keep: Callable[[Tensor], None],
) -> None:
    """Let flow, from the block's output on, what attention has `brought`.

    A feed-forward that runs beside the attention has had its part of the stream by then: there the tokens' `own`
    states flow from the layer's start, and the attention, of which all is known, hands on nothing.
    """
    assert site.step is not None and site.tail is not None and record.tail is not None
    if record.tail.is_parallel:
        changes[site.step.residual.tap].append(
            lambda passing: passing.replace(passing.values) if own is None else passing.carry(own(passing.values))
        )
        changes[site.projected].append(lambda passing: passing.replace(passing.values))

    def send(passing: Passing) -> None:
        part = brought(record).to(passing.tensor)
        if record.tail is not None and record.tail.is_parallel and passing.part is not None:
            part = part + passing.part
        passing.carry(part)

    changes[site.step.output].append(send)
    changes[site.tail.output].append(
        lambda passing: keep(torch.zeros_like(passing.values) if passing.part is None else passing.part.to(record.value))
    )


def _chunks(count: int, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def _empty(record: LayerRecord) -> Float[Tensor, "query key"]:
    return record.value.new_empty(record.queries, record.keys)


def _end(record: LayerRecord) -> Float[Tensor, "query model"]:
    assert record.tail is not None
    return record.tail.output


def check_playable(model: Model, sites: Sequence[Site], measure: Measure) -> None:
    """Refuse layers whose end is not known, or which can't be run again this way."""
    for site in sites:
        if site.tail is None:
            raise UnsupportedModel(
                model.name, f"{measure.name} needs layer {site.layer} to its end, but {site.tail_reason}"
            )
        if measure.replay == "zeroed" and site.inner is not None:
            raise UnsupportedModel(
                model.name,
                f"{measure.name} needs sums of values, but a normalisation stands before the projection of layer "
                f"{site.layer}",
            )
