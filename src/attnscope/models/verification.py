"""What proving a model found: reconstruction errors by layer, and what could not be followed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from attnscope.decompose.laws import LawErrors
from attnscope.errors import UnsupportedModel
from attnscope.models.structure import Refusal

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 5e-2, torch.float16: 1e-2}
"""The largest relative error of a row that is rounding. (Many norms compute in float32 even in a float64 model.)"""


@dataclass(frozen=True)
class LayerLaws:
    """The laws on one layer."""

    stack: str
    layer: int
    errors: LawErrors
    block_reason: str | None
    """Why Law 2 was not checked, where it was not."""
    layer_reason: str | None
    """Why Law 3 was not, where it was not."""


@dataclass(frozen=True)
class Verification:
    """The result of `Model.verify`."""

    model: str
    layers: tuple[LayerLaws, ...]
    tolerance: float
    refusals: tuple[Refusal, ...]
    others: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not any(True for _ in self.failures())

    @property
    def worst(self) -> float:
        """Of Laws 1 and 2: a model of which only Law 3 fails has its attention analysed, but not its whole layers."""
        errors = [_worst(laws.errors) for laws in self.layers]
        return max(errors, default=math.nan) if not any(map(math.isnan, errors)) else math.nan

    def open_layers(self) -> Iterator[str]:
        """Layers in which Law 3 does not hold, so that measures of whole layers are refused."""
        for laws in self.layers:
            if laws.errors.layer is not None and not laws.errors.layer <= self.tolerance:
                yield f"{laws.stack} layer {laws.layer}"

    def failures(self) -> Iterator[str]:
        """One sentence for each layer that does not add up or could not be followed."""
        for laws in self.layers:
            where = f"{laws.stack} layer {laws.layer}"
            if not laws.errors.attention <= self.tolerance:
                yield f"Law 1 fails in {where} with an error of {laws.errors.attention:.1e}"
            elif laws.errors.block is not None and not laws.errors.block <= self.tolerance:
                yield f"Law 2 fails in {where} with an error of {laws.errors.block:.1e}"
        for refusal in self.refusals:
            yield f"{refusal.module} could not be followed: {refusal.reason}"

    def raise_if_failed(self) -> None:
        failures = list(self.failures())
        if failures:
            more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
            raise UnsupportedModel(self.model, f"{failures[0]}{more}; rounding explains at most {self.tolerance:.0e}")


def _worst(errors: LawErrors) -> float:
    return replace(errors, layer=None).worst
