"""What must hold for every architecture of the zoo, without anything written for one of them."""

import functools
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import attnscope as ats
from attnscope.models.verification import Verification
from tests import zoo
from tests.conftest import zoo_model

HYBRIDS = {"qwen3-next": [2], "jamba": [2], "bamba": [2]}
"""Architectures in which only some layers have softmax attention, and which ones."""
SINKS = {"gpt-oss"}
ATTENTIONS = {
    "self": "attentions",
    "encoder": "encoder_attentions",
    "decoder": "decoder_attentions",
    "cross": "cross_attentions",
}


def _size(config: Any, *names: str) -> int:
    return next(getattr(config, name) for name in names if getattr(config, name, None) is not None)


def expected_layers(name: str) -> dict[str, list[int]]:
    """The layers of each stack, by the configuration alone."""
    config = zoo.build(name).config
    if name in HYBRIDS:
        return {"self": HYBRIDS[name]}
    if not config.is_encoder_decoder:
        return {"self": list(range(1, _size(config, "num_hidden_layers", "n_layer", "num_layers") + 1))}
    encoder = list(range(1, _size(config, "encoder_layers", "num_layers") + 1))
    decoder = list(range(1, _size(config, "decoder_layers", "num_decoder_layers") + 1))
    return {"encoder": encoder, "decoder": decoder, "cross": decoder}


def expected_heads(name: str, stack: str) -> int:
    config = zoo.build(name).config
    side = "encoder" if stack == "encoder" else "decoder"
    return _size(config, f"{side}_attention_heads", "num_attention_heads", "num_heads")


@functools.cache
def verified(name: str) -> Verification:
    return zoo_model(name).verify()


@functools.cache
def analysed(name: str, stack: str) -> xr.Dataset:
    return ats.analyze(zoo_model(name), zoo.inputs(name), stack=stack)


CASES = [
    (name, stack)
    for name in zoo.NAMES
    for stack in (("encoder", "decoder", "cross") if zoo.KINDS[name] in {"encoder-decoder", "speech"} else ("self",))
]


@pytest.mark.parametrize("name", zoo.NAMES)
def test_verifies_with_both_laws_on_every_layer(name: str) -> None:
    verification = verified(name)
    assert verification.passed
    assert not verification.refusals
    for laws in verification.layers:
        assert laws.errors.attention < 1e-5
        assert laws.errors.block is not None, laws.block_reason
        assert laws.errors.block < 1e-5


@pytest.mark.parametrize("name", zoo.NAMES)
def test_every_layer_is_found(name: str) -> None:
    found: dict[str, list[int]] = {}
    for laws in verified(name).layers:
        found.setdefault(laws.stack, []).append(laws.layer)
    assert found == expected_layers(name)


@pytest.mark.parametrize(("name", "stack"), CASES)
def test_layers_and_heads_count_from_one(name: str, stack: str) -> None:
    result = analysed(name, stack)
    assert result["layer"].values.tolist() == expected_layers(name)[stack]
    assert result["head"].values.tolist() == list(range(1, expected_heads(name, stack) + 1))


@pytest.mark.parametrize(("name", "stack"), CASES)
def test_weights_of_a_query_sum_to_one_but_for_a_sink(name: str, stack: str) -> None:
    result = analysed(name, stack)
    sums = result["weight"].sum("key").values
    if name in SINKS:
        assert (sums < 1 - 1e-4).all()
    else:
        np.testing.assert_allclose(sums, 1, rtol=1e-5)
    assert result.attrs["least_weight_sum"] == pytest.approx(sums.min(), abs=1e-6)


@functools.cache
@torch.no_grad()
def own_output(name: str) -> Any:
    return zoo.build(name)(**zoo.inputs(name), output_attentions=True, return_dict=True)


@pytest.mark.parametrize(("name", "stack"), CASES)
def test_weights_are_the_ones_transformers_gives_out(name: str, stack: str) -> None:
    given = own_output(name)[ATTENTIONS[stack]]
    maps = np.stack([weights[0].numpy() for weights in given if weights is not None])
    np.testing.assert_array_equal(analysed(name, stack)["weight"].values, maps)


@pytest.mark.parametrize(("name", "stack"), CASES)
def test_labels_fit_the_input(name: str, stack: str) -> None:
    result = analysed(name, stack)
    for side in ("query", "key"):
        assert result[f"{side}_token"].sizes == {side: result.sizes[side]}
    if zoo.SPECS[name].tokenizer is not None:
        inputs, names = zoo.inputs(name), zoo_model(name).tokenizer.convert_ids_to_tokens
        side_ids = "decoder_input_ids" if stack in {"decoder", "cross"} else "input_ids"
        assert result.sizes["query"] == inputs[side_ids].shape[1]
        assert result.sizes["key"] == inputs["input_ids" if stack == "cross" else side_ids].shape[1]
        assert len(names(inputs[side_ids][0].tolist())) == result.sizes["query"]
