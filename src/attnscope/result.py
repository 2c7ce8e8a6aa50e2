"""Results: labelled arrays (`xarray.Dataset`). torch ends here."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Array = NDArray[np.generic]
Attribute = str | int | float
_BETWEEN = ", "


def dataset(
    variables: Mapping[str, tuple[tuple[str, ...], Array]],
    coordinates: Mapping[str, tuple[tuple[str, ...], Sequence[object] | Array]],
    attributes: Mapping[str, Attribute],
    long_names: Mapping[str, str],
) -> xr.Dataset:
    """A labelled dataset of variables that share their axes; attributes are such as NetCDF and Zarr both hold."""
    described = {
        name: (dims, array, {"long_name": long_names[name]} if name in long_names else {})
        for name, (dims, array) in variables.items()
    }
    present = {dim for dims, _ in variables.values() for dim in dims}
    labels = {name: (dims, _labels(values)) for name, (dims, values) in coordinates.items() if present.issuperset(dims)}
    return xr.Dataset(described, labels, dict(attributes))


def _labels(values: Iterable[object] | Array) -> Array:
    """Strings as objects: fixed-width strings come back from a file as another type."""
    listed = list(values)
    return np.array(listed, dtype=object if any(isinstance(value, str) for value in listed) else None)


def measures_of(result: xr.Dataset) -> list[str]:
    """The measures that were asked for; an attribute holds no list that comes back from every file as one."""
    return str(result.attrs["measures"]).split(_BETWEEN)


def joined(names: Iterable[str]) -> str:
    """Names as one attribute."""
    return _BETWEEN.join(names)


def versions() -> dict[str, Attribute]:
    """What a number was computed with."""
    return {f"{package}_version": _version(package) for package in ("attnscope", "transformers", "torch")}


@cache
def _version(package: str) -> str:
    """Looked up once: it is read from files, which takes as long as a layer of a small model."""
    return version(package)
