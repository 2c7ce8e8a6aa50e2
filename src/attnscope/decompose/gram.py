"""The Gram form: lengths of weighted sums from inner products alone.

‖Σ_h α^h_ij f^h(x_j)‖² = a_ijᵀ G_j a_ij with G_j[h, h'] = f^h(x_j) · f^h'(x_j). The tensor of all vectors, of size
head · query · key · model, is never built; what is held is of the order of the weights themselves.
"""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

ROWS, FEWEST = 128, 64
"""Query rows per step on a CPU: the copies made in a step then stay in its cache, and are small beside the weights."""


def length(vectors: Float[Tensor, "*lead model"]) -> Float[Tensor, "*lead"]:
    """‖v‖ along the last axis."""
    return cast("Tensor", torch.linalg.vector_norm(vectors, dim=-1))


def gram(vectors: Float[Tensor, "key head model"]) -> Float[Tensor, "key head head"]:
    """The inner products of each key's head vectors."""
    return vectors @ vectors.transpose(-1, -2)


def squared_lengths(
    weights: Float[Tensor, "head rows key"], grams: list[Float[Tensor, "key head head"]]
) -> list[Float[Tensor, "rows key"]]:
    """a_ijᵀ G_j a_ij for all pairs and each of several Gram forms; rounding below zero is cut off."""
    heads, rows, keys = weights.shape
    found = [weights.new_empty(rows, keys) for _ in grams]
    size = min(ROWS, max(FEWEST, keys // 2)) if weights.device.type == "cpu" else rows
    for start in range(0, rows, size):
        step = slice(start, start + size)
        columns = weights.new_empty(keys, heads, min(start + size, rows) - start)
        for head in range(heads):  # one at a time: the fast way to turn matrices over, above all for keys in the 1000s
            columns[:, head] = weights[head, step].T
        for matrix, lengths in zip(grams, found, strict=True):
            lengths[step] = torch.bmm(matrix, columns).mul_(columns).sum(1).clamp_min_(0).T
    return found
