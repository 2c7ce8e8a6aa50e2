"""Maximum flow: how much could reach a token from a word if every layer's map were a net of pipes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from attnscope.errors import InputError
from attnscope.methods.rows import over_heads

_LARGEST = 2**30
"""The largest whole number for a capacity or a flow: the solver counts in 32 bits."""
Progress = Callable[[int, int], None]
"""Called with the number of outputs done and the number there are."""


def max_flow(
    maps: NDArray[np.floating[Any]],
    *,
    layers: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Float[np.ndarray, "layer query source"]:
    """The maximum flow from each token of some layers to each input token (Abnar & Zuidema 2020).

    Token u of layer l is joined to token v of the layer below by a pipe as wide as the map's entry (u, v). Entries
    are taken as they are; `attnscope.methods.rows.shares` makes them shares, with the residual connection.

    maps     (layer, query, key), or (layer, head, query, key), of which the mean over heads is taken
    layers   which layers' tokens to start from, counted from 1; all if None
    queries  which of their tokens, counted from 0; all if None

    Exact for capacities rounded down to multiples of `resolution(maps)`, 2⁻³⁰ of the widest row or entry: never more
    than the true flow, and less by at most that resolution for each pipe in the minimum cut. Solved by Dinic's
    algorithm (scipy), once for each pair of tokens.
    """
    capacities = over_heads(maps)
    depth = len(capacities)
    chosen = list(range(1, depth + 1) if layers is None else layers)
    if any(not 1 <= layer <= depth for layer in chosen):
        raise InputError(f"layers are numbers from 1 to {depth}, not {chosen}")
    unit = resolution(capacities)
    tokens = capacities.shape[-1]
    starts = range(tokens) if queries is None else queries
    if any(not 0 <= query < tokens for query in starts):
        raise InputError(f"queries are numbers from 0 to {tokens - 1}, not {list(starts)}")
    flows = np.zeros((len(chosen), len(starts), tokens))
    for number, layer in enumerate(chosen):
        graph = _graph(np.floor(capacities[:layer] / unit).astype(np.int32))
        for row, query in enumerate(starts):
            found = [maximum_flow(graph, layer * tokens + query, source).flow_value for source in range(tokens)]
            flows[number, row] = np.array(found) * unit
            if progress is not None:
                progress(number * len(starts) + row + 1, len(chosen) * len(starts))
    return flows


def resolution(maps: NDArray[np.floating[Any]]) -> float:
    """The unit that capacities are counted in."""
    widest = float(over_heads(maps).sum(-1).max())
    return (widest or 1.0) / _LARGEST


def _graph(capacities: NDArray[np.int32]) -> Any:
    """Tokens by layer from the bottom: node l·T + u is token u of layer l, with layer 0 the input."""
    layers, tokens, _ = capacities.shape
    layer, query, key = np.nonzero(capacities)
    above, below = (layer + 1) * tokens + query, layer * tokens + key
    nodes = (layers + 1) * tokens
    return csr_array((capacities[layer, query, key], (above, below)), shape=(nodes, nodes))
