"""Amounts as shares of their whole: the form in which weights and lengths can stand side by side."""

import xarray as xr


def row_shares(amounts: xr.DataArray) -> xr.DataArray:
    """Each query's amounts as shares of what it takes in from all keys."""
    return _of_total(amounts, "key")


def received(amounts: xr.DataArray) -> xr.DataArray:
    """The share of a measure that each key receives: by layer and head, from all queries together, then the mean.

    The mean over queries comes first, so that a map and its reduction over queries give the same.
    """
    means = amounts.mean("query") if "query" in amounts.dims else amounts
    return _mean(_of_total(means, "key"), ("head", "layer"))


def by_category(amounts: xr.DataArray) -> xr.DataArray:
    """The share of a measure that each category of keys receives, by layer."""
    return _mean(_of_total(amounts, "category"), ("head", "window"))


def _of_total(amounts: xr.DataArray, dim: str) -> xr.DataArray:
    total = amounts.sum(dim)
    return (amounts / total.where(total > 0, 1)).transpose(*amounts.dims)


def _mean(values: xr.DataArray, dims: tuple[str, ...]) -> xr.DataArray:
    return values.mean([dim for dim in dims if dim in values.dims])
