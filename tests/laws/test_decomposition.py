"""The Gram form is the full tensor, and frozen norms and blocks add up, for layers of any size and kind."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from attnscope.decompose.gram import gram, squared_lengths
from attnscope.decompose.laws import check
from attnscope.decompose.parts import Parts
from attnscope.decompose.scopes import scope
from attnscope.measures import MEASURES
from attnscope.record import Norm
from benchmarks.reference import Layer, materialise
from tests.conftest import OF_ATTENTION
from tests.laws.records import Dice, as_record, layers, sizes

COMPUTED = [MEASURES[name] for name in OF_ATTENTION if name != "expansion_rate"]
SCOPES = ("attention", "residual", "block")


def close(found: torch.Tensor, expected: torch.Tensor, tolerance: float) -> bool:
    """Relative to the largest entry: lengths of sums that cancel carry the rounding of what cancelled."""
    assert found.shape == expected.shape
    return bool((found - expected).abs().max() <= tolerance * expected.abs().max().clamp_min(1e-6))


@given(st.integers(0, 2**31), sizes(), st.integers(1, 150))
def test_gram_form_is_the_full_tensor(seed: int, size: dict[str, int], queries: int) -> None:
    dice = Dice(seed)
    weights = dice.normal(size["heads"], queries, size["keys"])
    vectors = [dice.normal(size["keys"], size["heads"], size["model"]) for _ in range(2)]
    full = [torch.einsum("hqk,khm->qkm", weights, each).square().sum(-1) for each in vectors]
    found = squared_lengths(weights, [gram(each) for each in vectors])
    assert all(close(one, other, 1e-13) for one, other in zip(found, full, strict=True))
    assert all(bool((one >= 0).all()) for one in found)


@given(st.integers(0, 2**31), st.integers(2, 40), st.integers(1, 6), st.booleans())
def test_frozen_norm_is_linear_and_its_parts_add_up(seed: int, width: int, parts: int, centred: bool) -> None:
    dice = Dice(seed)
    known = dice.norm(width, centred=centred)
    norm = Norm(known.gamma, known.beta, known.eps, centred)
    summands = dice.normal(parts, 3, width)
    total = summands.sum(0)
    linear = (norm.linear(summands) / norm.spread(total)).sum(0) + norm.bias
    if centred:
        actual = torch.nn.functional.layer_norm(total, (width,), known.gamma, known.beta, known.eps)
    else:
        actual = torch.nn.functional.rms_norm(total, (width,), known.gamma, known.eps) + known.beta
    torch.testing.assert_close(linear, actual, rtol=1e-9, atol=1e-9)


@given(layers())
def test_both_laws_hold(layer: Layer) -> None:
    reference = materialise(layer)
    assert close(reference.law1, layer.attention_output, 1e-12)
    assert close(reference.law2, layer.block_output, 1e-10)
    assert check(as_record(layer)).worst < 1e-9


@given(layers(), st.integers(1, 9))
def test_every_measure_is_what_the_reference_says(layer: Layer, step: int) -> None:
    record, expected = as_record(layer), materialise(layer).measures
    parts = Parts(record, SCOPES)
    blocks = [parts.rows(rows) for rows in record.row_blocks(step)]
    for measure in COMPUTED:
        found = [measure.compute(rows) for rows in blocks] if measure.is_map else [measure.compute(parts)]
        found = torch.cat(found, -2) if measure.is_map else found[0]
        assert close(found, expected[measure.name], 1e-6), measure.name


@given(layers())
def test_the_error_carried_by_every_analysis_is_rounding(layer: Layer) -> None:
    record = as_record(layer)
    parts = Parts(record, SCOPES)
    errors = torch.cat([parts.sketched_error(parts.rows(rows)) for rows in record.row_blocks(3)])
    assert parts.errors(errors).worst < 1e-9


@given(layers())
def test_asked_for_alone_a_scope_is_the_same(layer: Layer) -> None:
    record = as_record(layer)
    everything = Parts(record, SCOPES).rows(slice(0, record.queries))
    for name in SCOPES:
        alone = Parts(record, (name,)).rows(slice(0, record.queries))
        torch.testing.assert_close(alone.lengths[name], everything.lengths[name])


@given(layers())
def test_maps_of_a_scope_are_linear(layer: Layer) -> None:
    """With its statistics frozen, a scope carries a sum as the sum of what it carries."""
    record = as_record(layer)
    left, right = Dice(1).normal(*record.projected.shape), Dice(2).normal(*record.projected.shape)
    for name in SCOPES:
        carried = scope(record, name).carried
        together, apart = carried(left + 3 * right), carried(left) + 3 * carried(right)
        torch.testing.assert_close(together, apart, rtol=1e-8, atol=1e-8 * float(apart.abs().max()))
