"""From a text to what a model takes."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import attnscope as ats
from attnscope.errors import InputError
from attnscope.models.encode import collate, position_limit, shifted
from tests import zoo
from tests.conftest import zoo_model


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("bert", 64),
        ("roberta", 62),  # the rows of the padding token and of those before it hold no position
        ("xlm-roberta", 62),
        ("opt", 64),  # 66 rows, the first two of which are no positions
        ("bart", 64),
        ("gpt2", 64),
        ("gptj", 64),
        ("clip-text", 64),
        ("llama", 64),
        ("t5", None),
        ("bloom", None),
    ],
)
def test_position_limit(name: str, limit: int | None) -> None:
    model = zoo.build(name)
    assert position_limit(model) == limit
    if limit is not None and zoo.KINDS[name] in {"encoder", "decoder"}:
        ids = torch.randint(5, 100, (1, limit))
        model(input_ids=ids, attention_mask=torch.ones_like(ids))


@pytest.mark.parametrize("name", ["bert", "roberta", "opt", "gpt2", "clip-text"])
def test_a_token_more_than_the_limit_does_not_fit(name: str) -> None:
    model = zoo.build(name)
    ids = torch.randint(5, 100, (1, position_limit(model) + 1))
    with pytest.raises((IndexError, RuntimeError, ValueError)):
        model(input_ids=ids, attention_mask=torch.ones_like(ids))


def test_the_tokenizer_may_know_a_smaller_limit() -> None:
    tokenizer = zoo.tokenizer("bert")
    tokenizer.model_max_length = 20
    assert position_limit(zoo.build("bert"), tokenizer) == 20
    assert position_limit(zoo.build("t5"), tokenizer) == 20


def test_a_text_becomes_what_the_tokenizer_makes_of_it(bert: ats.Model) -> None:
    encoded = bert.encode("the cat", "a dog")
    expected = bert.tokenizer("the cat", "a dog", return_tensors="pt")
    assert {name: tensor.tolist() for name, tensor in encoded.inputs.items()} == {
        name: tensor.tolist() for name, tensor in expected.items()
    }
    assert encoded.source.segments[0] == 0
    assert encoded.source.segments[-2] == 1
    assert encoded.target is None


@pytest.mark.parametrize("name", ["roberta", "bert"])
def test_pairs_with_and_without_segment_ids(name: str) -> None:
    result = ats.analyze(zoo_model(name), "the cat", "a dog")
    assert result.attrs["pair"] == "a dog"
    assert result.sizes["key"] == len(zoo_model(name).tokenizer("the cat", "a dog")["input_ids"])


@pytest.mark.parametrize("name", ["bart", "mbart", "marian", "pegasus", "m2m100", "t5"])
def test_a_target_is_what_the_decoder_reads_in_training(name: str) -> None:
    model = zoo_model(name)
    encoded = model.encode("the cat sat", "a good dog")
    labels = model.tokenizer(text_target="a good dog")["input_ids"]
    ids = encoded.inputs["decoder_input_ids"][0].tolist()
    assert ids[1:] == labels[:-1]
    assert len(ids) == len(labels) == len(encoded.target)
    assert encoded.target.special[0]
    assert encoded.target.ids == tuple(ids)
    head = zoo.build_head(name, "AutoModelForSeq2SeqLM")
    with torch.no_grad():
        own = head(
            **{k: v for k, v in encoded.inputs.items() if k != "decoder_input_ids"}, labels=torch.tensor([labels])
        )
        ours = head(**encoded.inputs)
    torch.testing.assert_close(ours.logits, own.logits)


def test_shifting_without_a_start_token_is_refused() -> None:
    model = zoo.build("bart")
    model.config.decoder_start_token_id = None
    with pytest.raises(InputError, match="decoder_start_token_id"):
        shifted(model, torch.tensor([[5, 6]]))


@pytest.mark.parametrize("stride", [1, 7, 31, 60])
@pytest.mark.parametrize("name", ["bert", "roberta", "llama"])
def test_windows_cover_the_text_and_keep_the_specials(name: str, stride: int) -> None:
    model, text = zoo_model(name), " ".join(f"word{number}" for number in range(30))
    whole = model.tokenizer(text)["input_ids"]
    limit = position_limit(model.hf_model, model.tokenizer)
    windows = model.encode_windows(text, stride)
    assert {len(window.source) for window in windows} == {limit}
    around = 0 if name == "llama" else 1
    inner = [list(window.source.ids)[around : limit - around] for window in windows]
    content = whole[around : len(whole) - around]
    starts = [next(at for at in range(len(content)) if content[at : at + len(part)] == part) for part in inner]
    assert starts[0] == 0
    assert starts[-1] + len(inner[-1]) == len(content)
    assert all(0 < later - earlier <= stride for earlier, later in itertools.pairwise(starts))
    for window in windows:
        assert window.inputs["input_ids"][0].tolist() == list(window.source.ids)
        if around:
            assert (window.source.ids[0], window.source.ids[-1]) == (whole[0], whole[-1])


def test_a_window_is_analysed_as_its_tokens_alone(bert: ats.Model) -> None:
    text = "the cat sat on the mat " * 15
    result = ats.analyze(bert, text, stride=30)
    for index, window in enumerate(bert.encode_windows(text, 30)):
        alone = ats.analyze(bert, window.inputs)
        np.testing.assert_allclose(result["block_norm"].isel(window=index), alone["block_norm"], rtol=1e-5, atol=1e-6)


def test_a_text_that_fits_is_one_window(bert: ats.Model) -> None:
    assert len(bert.encode_windows("the cat", 5)) == 1
    assert ats.analyze(bert, "the cat", stride=5).sizes["window"] == 1


@pytest.mark.parametrize(
    ("given", "shape"),
    [([5, 6, 7], (1, 3)), ([[5, 6, 7]], (1, 3)), (torch.tensor([5, 6]), (1, 2)), (np.array([[5, 6]]), (1, 2))],
)
def test_ready_tensors_of_any_make(bert: ats.Model, given: Any, shape: tuple[int, ...]) -> None:
    assert bert.encode({"input_ids": given}).inputs["input_ids"].shape == shape


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_padding_of_ready_tensors_is_left_out(name: str) -> None:
    """A mask says what is no text; what is asked of a text's last token is not asked of its padding."""
    model = zoo_model(name)
    ids, mask = torch.tensor([[12, 70, 71, 13, 0, 0]]), torch.tensor([[1, 1, 1, 1, 0, 0]])
    padded = ats.analyze(model, {"input_ids": ids, "attention_mask": mask, "position_ids": torch.arange(6)[None]})
    alone = ats.analyze(model, {"input_ids": ids[:, :4]})
    np.testing.assert_allclose(padded["weight"], alone["weight"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", ["decomposed", "rollout_weight", "integrated_gradients"])
def test_the_next_token_comes_after_the_text_not_after_its_padding(method: str) -> None:
    model = ats.Model(zoo.build_head("gpt2", "AutoModelForCausalLM"))
    ids, mask = torch.tensor([[12, 70, 71, 13, 0, 0]]), torch.tensor([[1, 1, 1, 1, 0, 0]])
    padded = ats.attribute(model, {"input_ids": ids, "attention_mask": mask}, method=method)
    alone = ats.attribute(model, {"input_ids": ids[:, :4]}, method=method)
    assert padded["source_token"].to_numpy().tolist() == alone["source_token"].to_numpy().tolist()
    assert padded.attrs["target_value"] == pytest.approx(alone.attrs["target_value"])
    np.testing.assert_allclose(padded["contribution"], alone["contribution"], rtol=1e-5, atol=1e-6)


def test_padding_of_a_target_is_left_out() -> None:
    model = zoo_model("bart")
    given = {"input_ids": torch.tensor([[5, 6, 7, 1]]), "decoder_input_ids": torch.tensor([[2, 8, 9, 1, 1]])}
    masks = {"attention_mask": [[1, 1, 1, 0]], "decoder_attention_mask": torch.tensor([[1, 1, 1, 0, 0]])}
    inputs = model.encode(given | masks).inputs
    assert {name: tensor.shape[1] for name, tensor in inputs.items()} == dict.fromkeys([*given, *masks], 3)


def test_a_batch_is_padded_on_the_right_and_masked(bert: ats.Model) -> None:
    short, long = bert.encode("the cat"), bert.encode("the cat sat on the mat")
    inputs = collate([short, long], 0)
    width = long.inputs["input_ids"].shape[1]
    assert inputs["input_ids"].shape == (2, width)
    assert inputs["attention_mask"].sum(1).tolist() == [short.inputs["input_ids"].shape[1], width]
    assert inputs["input_ids"][0, -1] == 0


def test_a_batch_of_pairs_masks_the_targets() -> None:
    model = zoo_model("bart")
    batch = [model.encode("the cat", "a dog"), model.encode("a", "the good cat")]
    inputs = collate(batch, 1)
    assert inputs["decoder_attention_mask"].sum(1).tolist() == [len(item.target) for item in batch]
