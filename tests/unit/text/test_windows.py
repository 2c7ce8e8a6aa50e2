from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnscope.errors import InputError
from attnscope.text.windows import windows


def spans(length, size, stride):
    return [(window.start, window.stop) for window in windows(length, size, stride)]


@pytest.mark.parametrize(
    ("length", "size", "stride", "expected"),
    [
        (0, 4, 2, [(0, 0)]),
        (3, 4, 2, [(0, 3)]),
        (4, 4, 4, [(0, 4)]),
        (8, 4, 4, [(0, 4), (4, 8)]),
        (9, 4, 4, [(0, 4), (4, 8), (5, 9)]),
        (7, 4, 2, [(0, 4), (2, 6), (3, 7)]),
        (3, 1, 1, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_examples(length, size, stride, expected):
    assert spans(length, size, stride) == expected


@given(st.integers(0, 300), st.integers(1, 50), st.data())
def test_windows_cover_the_text_and_are_all_as_long_as_can_be(length, size, data):
    stride = data.draw(st.integers(1, size))
    found = spans(length, size, stride)
    assert {i for start, stop in found for i in range(start, stop)} == set(range(length))
    assert all(stop - start == min(size, length) for start, stop in found)
    assert found[0][0] == 0
    assert found[-1][1] == length
    starts = [start for start, _ in found]
    assert starts == sorted(set(starts))
    assert all(after - before <= stride for before, after in pairwise(starts))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 4, 2), "length must be 0 or more, but is -1"),
        ((9, 0, 1), "size must be 1 or more tokens, but is 0"),
        ((9, 4, 0), "stride must be 1 or more tokens, but is 0"),
        ((9, 4, 5), "stride must be at most the size of a window, 4, but is 5"),
    ],
)
def test_wrong_input_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        windows(*arguments)
