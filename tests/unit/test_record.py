"""The record of a layer, and the norm in it."""

import dataclasses

import pytest
import torch

from attnscope.record import Norm
from tests.laws.records import as_record, random_layer

SIZE = {"heads": 2, "queries": 7, "keys": 7, "value": 3, "model": 5}


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_row_blocks_cover_all_rows_once(size: int) -> None:
    record = as_record(random_layer(0, SIZE))
    rows = [row for block in record.row_blocks(size) for row in range(block.start, block.stop)]
    assert rows == list(range(7))


def test_sizes_and_diagonal() -> None:
    record = as_record(random_layer(0, SIZE))
    assert (record.heads, record.queries, record.keys) == (2, 7, 7)
    torch.testing.assert_close(record.attention_diagonal, record.attention().diagonal(0, 1, 2))
    torch.testing.assert_close(record.attention(slice(2, 4)), record.attention()[:, 2:4])


def test_records_are_frozen() -> None:
    record = as_record(random_layer(0, SIZE))
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.layer = 3


@pytest.mark.parametrize("centred", [True, False])
def test_norm_is_what_torch_computes(centred: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(*shape, generator=generator) for shape in ((4, 6), (6,), (6,)))
    norm = Norm(weight, bias, 1e-3, centred)
    found = norm.linear(x) / norm.spread(x) + bias
    if centred:
        expected = torch.nn.functional.layer_norm(x, (6,), weight, bias, 1e-3)
    else:
        expected = torch.nn.functional.rms_norm(x, (6,), weight, 1e-3) + bias
    torch.testing.assert_close(found, expected)


def test_norm_leaves_its_input_alone() -> None:
    x = torch.randn(3, 4)
    before = x.clone()
    for centred in (True, False):
        norm = Norm(torch.ones(4) * 2, torch.zeros(4), 1e-5, centred)
        norm.linear(x), norm.spread(x)
        assert torch.equal(x, before)
