# ruff: noqa: RUF001 (texts in many scripts)
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnscope.errors import InputError
from attnscope.text.categories import OTHER, PADDING, categorise, is_cls, is_first, is_sep
from attnscope.text.tokens import Tokens


def named(tokens, scheme="auto"):
    categories = categorise(tokens, scheme)
    return [categories.names[i] for i in categories.index]


def with_specials(strings, special):
    return Tokens.plain(strings, special)


ROBERTA = with_specials(["<s>", "Hi", ",", "you", ".", "</s>", "</s>", "!", "</s>"], [1, 0, 0, 0, 0, 1, 1, 0, 1])


def test_an_encoder_is_recognised_by_the_special_tokens_around_it():
    assert categorise(ROBERTA).names == ("[CLS]", "[SEP]", "comma and full stop", OTHER)
    stop, rest, sep = "comma and full stop", OTHER, "[SEP]"
    assert named(ROBERTA) == ["[CLS]", rest, stop, rest, stop, sep, sep, rest, sep]


def test_a_decoder_is_what_is_no_encoder(byte_level):
    tokens = byte_level("a!,\nb.\n")
    assert categorise(tokens).names == ("first token", "newline", "punctuation", OTHER)
    assert named(tokens) == ["first token", "punctuation", "punctuation", "newline", OTHER, "newline"]


@pytest.mark.parametrize(
    ("special", "names"),
    [([1], ["first token"]), ([1, 1], ["[CLS]", "[SEP]"]), ([0, 1], ["first token", OTHER]), ([], [])],
)
def test_auto_at_its_edges(special, names):
    assert named(with_specials(["<s>", "</s>"][: len(special)], special)) == names


def test_an_encoder_without_a_class_token_has_none():
    assert named(with_specials(["a", "</s>"], [0, 1]), "encoder") == [OTHER, "[SEP]"]


def test_the_first_token_comes_first():
    assert named(with_specials([",", ","], [0, 0]), "decoder") == ["first token", "punctuation"]


@pytest.mark.parametrize("stop", [",", ".", "、", "。", "،", "۔"])
def test_commas_and_full_stops_of_other_scripts(byte_level, stop):
    tokens = byte_level(f"世{stop}")
    assert set(named(tokens, "encoder")[3:]) == {"comma and full stop"}
    assert set(named(tokens, "decoder")[3:]) == {"punctuation"}


def test_words_match_as_read_as_written_and_as_a_whole(word_piece):
    tokens = word_piece("Hello playing cat")
    scheme = {"read": ["Hello"], "written": {"##ing"}, "whole": ("playing",), "one": "cat", "none": []}
    assert named(tokens, scheme) == [OTHER, "read", "whole", "written", "one", OTHER]


def test_the_first_match_wins():
    tokens = Tokens.plain(["a", "b"])
    assert named(tokens, {"all": lambda *_: True, "a": ["a"]}) == ["all", "all"]


def test_a_predicate_sees_the_tokens_and_the_place():
    tokens = Tokens.plain(["a", "b", "c"])
    assert named(tokens, {"last": lambda tokens, i: i == len(tokens) - 1}) == [OTHER, OTHER, "last"]


def test_an_empty_scheme_leaves_everything():
    assert named(Tokens.plain(["a"]), {}) == [OTHER]


def test_padding_is_in_no_category():
    tokens = Tokens.from_encoding(
        ids=range(4),
        raw=["[PAD]", "[CLS]", "a", "[SEP]"],
        special=[1, 1, 0, 1],
        attention_mask=[0, 1, 1, 1],
        text="a",
    )
    categories = categorise(tokens)
    assert categories.index.tolist() == [PADDING, 0, 3, 1]
    assert categories.counts.tolist() == [1, 1, 0, 1]
    assert not any(rule(tokens, 0) for rule in (is_first, is_cls, is_sep))


@pytest.mark.parametrize("text", ["", " ", "\n", "hello. cat", "こんにちは世界。", "👩‍👩‍👧", "مرحبا، بالعالم"])
@pytest.mark.parametrize("scheme", ["auto", "encoder", "decoder"])
def test_every_token_is_in_exactly_one(encode, scheme, text):
    tokens = encode(text)
    masks = categorise(tokens, scheme).masks
    assert masks.shape == (4, len(tokens))
    np.testing.assert_array_equal(masks.sum(axis=0), 1)


@given(st.lists(st.tuples(st.text(max_size=3), st.booleans())))
def test_every_token_is_in_exactly_one_whatever_it_is(pairs):
    tokens = with_specials([s for s, _ in pairs], [special for _, special in pairs])
    for scheme in ("auto", "encoder", "decoder"):
        assert categorise(tokens, scheme).counts.sum() == len(tokens)


def test_categories_do_not_change():
    with pytest.raises(ValueError, match="read-only"):
        categorise(Tokens.plain(["a"])).index[0] = 1


def test_wrong_schemes_are_named():
    tokens = Tokens.plain(["a"])
    with pytest.raises(InputError, match="unknown category scheme 'encodr'; did you mean 'encoder'"):
        categorise(tokens, "encodr")
    with pytest.raises(InputError, match="give yours another name"):
        categorise(tokens, {"other": ["a"]})
