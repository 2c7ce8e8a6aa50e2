"""Layers run again on copies of a text, one copy for each key, all layers in one pass.

zeroed    a layer's attention without what the key's values bring; at the layer's end its real output is put back,
          so that every layer is asked alone
carried   the key's part of the block's output is sent as a derivative through the frozen rest of the layer
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.decompose.laws import block_constant, relative_error
from attnscope.decompose.scopes import scope
from attnscope.decompose.vectors import part_vectors, without_key
from attnscope.errors import UnsupportedModel
from attnscope.measures import Measure
from attnscope.measures.registry import Replay, Replayed
from attnscope.models.encode import Encoded
from attnscope.models.rerun import Change, Passing, flowing
from attnscope.models.structure import Site
from attnscope.models.trace import Tap
from attnscope.record import Block, LayerRecord, Tail

if TYPE_CHECKING:
    from attnscope.models.model import Model

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
    model: "Model",
    inputs: Encoded,
    layers: Layers,
    measures: Sequence[Measure],
    copies: int = COPIES,
    progress: Callable[[int, int], None] | None = None,
) -> Played:
    """Run the layers again for all measures that need it; `progress` is told the passes done, of how many."""
    played, done, count = Played(), 0, _passes(layers, measures, copies)
    for kind in _kinds(measures):
        wanted = [measure for measure in measures if measure.replay == kind]
        found = {measure.name: [_empty(record) for _, record in layers] for measure in wanted}
        sums = [torch.zeros_like(record.projected) for _, record in layers]
        for keys in _chunks(layers[0][1].keys, copies):
            outputs = _outputs(model, inputs, layers, kind, keys)
            for index, (output, (_, record)) in enumerate(zip(outputs, layers, strict=True)):
                sums[index] += output.sum(0)
                for measure in wanted:
                    found[measure.name][index][:, keys] = measure.compute(Replayed(record, output))
            done += 1
            if progress is not None:
                progress(done, count)
        if kind == "carried":
            played.errors = law_errors(model, inputs, layers, sums)
        played.maps |= found
    return played


def _passes(layers: Layers, measures: Sequence[Measure], copies: int) -> int:
    """How many passes `play` takes."""
    return len(_kinds(measures)) * -(-layers[0][1].keys // copies)


def _kinds(measures: Sequence[Measure]) -> list[Replay]:
    return list(dict.fromkeys(measure.replay for measure in measures if measure.replay is not None))


def law_errors(
    model: "Model", inputs: Encoded, layers: Layers, tokens: Sequence[Float[Tensor, "query model"]]
) -> list[float]:
    """Law 3: what the tokens bring to each layer's output, and what biases do, are the output itself."""
    biases: list[Tensor] = []

    def carry(record: LayerRecord) -> Tensor:
        block, tail = _known(record)
        constant = block_constant(record, block, with_extra=not tail.is_parallel)
        own = scope(record, "block").own() if record.is_cross else None
        return (constant if own is None else constant + own)[None]  # across stacks the stream is no key's

    changes: Changes = defaultdict(list)
    for site, record in layers:
        _carry(changes, site, record, None, carry, biases.append)
    with flowing():
        model.rerun(inputs, changes, frozen=True, with_biases=True)
    pairs = zip(layers, tokens, biases, strict=True)
    return [relative_error(total + bias[0], _end(record)) for (_, record), total, bias in pairs]


def whole_layer_errors(model: "Model", inputs: Encoded, layers: Layers) -> list[float]:
    """Law 3 in two passes: all tokens' parts as one."""
    totals: list[Tensor] = []

    def carry(record: LayerRecord) -> Tensor:
        block, tail = _known(record)
        constant = block_constant(record, block, with_extra=not tail.is_parallel)
        tokens = block.output - constant
        if record.is_cross:
            own = scope(record, "block").own()
            tokens = tokens if own is None else tokens - own  # the stream is no key's
        if tail.is_parallel:  # the stream and the feed-forward's share of it arrive by themselves
            assert block.extra is not None
            tokens = tokens - block.extra - block.residual
        return tokens[None]

    def own(record: LayerRecord) -> Callable[[Tensor], Tensor] | None:
        return None if record.is_cross else lambda values: values

    changes: Changes = defaultdict(list)
    for site, record in layers:
        _carry(changes, site, record, own(record), carry, totals.append)
    with flowing():
        model.rerun(inputs, changes, frozen=True)
    return law_errors(model, inputs, layers, [total[0] for total in totals])


def _outputs(model: "Model", inputs: Encoded, layers: Layers, kind: Replay, keys: slice) -> list[Tensor]:
    """One pass: what each layer puts out on the copies for some keys."""
    outputs: list[Tensor] = []
    changes: Changes = defaultdict(list)
    for site, record in layers:
        (_zero if kind == "zeroed" else _send)(changes, site, record, keys, outputs.append)
    with flowing():
        model.rerun(inputs, changes, copies=keys.stop - keys.start, frozen=kind == "carried")
    return outputs


def _zero(changes: Changes, site: Site, record: LayerRecord, keys: slice, keep: Callable[[Tensor], None]) -> None:
    assert site.tail is not None
    end = _end(record)

    def take_away(passing: Passing) -> None:
        passing.replace(without_key(record, keys).to(passing.tensor))

    def leave(passing: Passing) -> None:
        keep(passing.values.to(end, copy=True))
        passing.replace(end.expand_as(passing.tensor))

    changes[site.projected].append(take_away)
    changes[site.tail.output].append(leave)


def _send(changes: Changes, site: Site, record: LayerRecord, keys: slice, keep: Callable[[Tensor], None]) -> None:
    parallel = _known(record)[1].is_parallel

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
        if 0 <= token < values.shape[1]:
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
    assert site.step is not None
    assert site.tail is not None
    parallel = _known(record)[1].is_parallel
    if parallel:
        changes[site.step.residual.tap].append(
            lambda passing: passing.replace(passing.values) if own is None else passing.carry(own(passing.values))
        )
        changes[site.projected].append(lambda passing: passing.replace(passing.values))

    def send(passing: Passing) -> None:
        part = brought(record).to(passing.tensor)
        if parallel and passing.part is not None:
            part = part + passing.part
        passing.carry(part)

    changes[site.step.output].append(send)
    changes[site.tail.output].append(lambda passing: keep(passing.flowing.to(record.value)))


def _chunks(count: int, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def _empty(record: LayerRecord) -> Float[Tensor, "query key"]:
    return record.value.new_empty(record.queries, record.keys)


def _known(record: LayerRecord) -> tuple[Block, Tail]:
    """The block and the rest of a layer that is known to its end."""
    assert record.block is not None
    assert record.tail is not None
    return record.block, record.tail


def _end(record: LayerRecord) -> Float[Tensor, "query model"]:
    return _known(record)[1].output


def check_playable(model: "Model", sites: Sequence[Site], measure: Measure) -> None:
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
