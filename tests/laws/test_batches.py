"""Padding, blocks of query rows, reductions and selections never change a number."""

from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import attnscope as ats
from attnscope.analyses.reductions import REDUCTIONS
from attnscope.measures import MEASURES
from attnscope.models.encode import Encoded
from attnscope.record import LayerRecord
from attnscope.text.words import between_words, sum_over_key_pieces
from tests import zoo
from tests.conftest import OF_ATTENTION, zoo_model

TEXTS = ("the cat sat on the mat and it was good", "bad dog", "is it a movie ?")
TEXT_MODELS = [name for name in zoo.NAMES if zoo.SPECS[name].tokenizer is not None]
PAIRED = [name for name in TEXT_MODELS if zoo.KINDS[name] == "encoder-decoder"]
MAPS = [name for name in OF_ATTENTION if MEASURES[name].is_map]
PLAIN = [name for name in TEXT_MODELS if name not in PAIRED]


def records_of(model: ats.Model, inputs: list[Encoded], **options: Any) -> list[list[LayerRecord]]:
    found: list[list[LayerRecord]] = [[] for _ in inputs]
    model.run(inputs, lambda text, record: found[text].append(record), **options)
    return found


def assert_same_records(found: list[LayerRecord], expected: list[LayerRecord]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.layer, one.stack, one.is_cross) == (other.layer, other.stack, other.is_cross)
        torch.testing.assert_close(one.attention(), other.attention(), rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(one.attention_diagonal, other.attention_diagonal, rtol=1e-4, atol=1e-6)
        for name in ("value", "projected", "projection", "bias"):
            assert_close(getattr(one, name), getattr(other, name))
        for name in ("residual", "output", "extra"):
            assert_close(getattr(one.block, name), getattr(other.block, name))


def assert_close(found: torch.Tensor | None, expected: torch.Tensor | None) -> None:
    if expected is None:
        assert found is None
        return
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_padding_changes_nothing(name: str) -> None:
    model = zoo_model(name)
    target = "the dog" if name in PAIRED else None
    encoded = [model.encode(text, None if target is None else text[:5]) for text in TEXTS]
    for stack in model.structure.stacks:
        sites = model.sites(stack)
        together = records_of(model, encoded, sites=sites)
        for alone, found in zip(encoded, together, strict=True):
            assert_same_records(found, records_of(model, [alone], sites=sites)[0])


@pytest.mark.parametrize("name", zoo.NAMES)
def test_query_blocks_change_nothing(name: str) -> None:
    model, inputs = zoo_model(name), zoo.inputs(name)
    encoded = [model.encode(inputs)]
    for stack in model.structure.stacks:
        sites = model.sites(stack)
        whole, blocked = (records_of(model, encoded, sites=sites, rows=rows)[0] for rows in (None, 3))
        assert_same_records(blocked, whole)
        for record in blocked:
            torch.testing.assert_close(record.attention(slice(2, 4)), record.attention()[:, 2:4])


@pytest.mark.parametrize("name", ["bert", "llama", "gemma2", "t5", "gpt-oss"])
def test_blocks_and_padding_together_change_nothing(name: str) -> None:
    model = zoo_model(name)
    encoded = [model.encode(text) for text in TEXTS]
    stack = model.default_stack()
    for alone, found in zip(encoded, records_of(model, encoded, rows=4), strict=True):
        assert_same_records(found, records_of(model, [alone], sites=model.sites(stack))[0])


def reduced(dense: xr.Dataset, name: str, how: str, masks: np.ndarray) -> np.ndarray:
    values = dense[name].values.astype(np.float64)
    if how == "keys":
        return values.sum(-1)
    if how == "queries":
        return values.mean(-2)
    if how == "categories":
        return (values @ masks.T).mean(-2)
    return -np.sort(-values, -1)[..., :3]


@pytest.mark.parametrize("block", [4, 256])
@pytest.mark.parametrize("how", REDUCTIONS)
@pytest.mark.parametrize("name", ["bert", "llama", "gemma2", "bloom"])
def test_reductions_are_reductions_of_the_map(name: str, how: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from attnscope.analyses import analyze
    from attnscope.text.categories import categorise

    model, everything = zoo_model(name), OF_ATTENTION
    dense = ats.analyze(model, TEXTS[0], measures=everything)
    monkeypatch.setattr(analyze, "_BLOCK_ROWS", block)
    found = ats.analyze(model, TEXTS[0], measures=everything, reduce=how, top=3)
    tokens = model.encode(TEXTS[0]).source
    scheme = "decoder" if zoo.KINDS[name] == "decoder" else "encoder"
    masks = categorise(tokens, scheme).masks.astype(np.float64)
    for measure in everything:
        if measure in MAPS:
            expected = reduced(dense, measure, how, masks)
            np.testing.assert_allclose(found[measure], expected, rtol=1e-4, atol=1e-5 * expected.max())
        else:
            np.testing.assert_allclose(found[measure], dense[measure], rtol=1e-4, atol=1e-5)
    if how == "topk":
        at = np.take_along_axis(dense["weight"].values, found["weight_key"].values, -1)
        np.testing.assert_allclose(at, found["weight"], rtol=1e-5)


@settings(max_examples=25)
@given(st.sets(st.integers(1, 3), min_size=1), st.permutations([1, 2, 3, 4]), st.integers(1, 4))
def test_a_selection_selects_the_same_numbers(layers: set[int], order: list[int], count: int) -> None:
    model, inputs, heads = zoo_model("albert"), zoo.inputs("albert"), order[:count]
    everything = ats.analyze(model, inputs, measures=OF_ATTENTION)
    found = ats.analyze(model, inputs, measures=OF_ATTENTION, layers=layers, heads=heads)
    assert found["layer"].values.tolist() == sorted(layers)
    assert found["head"].values.tolist() == heads
    expected = everything.sel(layer=sorted(layers), head=heads)
    for name in OF_ATTENTION:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6)


@settings(max_examples=50)
@given(st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=9), st.integers(0, 2**31))
def test_words_keep_the_sums_of_rows(words: list[int | None], seed: int) -> None:
    array = np.random.default_rng(seed).random((2, len(words), len(words)))
    np.testing.assert_allclose(sum_over_key_pieces(array, words).sum(-1), array.sum(-1))
    rows = array / array.sum(-1, keepdims=True)
    np.testing.assert_allclose(between_words(rows, words).sum(-1), 1)


@pytest.mark.parametrize("name", ["bert", "roberta", "llama"])
def test_words_of_a_text_keep_the_sums_of_rows(name: str) -> None:
    found = ats.analyze(zoo_model(name), "Cats meowing, dog!", measures=["weight", "mixing_ratio"], unit="word")
    np.testing.assert_allclose(found["weight"].sum("key"), 1, rtol=1e-5)
    assert found.sizes["query"] == found.sizes["key"] == len(set(found["key_token"].values.tolist()))
    assert "meowing" in found["key_token"].values.tolist()
