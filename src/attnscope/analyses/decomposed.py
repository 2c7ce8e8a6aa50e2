"""Every token's part in every later state: the exact propagation through all layers (DecompX)."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from attnscope.analyses.attribute import check_one, refuse_incomplete, sources_of
from attnscope.axes import LAYER, MODEL, QUERY, SOURCE
from attnscope.decompose.gram import length
from attnscope.decompose.laws import relative_error
from attnscope.errors import InputError, UnsupportedModel
from attnscope.models.attribution import Attribution
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.models.replays import one_each
from attnscope.models.rerun import Change, Passing, flowing, part_of
from attnscope.models.targets import Position, Target
from attnscope.models.trace import Tap
from attnscope.result import Array, dataset, versions

Progress = Callable[[int, int], None]
_LONG_NAMES = {
    "decomposed": "how long the vector is that a source contributes to a state: ‖x_{i⇐k}‖",
    "bias_norm": "how long the vector is that the bias parameters contribute to a state",
    "law_error": "relative error of Law 4: all contributions and the bias, added up, against the state",
    "state": "the vector that a source contributes to a state",
    "bias_state": "the vector that the bias parameters contribute to a state",
    "contribution": "what a token adds to the target, in its units",
}


def decomposed(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    target: Any = None,
    position: Position = None,
    block: int = 16,
    vectors: bool = False,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Carry every token's state, from before layer 1, through all layers, with bias as a source of its own.

    pair       the second text of a pair, or the target of an encoder–decoder; its sources are then the tokens of the
               encoder followed by those of the decoder, its layers the decoder's
    target     the logit to decompose as well, in a model that has some: see `attribute`
    block      how many sources are carried at a time: memory grows with it
    vectors    keep the vectors, not only their lengths (layer · query · source · model numbers)

    What is held is what `attribute` holds; there the same logit is had by one backward pass.
    """
    if not isinstance(block, int) or block < 1:
        raise InputError(f"block is how many sources are carried at a time, a whole number from 1, not {block!r}")
    check_one(position)
    inputs = model.encode_for_decision(text, pair)
    propagation = _Propagation(model, inputs, Target.of(model, inputs, target, position) if model.has_logits else None)
    propagation.run(block, vectors, progress)
    worst = max(propagation.errors())
    refuse_incomplete(model, worst, "the states")
    attributes = versions() | {"model": model.name, "method": "decomposed", "reconstruction_error": worst}
    if isinstance(text, str):
        attributes |= {"text": text} | ({} if pair is None else {"pair": pair})
    return propagation.dataset(attributes, vectors)


@dataclass
class _Layer:
    """What has reached the end of a layer."""

    number: int
    actual: Tensor
    bias: Tensor
    total: Tensor
    lengths: Tensor
    vectors: Tensor | None = None


class _Propagation:
    """The passes over one text."""

    def __init__(self, model: Model, inputs: Encoded, target: Target | None) -> None:
        self.model, self.inputs, self.target = model, inputs, target
        self.starts = model.sources()
        self.ends = model.layer_ends()
        self.sizes: list[int] = []
        self.layers: list[_Layer] = []
        self.value = self.bias = 0.0
        self.contribution: list[Tensor] = []

    def run(self, block: int, vectors: bool, progress: Progress | None) -> None:
        """All passes: the biases' first, then the sources', `block` at a time."""
        self._biases()
        count = sum(self.sizes)
        if len({layer.actual.shape for layer in self.layers}) > 1:
            raise UnsupportedModel(
                self.model.name,
                "its layers have states of different sizes, which no one table holds; attribute takes its logits apart",
            )
        for layer in self.layers:
            layer.lengths = layer.actual.new_empty(layer.actual.shape[0], count)
            layer.vectors = layer.actual.new_empty(layer.actual.shape[0], count, self.width) if vectors else None
        for start in range(0, count, block):
            self._sources(slice(start, min(start + block, count)))
            if progress is not None:
                progress(min(start + block, count), count)

    @property
    def width(self) -> int:
        return self.layers[0].actual.shape[-1]

    def _biases(self) -> None:
        """What the biases contribute, and the states themselves."""

        def begin(passing: Passing) -> None:
            self.sizes.append(passing.tensor.shape[1])
            passing.replace(passing.values)

        changes: dict[Tap, list[Change]] = defaultdict(list)
        for tap in self.starts:
            changes[tap].append(begin)
        for number, tap in self.ends:

            def end(passing: Passing, number: int = number) -> None:
                state, bias = _working(passing.values)[0], _working(passing.flowing)[0]
                self.layers.append(_Layer(number, state.clone(), bias, bias.clone(), bias))

            changes[tap].append(end)
        with flowing():
            output = self.model.rerun(self.inputs, changes, frozen=True, with_biases=True)
            if self.target is not None:
                value = self.target(output)[0]
                self.value, self.bias = value.item(), part_of(value).item()

    def _sources(self, chunk: slice) -> None:
        copies = chunk.stop - chunk.start
        changes: dict[Tap, list[Change]] = defaultdict(list)
        offset = 0
        for tap, size in zip(self.starts, self.sizes, strict=True):
            tokens = slice(chunk.start - offset, chunk.stop - offset)
            changes[tap].append(lambda passing, tokens=tokens: passing.carry(one_each(passing.values, tokens)))
            offset += size
        for layer, (_, tap) in zip(self.layers, self.ends, strict=True):

            def end(passing: Passing, layer: _Layer = layer) -> None:
                parts = _working(passing.flowing)
                layer.total += parts.sum(0)
                layer.lengths[:, chunk] = length(parts).T
                if layer.vectors is not None:
                    layer.vectors[:, chunk] = parts.transpose(0, 1)

            changes[tap].append(end)
        with flowing():
            output = self.model.rerun(self.inputs, changes, copies=copies, frozen=True)
            if self.target is not None:
                values = [self.target(_only(output, copy))[0] for copy in range(copies)]
                self.contribution += [part_of(value).float().reshape(1) for value in values]

    def errors(self) -> list[float]:
        """Law 4 at the end of each layer, and for the logit."""
        found = [relative_error(layer.total, layer.actual) for layer in self.layers]
        if self.target is None:
            return found
        return [*found, self.logit.rounding_error]

    @property
    def logit(self) -> Attribution:
        """The target's own parts."""
        return Attribution(torch.cat(self.contribution), self.bias, self.value)

    def dataset(self, attributes: dict[str, Any], vectors: bool) -> xr.Dataset:
        labels, sides = sources_of(self.inputs, sum(self.sizes))
        reader = self.inputs.target or self.inputs.source
        queries = self.layers[0].actual.shape[0]
        tokens = labels[-queries:] if reader is not None else [str(number) for number in range(1, queries + 1)]

        def stacked(name: str) -> Array:
            return np.stack([getattr(layer, name).float().cpu().numpy() for layer in self.layers])

        variables: dict[str, tuple[tuple[str, ...], Array]] = {
            "decomposed": ((LAYER, QUERY, SOURCE), stacked("lengths")),
            "bias_norm": ((LAYER, QUERY), np.linalg.norm(stacked("bias"), axis=-1)),
            "law_error": ((LAYER,), np.array(self.errors()[: len(self.layers)])),
        }
        if vectors:
            variables["state"] = ((LAYER, QUERY, SOURCE, MODEL), stacked("vectors"))
            variables["bias_state"] = ((LAYER, QUERY, MODEL), stacked("bias"))
        if self.target is not None:
            variables["contribution"] = ((SOURCE,), self.logit.contribution.cpu().numpy().astype(np.float32))
            attributes |= {"target": self.target.names[0], "target_value": self.value, "bias": self.bias}
            attributes |= {"completeness_error": self.logit.completeness_error}
        coordinates: dict[str, tuple[tuple[str, ...], Sequence[object]]] = {
            LAYER: ((LAYER,), [layer.number for layer in self.layers]),
            "query_token": ((QUERY,), tokens),
            "source_token": ((SOURCE,), labels),
        }
        if sides is not None:
            coordinates["source_side"] = ((SOURCE,), sides)
        return dataset(variables, coordinates, attributes, _LONG_NAMES)


def _only(output: Any, copy: int) -> Any:
    """The output for one of the copies, as far as targets look at it."""
    fields = {
        name: value[copy : copy + 1]
        for name in ("logits", "start_logits", "end_logits")
        if isinstance(value := getattr(output, name, None), Tensor)
    }
    return type(output)(**fields)


def _working(tensor: Tensor) -> Tensor:
    """Half-precision numbers are worked on in float32."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()
