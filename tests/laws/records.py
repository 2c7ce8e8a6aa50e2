"""Random layers that obey their own laws by construction, as a record and as the reference takes them."""

import torch
from hypothesis import strategies as st
from torch import Tensor

from attnscope.record import Block, LayerRecord
from attnscope.record import Norm as RecordNorm
from benchmarks.reference import Layer, Norm

PLACES = ("none", "branch", "post")


def sizes() -> st.SearchStrategy[dict[str, int]]:
    """Heads, queries and keys, the width of a head and of the model."""
    few = st.integers(1, 4)
    return st.fixed_dictionaries(
        {
            "heads": few,
            "queries": st.integers(1, 9),
            "keys": st.integers(1, 9),
            "value": few,
            "model": st.integers(2, 9),
        }
    )


class Dice:
    """Random numbers in float64 from one seed."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self._generator, dtype=torch.float64)

    def weights(self, *shape: int) -> Tensor:
        return self.normal(*shape).softmax(-1)

    def norm(self, width: int, *, centred: bool) -> Norm:
        return Norm(1 + self.normal(width) / 2, self.normal(width), 10 ** float(self.normal(1) - 3), centred)


def random_layer(
    seed: int,
    size: dict[str, int],
    *,
    place: str = "none",
    centred: bool = True,
    bias: bool = True,
    scale: float = 1.0,
    parallel: bool = False,
    cross: bool = False,
) -> Layer:
    """A layer whose outputs are what its parts make, by the formulas of the block and not by their linear form."""
    dice = Dice(seed)
    heads, queries, value, width = size["heads"], size["queries"], size["value"], size["model"]
    keys = size["keys"] if cross else queries
    alpha, values = dice.weights(heads, queries, keys), dice.normal(heads, keys, value)
    W_O, b_O = dice.normal(heads, value, width), dice.normal(width) if bias else None
    residual, extra = dice.normal(queries, width), dice.normal(queries, width) if parallel else None
    norm = None if place == "none" else dice.norm(width, centred=centred)
    mixed = (alpha @ values).transpose(0, 1).flatten(1) @ W_O.flatten(0, 1)
    attention = mixed if b_O is None else mixed + b_O
    added = scale * attention
    added = norm(added) if place == "branch" else added
    total = residual + added + (0 if extra is None else extra)
    return Layer(
        alpha=alpha,
        value=values,
        W_O=W_O,
        b_O=b_O,
        residual=residual,
        attention_output=attention,
        block_output=norm(total) if place == "post" else total,
        norm=norm,
        place=place,
        scale=scale,
        extra=extra,
        cross=cross,
    )


def as_record(layer: Layer, dtype: torch.dtype = torch.float64) -> LayerRecord:
    """The same layer as the engine takes it."""
    layer = layer.to(dtype)
    norm = None
    if layer.norm is not None:
        norm = RecordNorm(layer.norm.gamma, layer.norm.beta, layer.norm.eps, layer.norm.centred)
    return LayerRecord(
        layer=1,
        stack="cross" if layer.cross else "self",
        is_cross=layer.cross,
        value=layer.value,
        projection=layer.W_O,
        bias=layer.b_O,
        projected=layer.attention_output,
        block=Block(
            residual=layer.residual,
            output=layer.block_output,
            scale=None if layer.scale == 1 else torch.tensor([layer.scale], dtype=dtype),
            branch=norm if layer.place == "branch" else None,
            post=norm if layer.place == "post" else None,
            extra=layer.extra,
        ),
        read_attention=lambda rows: layer.alpha[:, rows],
    )


def layers() -> st.SearchStrategy[Layer]:
    """Every kind of block."""
    return st.builds(
        random_layer,
        st.integers(0, 2**31),
        sizes(),
        place=st.sampled_from(PLACES),
        centred=st.booleans(),
        bias=st.booleans(),
        scale=st.sampled_from([1.0, 0.3, -2.0]),
        parallel=st.booleans(),
        cross=st.booleans(),
    )
