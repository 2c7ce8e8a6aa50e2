"""Layers with a gate or a norm before the projection, against vectors that are all written out."""

import dataclasses

import pytest
import torch
from torch import Tensor

from attnscope.decompose.gram import gram, squared_lengths
from attnscope.decompose.laws import check, relative_error, worst_row
from attnscope.decompose.parts import Parts
from attnscope.decompose.scopes import NoBlock, scope
from attnscope.decompose.vectors import part_vectors
from attnscope.record import LayerRecord, Norm, Tail
from tests.laws.records import Dice, as_record, random_layer

SIZE = {"heads": 3, "queries": 5, "keys": 5, "value": 4, "model": 7}
SCOPES = ("attention", "residual", "block")


def special_record(place: str, *, gate: bool, row_scale: bool) -> LayerRecord:
    """A record whose outputs fit its gate and row scale."""
    layer = random_layer(1, SIZE, place=place, bias=False)
    dice = Dice(2)
    record = dataclasses.replace(
        as_record(layer),
        gate=dice.normal(3, 5, 4) if gate else None,
        row_scale=dice.normal(5).abs() if row_scale else None,
    )
    projected = vectors(record).sum((0, 2))
    norm = layer.norm
    added = norm(projected) if place == "branch" else projected
    output = layer.residual + added
    output = norm(output) if place == "post" else output
    return dataclasses.replace(record, projected=projected, block=dataclasses.replace(record.block, output=output))


def vectors(record: LayerRecord) -> Tensor:
    """(head, query, key, model)"""
    value = record.value[:, None].expand(-1, record.queries, -1, -1)
    value = value if record.gate is None else value * record.gate[:, :, None]
    sent = torch.einsum("hqkv,hvm->hqkm", value, record.projection) * record.attention()[..., None]
    return sent if record.row_scale is None else sent * record.row_scale[None, :, None, None]


KINDS = [(place, gate, row) for place in ("none", "post", "branch") for gate in (True, False) for row in (True, False)]


@pytest.mark.parametrize(("place", "gate", "row_scale"), KINDS)
@pytest.mark.parametrize("step", [2, 5])
def test_lengths_are_those_of_the_vectors(place: str, gate: bool, row_scale: bool, step: int) -> None:
    record = special_record(place, gate=gate, row_scale=row_scale)
    parts = Parts(record, SCOPES)
    blocks = [parts.rows(rows) for rows in record.row_blocks(step)]
    full = vectors(record)
    torch.testing.assert_close(torch.cat([rows.head_norm for rows in blocks], 1), full.norm(dim=-1))
    expected = {"attention": full.sum(0)}
    expected["residual"] = expected["attention"] + torch.diag_embed(record.block.residual.T).permute(1, 2, 0)
    block, own = expected["attention"], record.block.residual
    if place == "branch":
        norm = record.block.branch
        block = norm.linear(block) / norm.spread(record.projected)[:, None]
    if place == "post":
        norm = record.block.post
        s = norm.spread(record.block.residual + record.projected)
        block, own = norm.linear(block) / s[:, None], norm.linear(own) / s
    expected["block"] = block + torch.diag_embed(own.T).permute(1, 2, 0)
    for name in SCOPES:
        lengths = torch.cat([rows.lengths[name] for rows in blocks])
        torch.testing.assert_close(lengths, expected[name].norm(dim=-1), rtol=1e-7, atol=1e-7)
        mixing, diagonal = parts.mixing(name), torch.eye(5, dtype=torch.bool)
        others = (expected[name] * ~diagonal[..., None]).sum(1).norm(dim=-1)
        torch.testing.assert_close(mixing.others, others, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(mixing.own, lengths.diagonal(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("place", "gate", "row_scale"), KINDS)
def test_laws_hold_and_notice(place: str, gate: bool, row_scale: bool) -> None:
    record = special_record(place, gate=gate, row_scale=row_scale)
    assert check(record).worst < 1e-12
    errors = Parts(record, SCOPES)
    sketched = torch.cat([errors.sketched_error(errors.rows(rows)) for rows in record.row_blocks(2)])
    assert errors.errors(sketched).worst < 1e-12
    if gate:
        assert check(dataclasses.replace(record, gate=record.gate.flip(0))).attention > 1e-2
    if row_scale:
        assert check(dataclasses.replace(record, row_scale=2 * record.row_scale)).attention > 1e-2


@pytest.mark.parametrize("place", ["none", "post", "branch"])
def test_the_end_of_a_layer_scales_and_normalises_every_part(place: str) -> None:
    dice = Dice(5)
    known, total, scale = dice.norm(7, centred=True), dice.normal(5, 7), dice.normal(7)
    closing = Norm(known.gamma, known.beta, known.eps, known.centred)
    tail = Tail(output=total, is_parallel=False, scale=scale, post=closing, total=total)
    record = dataclasses.replace(special_record(place, gate=False, row_scale=False), tail=tail)
    block = part_vectors(record, "block", slice(None)).transpose(0, 1)
    closed = closing.linear(scale * block) / closing.spread(total)[:, None]
    lengths = Parts(record, ("encoder",)).rows(slice(0, 5)).lengths["encoder"]
    torch.testing.assert_close(lengths, closed.norm(dim=-1), rtol=1e-7, atol=1e-7)


def test_behind_a_gate_a_value_has_no_length() -> None:
    with pytest.raises(ValueError, match="another one for each query"):
        _ = Parts(special_record("none", gate=True, row_scale=False)).sent_norm


def test_without_a_block_only_attention_is_known() -> None:
    record = dataclasses.replace(as_record(random_layer(0, SIZE)), block=None)
    scope(record, "attention")
    assert check(record).block is None
    for name in ("residual", "block"):
        with pytest.raises(NoBlock, match="layer 1"):
            scope(record, name)


def test_squared_lengths_are_never_negative() -> None:
    """Three heads that cancel leave rounding of either sign."""
    generator = torch.Generator().manual_seed(0)
    one, two = torch.randn(2, 40, 1, 9, generator=generator)
    matrices = gram(torch.cat([one, two, -one - two], 1))
    weights = torch.rand(1, 30, 40, generator=generator).repeat(3, 1, 1)
    assert float(torch.einsum("hqk,kgh,gqk->qk", weights, matrices, weights).min()) < 0
    (found,) = squared_lengths(weights, [matrices])
    assert float(found.min()) == 0
    assert float(found.max()) < 1e-4


def test_relative_error_is_of_the_worst_row() -> None:
    actual = torch.ones(4, 3)
    found = actual.clone()
    found[2] *= 1.5
    assert relative_error(found, actual) == pytest.approx(0.5)
    assert relative_error(actual, actual) == 0


def test_a_huge_row_does_not_hide_the_others() -> None:
    actual = torch.ones(5, 3)
    actual[0] = 1e4
    found = actual.clone()
    found[1] += 0.1
    assert relative_error(found, actual) == pytest.approx(0.1)


def test_a_row_of_nothing_is_measured_by_the_others() -> None:
    actual = torch.ones(5, 3)
    actual[0] = 0
    assert worst_row(torch.full((5,), 1e-7), actual) == pytest.approx(1e-7 / 3**0.5)


def test_nothing_at_all_is_no_error_and_no_division_by_zero() -> None:
    assert relative_error(torch.zeros(3, 2), torch.zeros(3, 2)) == 0


def test_not_a_number_never_passes() -> None:
    actual = torch.ones(3, 2)
    found = actual.clone()
    found[1, 1] = float("nan")
    assert not relative_error(found, actual) <= 1e-5
