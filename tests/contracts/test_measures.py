"""What every registered measure promises, read from the registry."""

import numpy as np
import pytest

import attnscope as ats
from attnscope.axes import GLOSSARY
from attnscope.measures import MEASURES, lookup
from tests import zoo
from tests.conftest import zoo_model

MODELS = ["bert", "llama", "gemma2", "gpt-neox", "granite", "gpt-oss", "bloom"]


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_says_what_it_is_and_where_it_comes_from(name: str) -> None:
    measure = MEASURES[name]
    assert lookup(name) is measure
    assert measure.name == name
    assert measure.formula
    assert measure.summary.endswith((".", "variants.", "weights only."))
    assert any(year in measure.paper for year in ("2020", "2021", "2022", "2023", "2024"))
    assert set(measure.dims) <= set(GLOSSARY) | set(measure.coordinates)


@pytest.mark.parametrize("name", sorted(MEASURES))
@pytest.mark.parametrize("model", MODELS)
def test_has_its_dims_and_only_lengths(model: str, name: str) -> None:
    result = ats.analyze(zoo_model(model), zoo.inputs(model), measures=name)
    array = result[name]
    assert array.dims == ("layer", *MEASURES[name].dims)
    assert array.dtype == np.float32
    assert array.attrs["long_name"]
    assert bool(np.isfinite(array).all())
    assert bool((array >= 0).all())


@pytest.mark.parametrize("name", sorted(MEASURES))
@pytest.mark.parametrize("model", ["bert", "gemma2", "qwen3-next"])
def test_asked_alone_gives_what_it_gives_among_all(model: str, name: str) -> None:
    if (model, name) == ("qwen3-next", "value_norm"):
        return  # a gate: there is none
    among = [other for other in MEASURES if (model, other) != ("qwen3-next", "value_norm")]
    together = ats.analyze(zoo_model(model), zoo.inputs(model), measures=among)[name]
    alone = ats.analyze(zoo_model(model), zoo.inputs(model), measures=name)[name]
    np.testing.assert_allclose(alone, together, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", ["bert", "llama", "gemma2"])
def test_ratios_lie_between_zero_and_one(model: str) -> None:
    ratio = ats.analyze(zoo_model(model), zoo.inputs(model), measures="mixing_ratio")["mixing_ratio"]
    assert bool((ratio <= 1).all())
    np.testing.assert_allclose(ratio.sel(variant="residual_weight"), ratio.sel(variant="weight") / 2)


@pytest.mark.parametrize("model", ["bert", "llama", "bloom"])
def test_head_norm_is_weight_times_value_norm(model: str) -> None:
    found = ats.analyze(zoo_model(model), zoo.inputs(model), measures=["weight", "value_norm", "head_norm"])
    np.testing.assert_allclose(found["head_norm"], (found["weight"] * found["value_norm"]).values, rtol=1e-6)
