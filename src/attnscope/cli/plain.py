"""Results as JSON: numbers as short as their precision allows, and nothing that JSON has no word for."""

import json
import sys
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

_DIGITS = 9
"""Enough to tell any two float32 numbers apart."""


def write_json(value: object) -> None:
    """JSON on standard output."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, ensure_ascii=not plain, allow_nan=False))


def as_json(result: xr.Dataset) -> dict[str, Any]:
    """A result: its attributes, its axes with their labels, and its variables as nested lists."""
    return {
        "attributes": {str(name): _value(value) for name, value in result.attrs.items()},
        "dims": {str(name): size for name, size in result.sizes.items()},
        "coordinates": {str(name): _array(result[name]) for name in result.coords},
        "measures": {
            str(name): _array(array) | {"attributes": {str(key): _value(value) for key, value in array.attrs.items()}}
            for name, array in result.data_vars.items()
        },
    }


def number(value: float | None) -> float | None:
    """A number, or null where there is none."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.{_DIGITS}g}")


def _array(array: xr.DataArray) -> dict[str, Any]:
    return {"dims": list(map(str, array.dims)), "values": _nested(array.to_numpy())}


def _nested(values: NDArray[Any]) -> Any:
    if values.dtype.kind != "f":
        return values.tolist()
    flat = [number(value) for value in values.ravel().tolist()]
    return _folded(flat, values.shape)


def _folded(flat: list[float | None], shape: tuple[int, ...]) -> Any:
    """Nested lists of this shape."""
    if not shape:
        return flat[0]
    nested: list[Any] = flat
    for position in range(len(shape) - 1, 0, -1):
        size = shape[position]
        count = int(np.prod(shape[:position]))
        nested = [nested[row * size : (row + 1) * size] for row in range(count)]
    return nested


def _value(value: Any) -> Any:
    """An attribute; xarray keeps some as NumPy's own kinds."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return number(plain) if isinstance(plain, float) else plain
