"""Real tokenizers, built here: no file, no network."""

from collections.abc import Callable

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from attnscope.text.tokens import Tokens

Encode = Callable[..., Tokens]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def encoder(tokenizer: Tokenizer) -> Encode:
    def encode(text: str, pair: str | None = None, offsets: bool = True) -> Tokens:
        encoding = tokenizer.encode(text, pair)
        return Tokens.from_encoding(
            ids=encoding.ids,
            raw=encoding.tokens,
            special=encoding.special_tokens_mask,
            text=text,
            pair=pair,
            offsets=encoding.offsets if offsets else None,
            word_ids=encoding.word_ids if offsets else None,
            segments=encoding.sequence_ids,
        )

    return encode


@pytest.fixture(scope="session")
def word_piece() -> Encode:
    """As BERT: uncased, [CLS] and [SEP]."""
    pieces = [
        "hello",
        "play",
        "##ing",
        "don",
        "t",
        "cat",
        "sat",
        "caf",
        "##e",
        "世",
        "界",
        "こ",
        "##ん",
        "##に",
    ]
    pieces += ["3", "14", *",.!?'-"]
    vocabulary = {piece: i for i, piece in enumerate(SPECIAL + pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return encoder(tokenizer)


def byte_level_tokenizer(trim: bool) -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("h", "e"), ("l", "l"), ("Ġ", "c"), ("Ġc", "a"), (".", "Ċ"), (".", '"'), ("Ġ", "Ġ")]
    vocabulary = {piece: i for i, piece in enumerate([*alphabet, *(a + b for a, b in merges)])}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
    return tokenizer


@pytest.fixture(scope="session")
def byte_level() -> Encode:
    """As GPT-2: hardly a merge, so that most characters are several tokens."""
    return encoder(byte_level_tokenizer(trim=False))


@pytest.fixture(scope="session")
def trimmed_byte_level() -> Encode:
    """As RoBERTa: white space has no offsets."""
    return encoder(byte_level_tokenizer(trim=True))


@pytest.fixture(scope="session")
def sentence_piece() -> Encode:
    """As XLM-R and T5: to it, text without spaces is one word."""
    pieces = ["▁", "▁hello", "▁cat", "s", "こんにちは", "世界", "食べる", "。", ",", ".", "!", "▁play", "ing"]
    vocabulary = [("<unk>", -20.0), *((piece, -1.0 - i / 10) for i, piece in enumerate(pieces))]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return encoder(tokenizer)


@pytest.fixture(scope="session", params=["word_piece", "byte_level", "trimmed_byte_level", "sentence_piece"])
def encode(request: pytest.FixtureRequest) -> Encode:
    """Each of them."""
    return request.getfixturevalue(request.param)
