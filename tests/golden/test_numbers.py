"""Stored numbers, against the engine and against the reference that wrote them."""

import numpy as np
import pytest

import attnscope as ats
from tests.conftest import OF_ATTENTION, zoo_model
from tests.golden import numbers


@pytest.mark.parametrize("case", numbers.CASES)
def test_every_measure_is_stored(case: str) -> None:
    assert set(numbers.stored(case)) == set(OF_ATTENTION)


@pytest.mark.parametrize("measure", sorted(OF_ATTENTION))
@pytest.mark.parametrize("case", numbers.CASES)
def test_engine_gives_the_stored_numbers(case: str, measure: str) -> None:
    name, stack = numbers.CASES[case]
    expected = np.array(numbers.stored(case)[measure])
    found = ats.analyze(zoo_model(name), numbers.inputs(name), measures=measure, stack=stack)[measure]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * expected.max())


@pytest.mark.parametrize("case", numbers.CASES)
def test_reference_gives_the_stored_numbers(case: str) -> None:
    found, expected = numbers.computed(*numbers.CASES[case]), numbers.stored(case)
    for measure in expected:
        np.testing.assert_allclose(found[measure], expected[measure], rtol=1e-5, atol=1e-6)
