"""Rollout: the layers' maps multiplied through, from the words to each layer."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from attnscope.methods.rows import shares


def rollout(maps: NDArray[np.floating[Any]], *, identity: bool) -> Float[np.ndarray, "layer query source"]:
    """R_l = Ã_l R_{l−1}, R_0 = I, with Ã the map in shares of its rows (Abnar & Zuidema 2020).

    maps       (layer, query, key), or (layer, head, query, key), of which the mean over heads is taken
    identity   whether to take (Ã + I) / 2 in Ã's place: for weights and other maps without the residual connection.
               Maps that hold it already, such as block_norm, need none.

    Every row sums to 1. What is causal stays causal. A row of zeros counts as a token that keeps what it has.
    """
    layers = shares(maps, identity=identity)
    rolled = np.empty_like(layers)
    below = np.eye(layers.shape[-1])
    for number, layer in enumerate(layers):
        below = rolled[number] = layer @ below
    return rolled
