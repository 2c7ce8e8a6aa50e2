import pickle

import pytest

from attnscope.axes import GLOSSARY
from attnscope.errors import AttnscopeError, InputError, UnsupportedModel, near, one_of, unknown

MEASURES = ("weight", "value_norm", "attention_norm", "block_norm")


def test_an_unknown_name_is_answered_with_the_near_ones():
    assert str(unknown("measure", "atention_norm", MEASURES)) == (
        "unknown measure 'atention_norm'; did you mean 'attention_norm'?"
        " known: weight, value_norm, attention_norm, block_norm"
    )


def test_nothing_near_is_suggested_when_nothing_is_near():
    assert str(unknown("measure", "zzz", ("weight",))) == "unknown measure 'zzz'; known: weight"


def test_no_choice_at_all_is_said():
    assert str(unknown("adapter", "x", ())) == "unknown adapter 'x'; known: none"


def test_several_near_names_are_joined_by_or():
    assert "did you mean 'value_norm' or 'values_norm'?" in str(
        unknown("measure", "value_norn", ("values_norm", "value_norm"))
    )


def test_near_ignores_case_and_gives_the_known_spelling():
    assert near("WEIGHT", MEASURES) == ("weight",)
    assert near("cls", ("[CLS]", "CLS")) == ("CLS", "[CLS]")


def test_one_of_returns_a_known_name():
    assert one_of("measure", "weight", iter(MEASURES)) == "weight"


def test_one_of_raises_for_an_unknown_name():
    with pytest.raises(InputError, match="unknown measure 'wieght'; did you mean 'weight'"):
        one_of("measure", "wieght", MEASURES)


def test_input_error_is_ours_and_a_value_error():
    assert issubclass(InputError, AttnscopeError)
    assert issubclass(InputError, ValueError)


def test_unsupported_model_says_which_and_why():
    error = UnsupportedModel("some/model", "its layers do not add up")
    assert isinstance(error, AttnscopeError)
    assert (error.model, error.reason) == ("some/model", "its layers do not add up")
    assert str(error) == "some/model is not supported: its layers do not add up"


def test_unsupported_model_survives_a_process_boundary():
    error = pickle.loads(pickle.dumps(UnsupportedModel("m", "r")))
    assert (str(error), error.model, error.reason) == ("m is not supported: r", "m", "r")


def test_the_glossary_names_each_axis_once_in_order():
    assert list(GLOSSARY) == ["layer", "head", "query", "key", "model", "value", "source", "category", "lag", "step"]
    assert all(GLOSSARY.values())
