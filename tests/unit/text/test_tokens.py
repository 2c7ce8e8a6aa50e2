# ruff: noqa: RUF001 (texts in many scripts)
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnscope.errors import InputError
from attnscope.text.tokens import Tokens

FAMILY = "👩‍👩‍👧"
SCRIPTS = st.one_of(
    st.text(max_size=30),
    st.text("aé' .,!\n\t\u3000_3世界こんラー。مرحبا،\u064e\u200f👩\u200d👧👍🏽🇯🇵️", max_size=30),
)


def encoding(raw, spans=None, text=None, **fields):
    given = {"ids": range(len(raw)), "raw": raw, "special": [0] * len(raw), "offsets": spans, "text": text}
    return Tokens.from_encoding(**given | fields)


class TestWordPiece:
    def test_english(self, word_piece):
        tokens = word_piece("Hello, playing don't!")
        assert tokens.raw == ("[CLS]", "hello", ",", "play", "##ing", "don", "'", "t", "!", "[SEP]")
        assert tokens.strings == ("[CLS]", "Hello", ",", "play", "ing", "don", "'", "t", "!", "[SEP]")
        assert tokens.words == (None, 0, 1, 2, 2, 3, 3, 3, 4, None)
        assert tokens.word_strings == ("Hello", ",", "playing", "don't", "!")
        assert tokens.word_count == 5
        assert tokens.spans[0] is None
        assert tokens.spans[4] == (11, 14)

    def test_unknown_pieces_show_what_they_hide(self, word_piece):
        tokens = word_piece(f"cat {FAMILY}")
        assert tokens.raw[2] == "[UNK]"
        assert tokens.strings[2] == tokens.word_strings[1] == FAMILY

    def test_chinese_characters_are_words_as_for_the_tokenizer(self, word_piece):
        assert word_piece("世界こんに").word_strings == ("世", "界", "こんに")

    def test_decomposed_accents(self, word_piece):
        assert word_piece("cafe\u0301 sat").word_strings == ("cafe\u0301", "sat")

    def test_a_pair_has_words_of_its_own(self, word_piece):
        tokens = word_piece("cat sat", "cat")
        assert tokens.segments == (0, 0, 0, 0, 1, 1)
        assert tokens.words == (None, 0, 1, None, 2, None)
        assert tokens.word_strings == ("cat", "sat", "cat")
        assert tokens.labels == ("[CLS]", "cat", "sat", "[SEP]", "cat (2)", "[SEP] (2)")
        assert [tokens.segment_text(s) for s in (0, 1, 2)] == ["cat sat", "cat", "cat sat"]

    @pytest.mark.parametrize(("text", "pair"), [("", "cat"), ("cat", ""), ("", "")])
    def test_an_empty_half_of_a_pair(self, word_piece, text, pair):
        assert word_piece(text, pair).word_strings == tuple(filter(None, (text, pair)))

    @pytest.mark.parametrize("text", ["", "  \n "])
    def test_nothing_to_read(self, word_piece, text):
        tokens = word_piece(text)
        assert tokens.words == (None, None)
        assert tokens.word_count == 0
        assert tokens.word_strings == ()

    def test_without_offsets_marks_show_the_words(self, word_piece):
        tokens = word_piece("Hello, playing don't!", offsets=False)
        assert tokens.spans == (None,) * len(tokens)
        assert tokens.strings[3:5] == ("play", "ing")
        assert tokens.word_strings == ("hello", ",", "playing", "don", "'", "t", "!")


class TestByteLevel:
    def test_words_are_those_of_the_text(self, byte_level):
        tokens = byte_level('hello cats."\ncat')
        assert tokens.word_strings == ("hello", "cats", '."', "\n", "cat")
        assert tokens.strings[:2] == ("he", "ll")
        assert "ca" in tokens.strings

    def test_a_line_end_at_the_end_of_a_token_stays_in_sight(self, byte_level):
        tokens = byte_level("cat.\ncat")
        assert tokens.strings == ("c", "a", "t", ".\n", "c", "a", "t")
        assert tokens.labels[3] == ".↵"

    @pytest.mark.parametrize("text", ["こんにちは世界", "世界。", "مرحبا، بالعالم", "สวัสดี", f"a {FAMILY} b"])
    def test_many_tokens_for_each_character(self, byte_level, text):
        tokens = byte_level(text)
        assert len(tokens) > len(text)
        assert "".join(tokens.word_strings) == text.replace(" ", "")
        assert byte_level(text, offsets=False).word_strings == tokens.word_strings

    def test_parts_of_a_character_show_the_character(self, byte_level):
        tokens = byte_level("世")
        assert tokens.strings == ("世", "世", "世")
        assert tokens.labels == ("世", "世 (2)", "世 (3)")
        assert tokens.word_strings == ("世",)

    def test_a_cut_character_does_not_crash(self, byte_level):
        raw = byte_level("a世").raw[:2]
        tokens = encoding(raw)
        assert tokens.strings == ("a", "ä")
        cut = encoding(["Ġa", "ä", "¸"])
        assert cut.strings == ("a", "�", "�")
        assert cut.labels == ("a", "�", "� (2)")

    def test_blanks_lean_on_the_word_after_them(self, byte_level):
        tokens = byte_level("a   b")
        assert tokens.strings == ("a", "  ", " ", "b")
        assert tokens.words == (0, 1, 1, 1)
        assert tokens.word_strings == ("a", "b")

    def test_only_white_space(self, byte_level):
        tokens = byte_level("  \n ")
        assert tokens.words == (0, 1, 2)
        assert tokens.labels == ("␣␣", "↵", "␣")

    def test_blanks_without_offsets(self, trimmed_byte_level):
        tokens = trimmed_byte_level("a b")
        assert tokens.spans == ((0, 1), None, (2, 3))
        assert tokens.strings == ("a", " ", "b")
        assert tokens.words == (0, 1, 1)

    def test_a_line_end_without_offsets_is_still_one(self):
        tokens = encoding(["a", "Ċ", "Ġb"], [(0, 1), (1, 1), (2, 3)], "a\nb")
        assert tokens.strings == ("a", "\n", "b")
        assert tokens.words == (0, 1, 2)


class TestSentencePiece:
    def test_a_mark_by_itself_leans(self, sentence_piece):
        tokens = sentence_piece("こんにちは世界。")
        assert tokens.raw == ("▁", "こんにちは", "世界", "。")
        assert tokens.strings == (" ", "こんにちは", "世界", "。")
        assert tokens.words == (0, 0, 1, 2)
        assert tokens.word_strings == ("こんにちは", "世界", "。")

    def test_a_token_over_several_words_is_its_own(self, sentence_piece):
        tokens = sentence_piece("食べる世界")
        assert tokens.word_strings == ("食べる", "世界")
        assert tokens.words == (0, 0, 1)

    @pytest.mark.parametrize("text", ["hello cats, playing!", "こんにちは世界。"])
    def test_without_offsets(self, sentence_piece, text):
        with_offsets, without = sentence_piece(text), sentence_piece(text, offsets=False)
        assert without.spans == (None,) * len(without)
        assert without.words == with_offsets.words
        assert without.word_strings == with_offsets.word_strings

    def test_by_whitespace(self, sentence_piece):
        for offsets in (True, False):
            tokens = sentence_piece("hello, cats play .", offsets=offsets)
            assert tokens.word_strings == ("hello", ",", "cats", "play", ".")
            assert tokens.by_whitespace().word_strings == ("hello,", "cats", "play", ".")


class TestFromEncoding:
    def test_type_ids_that_do_not_tell_a_pair_apart(self):
        tokens = encoding(
            ["<s>", "a", "b", "</s>", "</s>", "b", "</s>"],
            [(0, 0), (0, 1), (2, 3), (0, 0), (0, 0), (0, 1), (0, 0)],
            "a b",
            pair="b",
            special=[1, 0, 0, 1, 1, 0, 1],
            segments=[0] * 7,
        )
        assert tokens.segments == (0, 0, 0, 0, 0, 1, 1)
        assert tokens.word_strings == ("a", "b", "b")

    def test_padding_is_special_but_not_real(self):
        tokens = encoding(["[CLS]", "a", "[SEP]", "[PAD]"], special=[1, 0, 1, 0], attention_mask=[1, 1, 1, 0], text="a")
        assert tokens.real == (True, True, True, False)
        assert tokens.special == (True, False, True, True)
        assert tokens.words == (None, 0, None, None)

    def test_all_is_real_without_a_mask(self, word_piece):
        tokens = word_piece("cat")
        assert tokens.padding == ()
        assert tokens.real == (True,) * 3

    def test_text_in_a_token_without_offsets_is_a_word(self):
        tokens = encoding(["▁a", "▁b", "▁c"], [(0, 1), None, (4, 5)], "a b c")
        assert tokens.word_strings == ("a", "b", "c")

    def test_blanks_do_not_lean_over_the_end_of_a_segment(self):
        tokens = encoding(["▁a", "▁", "▁b"], [(0, 1), (1, 2), (0, 1)], "a ", pair="b", segments=[0, 0, 1])
        assert tokens.words == (0, 1, 2)

    def test_word_ids_serve_when_there_is_nothing_else(self):
        tokens = encoding(["x", "y", "z", "w"], word_ids=[0, 0, None, 0], segments=[0, 0, 0, 1])
        assert tokens.words == (0, 0, 1, 2)

    def test_combining_tokens_go_on_the_word(self):
        text = "カ\u3099ギ"
        tokens = encoding(list(text), [(0, 1), (1, 2), (2, 3)], text, word_ids=[0, 1, 0])
        assert tokens.words == (0, 0, 0)
        assert tokens.labels == ("カ", "◌\u3099", "ギ")

    @pytest.mark.parametrize(
        "fields",
        [{"raw": ["a"]}, {"special": [0]}, {"offsets": [(0, 1)]}, {"word_ids": [0]}, {"segments": []}],
    )
    def test_lengths_must_agree(self, fields):
        (name,) = fields
        with pytest.raises(InputError, match=f"{name} must have one entry for each of the 2 ids, but has"):
            Tokens.from_encoding(**{"ids": [1, 2], "raw": ["a", "b"], "special": [0, 0], "text": "a b"} | fields)

    @pytest.mark.parametrize("fields", [{"pair": "b"}, {"offsets": [(0, 1)]}])
    def test_offsets_need_a_text(self, fields):
        with pytest.raises(InputError, match="pass text="):
            Tokens.from_encoding(ids=[1], raw=["a"], special=[0], **fields)

    @pytest.mark.parametrize("span", [(0, 2), (-1, 1), (3, 1)])
    def test_offsets_must_be_inside_the_text(self, span):
        with pytest.raises(InputError, match="of token 0 are outside its text of 1 characters"):
            encoding(["a"], [span], "a")


class TestPlain:
    def test_each_is_a_word(self):
        tokens = Tokens.plain(f"patch {i}" for i in range(3))
        assert tokens.words == (0, 1, 2)
        assert tokens.word_strings == tokens.strings == tokens.labels == ("patch 0", "patch 1", "patch 2")
        assert tokens.text is None
        assert tokens.spans == (None,) * 3
        assert tokens.by_whitespace() is tokens

    def test_a_class_token(self):
        tokens = Tokens.plain(["[CLS]", "patch"], special=[True, False])
        assert tokens.words == (None, 0)
        assert tokens.special == (True, False)

    def test_none_at_all(self):
        assert len(Tokens.plain([])) == 0
        assert Tokens.plain([]).labels == ()


class TestValue:
    def test_is_frozen_equal_by_value_and_travels(self, word_piece):
        tokens = word_piece("cat")
        assert tokens == word_piece("cat") == pickle.loads(pickle.dumps(tokens))
        assert hash(tokens) == hash(word_piece("cat"))
        with pytest.raises(dataclasses.FrozenInstanceError):
            tokens.text = "dog"

    def test_lengths_are_checked(self, word_piece):
        with pytest.raises(InputError, match="strings must have one entry for each of the 3 ids, but has 1"):
            dataclasses.replace(word_piece("cat"), strings=("cat",))
        with pytest.raises(InputError, match="padding must have one entry for each of the 3 ids, but has 1"):
            dataclasses.replace(word_piece("cat"), padding=(False,))

    def test_words_are_numbered_without_gaps(self, word_piece):
        with pytest.raises(InputError, match="words must be numbered from 0 without gaps"):
            dataclasses.replace(word_piece("cat"), words=(None, 1, None))


@pytest.mark.parametrize("offsets", [True, False])
@given(text=SCRIPTS)
def test_any_text_can_be_read(encode, offsets, text):
    text = text.encode("utf-8", "ignore").decode()
    tokens = encode(text, offsets=offsets)
    assert len(set(tokens.labels)) == len(tokens)
    assert all(label.strip() for label in tokens.labels)
    assert all((word is None) == special for word, special in zip(tokens.words, tokens.special, strict=True))
    named = [word for word in tokens.words if word is not None]
    assert named == sorted(named)
    assert len(tokens.word_strings) == tokens.word_count == len(set(named))
    assert tokens.by_whitespace().word_count <= tokens.word_count


@given(st.text("aé' .,!3世界こん。مرحبا،👩\u200d👧👍🏽🇯🇵", max_size=30))
def test_bytes_are_put_together_to_whole_words(byte_level, text):
    spaceless = "".join(byte_level(text).word_strings).replace(" ", "")
    assert spaceless == text.replace(" ", "")
