"""The registry of measures."""

import pytest

from attnscope.errors import InputError
from attnscope.measures import MEASURES, lookup
from attnscope.measures.registry import measure


def test_names_are_the_published_ones() -> None:
    expected = {"weight", "value_norm", "head_norm", "attention_norm", "residual_norm", "block_norm"}
    assert expected | {"mixing_ratio", "expansion_rate"} <= set(MEASURES)


def test_names_near_miss() -> None:
    with pytest.raises(InputError, match="did you mean 'attention_norm'"):
        lookup("atention_norm")


def test_a_name_is_taken_once() -> None:
    def weight(rows: object) -> object:
        """Another one."""
        return rows

    with pytest.raises(ValueError, match="two measures are called weight"):
        measure(dims=(), formula="", paper="")(weight)
    assert MEASURES["weight"].formula == "α^h_ij"


@pytest.mark.parametrize(
    ("name", "is_map", "needs_block"),
    [
        ("weight", True, False),
        ("head_norm", True, False),
        ("attention_norm", True, False),
        ("residual_norm", True, True),
        ("block_norm", True, True),
        ("value_norm", False, False),
        ("expansion_rate", False, False),
        ("mixing_ratio", False, True),
    ],
)
def test_what_a_measure_needs(name: str, is_map: bool, needs_block: bool) -> None:
    assert lookup(name).is_map == is_map
    assert lookup(name).needs_block == needs_block
