import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnscope.text.labels import unique, visible


@pytest.mark.parametrize(
    ("string", "label"),
    [
        ("cat", "cat"),
        ("", "∅"),
        ("  ", "␣␣"),
        ("\n\n", "↵↵"),
        (".\n", ".↵"),
        ("\t", "⇥"),
        ("a b", "a b"),
        ("\u3000", "␣"),
        ("\ufe0f", "◌\ufe0f"),
        ("e\u0301", "e\u0301"),
        ("👩‍👩‍👧", "👩‍👩‍👧"),
    ],
)
def test_visible(string, label):
    assert visible(string) == label


def test_repeated_labels_are_numbered():
    assert unique(["the", "cat", "the", "the"]) == ("the", "cat", "the (2)", "the (3)")


def test_a_number_that_is_taken_is_passed_over():
    assert unique(["the (2)", "the", "the"]) == ("the (2)", "the", "the (3)")
    assert unique(["the", "the", "the (2)"]) == ("the", "the (2)", "the (2) (2)")


@given(st.lists(st.sampled_from(["a", "a (2)", "a (2) (2)", "b", ""])))
def test_no_two_are_alike(labels):
    named = unique(labels)
    assert len(set(named)) == len(labels)
    assert all(name.startswith(label) for name, label in zip(named, labels, strict=True))
