"""Maps as shares: what both rollout and flow take the layers' maps to be."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from attnscope.errors import InputError


def over_heads(maps: NDArray[np.floating[Any]]) -> Float[np.ndarray, "layer query key"]:
    """One map a layer, checked: (layer, query, key), or the mean over heads of (layer, head, query, key)."""
    found = np.asarray(maps, np.float64)
    if found.ndim == 4:
        found = found.mean(1)
    if found.ndim != 3 or found.shape[1] != found.shape[2] or not found.size:
        raise InputError(
            f"maps must be of shape (layer, query, key) or (layer, head, query, key), with as many keys as queries; "
            f"got {np.shape(maps)}"
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError("maps must be finite and nowhere below 0: they say how much flows from key to query")
    return found


def shares(maps: NDArray[np.floating[Any]], *, identity: bool) -> Float[np.ndarray, "layer query key"]:
    """Each row as shares of its sum; with `identity`, half of what a token is made of is itself: (A + I) / 2.

    The identity stands for the residual connection, in maps that do not hold it. A row of zeros, of a token that
    takes nothing, becomes the token itself: what it was is all that it can be.
    """
    found = over_heads(maps)
    own = np.eye(found.shape[-1])
    sums = found.sum(-1, keepdims=True)
    rows = np.where(sums > 0, found / np.where(sums > 0, sums, 1), own)
    return (rows + own) / 2 if identity else rows
