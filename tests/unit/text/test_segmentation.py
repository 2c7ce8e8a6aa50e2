# ruff: noqa: RUF001 (texts in many scripts)
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnscope.text.segmentation import NONE, by_punctuation, by_whitespace

FAMILY = "👩‍👩‍👧"


def words(text, cut=by_punctuation):
    pairs = zip(cut(text), text, strict=True)
    return ["".join(char for _, char in run) for word, run in groupby(pairs, lambda p: p[0]) if word != NONE]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n\u3000", []),
        ("Hello, world!", ["Hello", ",", "world", "!"]),
        ("don't stop", ["don't", "stop"]),
        ("the dogs' bone", ["the", "dogs", "'", "bone"]),
        ("'quoted'", ["'", "quoted", "'"]),
        ("l’été", ["l’été"]),
        ("3.14 1,000. A.B", ["3.14", "1,000", ".", "A", ".", "B"]),
        ("wait... -- a-b", ["wait", "...", "--", "a", "-", "b"]),
        ('end.")', ["end", ".", '"', ")"]),
        ("snake_case x1", ["snake_case", "x1"]),
        ("こんにちは世界", ["こんにちは", "世界"]),
        ("食べるラーメン。らーめん", ["食", "べる", "ラーメン", "。", "らーめん"]),
        ("GPTは人々のもの", ["GPT", "は", "人々", "のもの"]),
        ("カ\u3099ギ", ["カ\u3099ギ"]),
        ("한국어 말", ["한국어", "말"]),
        ("مرحبا، بالعالم؟", ["مرحبا", "،", "بالعالم", "؟"]),
        ("مَرْحَبًا", ["مَرْحَبًا"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("สวัสดี", ["สวัสดี"]),
        ("cafe\u0301.", ["cafe\u0301", "."]),
        (f"a{FAMILY}b", ["a", FAMILY, "b"]),
        ("こ\u200d🇯", ["こ\u200d", "🇯"]),
        ("👍🏽👍 ❤️", ["👍🏽", "👍", "❤️"]),
        ("🇯🇵🇫🇷", ["🇯🇵", "🇫🇷"]),
        ("1️⃣", ["1️⃣"]),
        ("\u200fسلام", ["\u200fسلام"]),
        ("\u0301", ["\u0301"]),
        ("\ud83d x", ["\ud83d", "x"]),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ", []),
        ("Mr. don ' t", ["Mr.", "don", "'", "t"]),
        (" こんにちは 世界 ", ["こんにちは", "世界"]),
    ],
)
def test_words_by_whitespace(text, expected):
    assert words(text, by_whitespace) == expected


@pytest.mark.parametrize("cut", [by_punctuation, by_whitespace])
@given(text=st.text())
def test_words_cover_all_but_white_space_and_are_numbered_in_order(cut, text):
    numbers = cut(text)
    assert [number == NONE for number in numbers] == [char.isspace() for char in text]
    named = [number for number in numbers if number != NONE]
    assert named == sorted(named)
    assert set(named) == set(range(len(set(named))))


@given(st.text())
def test_words_are_never_larger_than_between_spaces(text):
    assert "".join(words(text)) == "".join(words(text, by_whitespace))
    owner = dict(zip(by_punctuation(text), by_whitespace(text), strict=True))
    assert all(owner[w] == s for w, s in zip(by_punctuation(text), by_whitespace(text), strict=True))
