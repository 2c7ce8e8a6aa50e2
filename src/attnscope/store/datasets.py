"""Datasets in files that come back as they were: Zarr (a folder) or NetCDF (one file)."""

from pathlib import Path
from typing import Any

import xarray as xr
import zarr.storage

from attnscope.errors import InputError
from attnscope.places import check_place, whole

FORMATS = {".zarr": "Zarr", ".nc": "NetCDF"}


def save(result: xr.Dataset, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a result to PATH.zarr or PATH.nc, whole or not at all; what is there already stays unless `overwrite`."""
    target = Path(path)
    check_target(target, overwrite=overwrite)
    # By way of memory: where a disk is full, HDF5 ends the process, and Zarr goes on writing after it has said so.
    files = _zarr(result) if target.suffix == ".zarr" else {"": _netcdf(result)}
    with whole(target) as partial:
        for name, content in files.items():
            place = partial / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return target


def _zarr(result: xr.Dataset) -> dict[str, bytes]:
    """The files of a folder, by their paths in it."""
    store = zarr.storage.MemoryStore(files := dict[str, Any]())
    result.to_zarr(store, zarr_format=2, consolidated=True)
    return {name: content.to_bytes() for name, content in files.items()}


def _netcdf(result: xr.Dataset) -> bytes:
    return bytes(result.to_netcdf(engine="h5netcdf", format="NETCDF4"))


def load(path: str | Path) -> xr.Dataset:
    """Read a result that `save` wrote, all of it into memory."""
    source = Path(path)
    if source.suffix not in FORMATS:
        raise InputError(f"{source} has an unknown ending; results are {' or '.join(FORMATS)}")
    if not source.exists():
        raise InputError(f"there is no result at {source}")
    try:
        opened = xr.open_zarr(source) if source.suffix == ".zarr" else xr.open_dataset(source, engine="h5netcdf")
        with opened as found:
            return found.load().drop_encoding()
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{source} is no {FORMATS[source.suffix]} result that can be read") from error


def check_target(path: Path, *, overwrite: bool) -> None:
    """What can be wrong with a place to write to, said before any work is done."""
    if path.suffix not in FORMATS:
        raise InputError(f"{path} has an unknown ending; name it {path.stem}.zarr or {path.stem}.nc")
    check_place(path, overwrite=overwrite, folder=path.suffix == ".zarr")
