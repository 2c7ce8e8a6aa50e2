from collections.abc import Sequence

import numpy as np
import pytest
import xarray as xr


@pytest.fixture
def result():
    """A made-up result for any tokens."""

    def make(tokens: Sequence[str], layers: int = 2, heads: int = 3) -> xr.Dataset:
        size = len(tokens)
        random = np.random.default_rng(0)
        weight = random.dirichlet(np.ones(size), (layers, heads, size))
        labels = np.array(tokens, dtype=object)
        return xr.Dataset(
            {
                "weight": (("layer", "head", "query", "key"), weight),
                "attention_norm": (("layer", "query", "key"), random.random((layers, size, size))),
                "value_norm": (("layer", "head", "key"), random.random((layers, heads, size))),
            },
            {
                "layer": range(1, layers + 1),
                "head": range(1, heads + 1),
                "query_token": ("query", labels),
                "key_token": ("key", labels),
            },
            {"model": "made up", "text": " ".join(tokens)},
        )

    return make
