import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnscope.errors import InputError
from attnscope.text.tokens import Tokens
from attnscope.text.words import (
    between_words,
    grouped,
    mean_over_query_pieces,
    sum_over_key_pieces,
    to_words,
    units,
)

WORDS = st.lists(st.none() | st.integers(0, 4), min_size=1, max_size=8)
VALUES = st.floats(-100, 100, width=32)


def by_hand(array, axis, words, how):
    moved = np.moveaxis(array, axis, 0)
    rows = [getattr(moved[list(group)], how)(axis=0) for group in grouped(words)]
    return np.moveaxis(np.stack(rows), 0, axis)


@st.composite
def weights(draw):
    queries, keys = draw(WORDS), draw(WORDS)
    heads = draw(st.integers(1, 3))
    raw = draw(arrays.arrays(np.float64, (heads, len(queries), len(keys)), elements=st.floats(0.01, 1)))
    return raw / raw.sum(-1, keepdims=True), queries, keys


def test_units_keep_special_tokens_in_sight(word_piece):
    found = units(word_piece("playing, playing", "cat"))
    assert found.groups == ((0,), (1, 2), (3,), (4, 5), (6,), (7,), (8,))
    assert found.labels == ("[CLS]", "playing", ",", "playing (2)", "[SEP]", "cat", "[SEP] (2)")
    assert len(found) == 7


def test_units_of_nothing():
    assert units(Tokens.plain([])).groups == ()


@pytest.mark.parametrize("text", ["", "  ", "こんにちは世界", "👩‍👩‍👧 a", "مرحبا، بالعالم"])
def test_units_hold_every_token_once(encode, text):
    tokens = encode(text)
    found = units(tokens)
    assert sorted(i for group in found.groups for i in group) == list(range(len(tokens)))
    assert len(set(found.labels)) == len(found.labels) == len(found)


def test_to_words_by_example():
    array = np.arange(8.0).reshape(2, 4)
    words = (None, 0, 0, None)
    np.testing.assert_array_equal(to_words(array, 1, words), [[0, 3, 3], [4, 11, 7]])
    np.testing.assert_array_equal(to_words(array, -1, words, "mean"), [[0, 1.5, 3], [4, 5.5, 7]])


@given(weights())
def test_rows_still_sum_to_one(case):
    array, queries, keys = case
    aggregated = between_words(array, queries, keys)
    assert aggregated.shape == (len(array), len(grouped(queries)), len(grouped(keys)))
    np.testing.assert_allclose(aggregated.sum(-1), 1)


@given(weights())
def test_the_order_of_the_two_steps_does_not_matter(case):
    array, queries, keys = case
    one = sum_over_key_pieces(mean_over_query_pieces(array, queries), keys)
    np.testing.assert_allclose(one, between_words(array, queries, keys))


@given(st.data(), WORDS, st.sampled_from(["sum", "mean"]), st.integers(-3, 2))
def test_agrees_with_the_sum_by_hand(data, words, how, axis):
    shape = [2, 3, 2]
    shape[axis] = len(words)
    array = data.draw(arrays.arrays(np.float64, tuple(shape), elements=VALUES))
    np.testing.assert_allclose(to_words(array, axis, words, how), by_hand(array, axis, words, how), atol=1e-12)


def test_queries_and_keys_are_the_same_text_unless_told():
    array = np.full((3, 3), 1 / 3)
    np.testing.assert_allclose(between_words(array, (0, 0, 1)), [[2 / 3, 1 / 3]] * 2)


@pytest.mark.parametrize("how", ["sum", "mean"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_precision_is_kept_and_the_input_untouched(how, dtype):
    array = np.ones((2, 3), dtype)
    result = to_words(array, 1, (0, 0, None), how)
    assert result.dtype == dtype
    assert not np.shares_memory(array, result)
    np.testing.assert_array_equal(array, 1)


def test_whole_numbers_and_truths_are_counted():
    assert to_words(np.array([1, 2, 4]), 0, (0, 0, 1)).tolist() == [3, 4]
    assert to_words(np.array([True, True, False]), 0, (0, 0, 1)).tolist() == [2, 0]
    assert to_words(np.array([1, 2, 4]), 0, (0, 0, 1), "mean").tolist() == [1.5, 4]


def test_no_tokens_at_all():
    assert to_words(np.zeros((2, 0)), 1, ()).shape == (2, 0)


def test_wrong_input_is_named():
    with pytest.raises(InputError, match="axis 1 of an array of shape \\(2, 3\\) must have one entry per token, so 2"):
        to_words(np.zeros((2, 3)), 1, (0, 1))
    with pytest.raises(InputError, match="axis 2 is not one of the 2 axes"):
        to_words(np.zeros((2, 3)), 2, (0, 1))
