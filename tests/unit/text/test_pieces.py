# ruff: noqa: RUF001 (texts in many scripts)
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from attnscope.text.pieces import rebuild, style_of


def text_of(*raw):
    return rebuild(raw, style_of(raw)).text


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (["play", "##ing", "cat", "##", "##s"], " playing cat ##s"),
        (["hello", "world"], " hello world"),
        (["▁Hello", ",", "▁wor", "ld", "▁"], " Hello, world "),
        (["▁a", "<0xE4>", "<0xB8>", "<0x96>", "<0x0A>"], " a世\n"),
        (["He", "llo", "Ġworld", "Ċ"], "Hello world\n"),
        (["ãģ", "ĵ", "ãĤ", "ĵ"], "こん"),
        (["Hello", "Ġ", "<｜User｜>"], "Hello <｜User｜>"),
        (["hel", "lo</w>", ",</w>"], "hello , "),
        (["hel@@", "lo", "@@"], "hello @@ "),
        (["č", "##as"], " čas"),
        (["čas", "été"], " čas été"),
        (["##Title", "Ġx"], "Title Ġx"),
        ([], ""),
    ],
)
def test_marks_are_undone(raw, expected):
    assert text_of(*raw) == expected


def test_spans_of_parts_of_a_character_are_the_whole_character():
    raw = ["Ġa", "ãģ", "ĵb", "ãĤ"]
    text, spans = rebuild(raw, style_of(raw))
    assert text.startswith(" aこb")
    assert spans == [(0, 2), (2, 3), (2, 4), (4, 6)]


def test_an_empty_piece_has_an_empty_span():
    assert rebuild(["▁a", "", "b"], style_of(["▁a"])).spans == [(0, 2), (2, 2), (2, 3)]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_byte_level_text_comes_back_from_single_bytes(text):
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str("Ġ" + text)
    raw = [char for piece, _ in pieces for char in piece]
    style = style_of(["Ġ", *raw])
    rebuilt = rebuild(raw, style)
    assert rebuilt.text == "Ġ" + text
    assert all(0 <= start < end <= len(rebuilt.text) for start, end in rebuilt.spans)


@given(st.lists(st.text()))
def test_any_strings_can_be_read(raw):
    text, spans = rebuild(raw, style_of(raw))
    assert len(spans) == len(raw)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
