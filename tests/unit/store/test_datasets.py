"""Results in files."""

import resource
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import attnscope as ats
from attnscope.errors import InputError
from attnscope.measures import MEASURES
from tests import zoo
from tests.conftest import zoo_model

ENDINGS = [".zarr", ".nc"]


@pytest.fixture
def result() -> xr.Dataset:
    return ats.analyze(zoo_model("bert"), "the cat, é and ☃!", measures=list(MEASURES))


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("how", [{}, {"reduce": "topk"}, {"reduce": "categories"}, {"stride": 20}, {"unit": "word"}])
def test_comes_back_as_it_was(ending: str, how: dict[str, object], tmp_path: Path) -> None:
    result = ats.analyze(zoo_model("bert"), "the cat, é and ☃! " * 3, measures=list(MEASURES), **how)
    path = ats.save(result, tmp_path / f"result{ending}")
    found = ats.load(path)
    xr.testing.assert_identical(found, result)
    for name in result.variables:
        if result[name].dtype.kind in "biuf":  # strings may come back as another type of string
            assert found[name].dtype == result[name].dtype, name
        assert found[name].dims == result[name].dims
    assert entries(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["qwen3-next", "vit", "bart"])
def test_other_models_come_back_too(ending: str, name: str, tmp_path: Path) -> None:
    result = ats.analyze(zoo_model(name), zoo.inputs(name))
    xr.testing.assert_identical(ats.load(ats.save(result, tmp_path / f"result{ending}")), result)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_there_stays(ending: str, result: xr.Dataset, tmp_path: Path) -> None:
    path = ats.save(result, tmp_path / f"result{ending}")
    other = result.assign_attrs(model="another")
    with pytest.raises(InputError, match="is there already"):
        ats.save(other, path)
    assert ats.load(path).attrs["model"] == "bert"
    ats.save(other, path, overwrite=True)
    assert ats.load(path).attrs["model"] == "another"
    assert entries(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("there", [False, True])
def test_a_failure_leaves_nothing_half_written(ending: str, there: bool, result: xr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / f"result{ending}"
    if there:
        ats.save(result, path)
    bad = result.assign(bad=("x", np.array([object()], dtype=object)))
    with pytest.raises((TypeError, ValueError)):
        ats.save(bad, path, overwrite=True)
    assert entries(tmp_path) == ([path.name] if there else [])
    if there:
        xr.testing.assert_identical(ats.load(path), result)


@pytest.mark.parametrize("room", [0, 600, 4000])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_told_and_leaves_nothing(ending: str, room: int, result: xr.Dataset, tmp_path: Path) -> None:
    large = result.assign(noise=("noise", np.random.default_rng(0).random(5000)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(InputError, match="can't be written: File too large"):
            ats.save(large, tmp_path / f"result{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert entries(tmp_path) == []


@pytest.mark.parametrize("name", ["result", "result.csv", "result.zarr.zip"])
def test_unknown_endings(name: str, result: xr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.zarr"):
        ats.save(result, tmp_path / name)
    with pytest.raises(InputError, match="unknown ending"):
        ats.load(tmp_path / name)


@pytest.mark.parametrize("ending", ENDINGS)
def test_places_that_are_not_there(ending: str, result: xr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        ats.save(result, tmp_path / "none" / f"result{ending}")
    with pytest.raises(InputError, match="no result"):
        ats.load(tmp_path / f"result{ending}")


@pytest.mark.parametrize("ending", ENDINGS)
def test_something_else_under_the_name(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"result{ending}"
    path.write_text("not a result")
    with pytest.raises(InputError):
        ats.load(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_loaded_result_does_not_hold_its_file(ending: str, result: xr.Dataset, tmp_path: Path) -> None:
    found = ats.load(ats.save(result, tmp_path / f"result{ending}"))
    ats.save(found, tmp_path / f"result{ending}", overwrite=True)
    xr.testing.assert_identical(found, result)
