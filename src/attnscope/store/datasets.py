"""Datasets in files that come back as they were: Zarr (a folder) or NetCDF (one file)."""

from pathlib import Path

import xarray as xr

from attnscope.errors import InputError
from attnscope.places import check_place, whole

FORMATS = {".zarr": "Zarr", ".nc": "NetCDF"}


def save(result: xr.Dataset, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a result to PATH.zarr or PATH.nc, whole or not at all; what is there already stays unless `overwrite`."""
    target = Path(path)
    check_target(target, overwrite=overwrite)
    with whole(target) as partial:
        if target.suffix == ".zarr":
            result.to_zarr(partial, zarr_format=2, consolidated=True)
        else:
            result.to_netcdf(partial, engine="h5netcdf", format="NETCDF4")
    return target


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
