"""Every measure on every architecture against a materialised reference that shares no code with the engine."""

import functools

import numpy as np
import pytest
import torch
import xarray as xr

import attnscope as ats
from benchmarks.reference import Layer, Reference, materialise
from tests import zoo
from tests.conftest import OF_ATTENTION, zoo_model
from tests.contracts import extraction

CASES = sorted(extraction.ARCHITECTURES)


@functools.cache
def layers_of(name: str, stack: str) -> tuple[Layer, ...]:
    return tuple(extraction.zoo_layers(name, stack))


@functools.cache
def references(name: str, stack: str) -> tuple[Reference, ...]:
    return tuple(materialise(layer) for layer in layers_of(name, stack))


@functools.cache
def analysed(name: str, stack: str) -> xr.Dataset:
    return ats.analyze(zoo_model(name), zoo.inputs(name), measures=OF_ATTENTION, stack=stack)


def relative(found: torch.Tensor, actual: torch.Tensor) -> float:
    return float((found - actual).norm() / actual.norm())


@pytest.mark.parametrize(("name", "stack"), CASES)
def test_the_reference_itself_adds_up(name: str, stack: str) -> None:
    for layer, reference in zip(layers_of(name, stack), references(name, stack), strict=True):
        assert relative(reference.law1, layer.attention_output) < 1e-6
        assert relative(reference.law2, layer.block_output) < 1e-6


@pytest.mark.parametrize("measure", sorted(OF_ATTENTION))
@pytest.mark.parametrize(("name", "stack"), CASES)
def test_measure_is_what_the_reference_says(name: str, stack: str, measure: str) -> None:
    expected = np.stack([reference.measures[measure] for reference in references(name, stack)])
    found = analysed(name, stack)[measure].values
    assert found.shape == expected.shape
    # An entry whose vectors cancel has an absolute error of the order of what cancels.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * expected.max())


@pytest.mark.parametrize(("name", "stack"), CASES)
def test_every_layer_carries_both_errors(name: str, stack: str) -> None:
    errors = analysed(name, stack)["law_error"]
    assert errors.dims == ("layer", "law")
    assert bool((errors < 1e-5).all())


@pytest.mark.parametrize("name", ["gpt-neox", "falcon", "falcon-new"])
def test_parallel_blocks_leave_the_feed_forward_out(name: str) -> None:
    found = analysed(name, "self")
    np.testing.assert_array_equal(found["block_norm"], found["residual_norm"])


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_across_stacks_the_residual_belongs_to_no_key(name: str) -> None:
    found = analysed(name, "cross")
    np.testing.assert_allclose(found["residual_norm"], found["attention_norm"], rtol=1e-6)
    np.testing.assert_allclose(found["mixing_ratio"].sel(variant="attention"), 1)


def test_a_multiplier_is_part_of_the_residual_scope_only() -> None:
    found = analysed("granite", "self")
    multiplier = zoo.SPECS["granite"].options["residual_multiplier"]
    below = np.tri(found.sizes["query"], k=-1, dtype=bool)
    scaled, plain = found["residual_norm"].values[:, below], found["attention_norm"].values[:, below]
    np.testing.assert_allclose(scaled, multiplier * plain, rtol=1e-4)
