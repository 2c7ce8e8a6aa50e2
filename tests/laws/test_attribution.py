"""From the words to a logit: the parts add up, and one backward pass says what a forward propagation says."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear
from transformers import PreTrainedModel

import attnscope as ats
from attnscope.errors import InputError, UnsupportedModel
from tests import zoo

HEADS = {"encoder": "AutoModelForSequenceClassification", "decoder": "AutoModelForCausalLM"}
HYBRID = {"qwen3-next", "jamba", "bamba"}
"""Their linear-attention layers are no affine maps when attention is held."""
NAMES = [name for name in zoo.NAMES if zoo.kind_of(name) in HEADS and name != "clip-text"]


def with_head(name: str) -> PreTrainedModel:
    return zoo.build_head(name, HEADS[zoo.kind_of(name)])


@pytest.mark.parametrize("name", sorted(set(NAMES) - HYBRID))
def test_contributions_and_bias_are_the_logit(name: str) -> None:
    hf_model, inputs = with_head(name), zoo.inputs(name)
    found = ats.attribute(ats.Model(hf_model), inputs)
    with torch.no_grad():
        logits = hf_model(**inputs).logits
    plain = logits[0] if logits.ndim == 2 else logits[0, -1]
    assert found.attrs["target_value"] == pytest.approx(float(plain.max()), rel=1e-5, abs=1e-5)
    total = float(found["contribution"].sum()) + found.attrs["bias"]
    assert total == pytest.approx(found.attrs["target_value"], rel=1e-5, abs=1e-5)
    assert found.attrs["completeness_error"] < 1e-5
    assert found["contribution"].shape == (inputs["input_ids"].shape[1],)


@pytest.mark.parametrize("name", sorted(HYBRID))
def test_what_does_not_add_up_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedModel, match="does not add up to the logit"):
        ats.attribute(ats.Model(with_head(name)), zoo.inputs(name))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["bert", "llama", "gpt-neox"])
def test_half_precision_is_rounding_and_no_reason_to_refuse(name: str, dtype: torch.dtype) -> None:
    inputs = zoo.inputs(name)
    for ask in (ats.attribute, ats.decomposed):
        exact = ask(ats.Model(with_head(name)), inputs, target=1)["contribution"]
        rounded = ask(ats.Model(with_head(name).to(dtype)), inputs, target=1)["contribution"]
        np.testing.assert_allclose(rounded, exact, atol=0.05 * float(abs(exact).max()))


def test_parts_that_cancel_to_next_to_nothing_are_no_reason_to_refuse() -> None:
    hf_model, inputs = with_head("llama"), zoo.inputs("llama")
    with torch.no_grad():
        output = hf_model(**inputs, output_hidden_states=True)
        state, logits, head = output.hidden_states[-1][0, -1], output.logits[0, -1], hf_model.lm_head.weight
        head[5] += state * ((logits[7] - logits[5]) / state.square().sum())
    found = ats.attribute(ats.Model(hf_model), inputs, target=(5, 7))
    assert abs(found.attrs["target_value"]) < 1e-4 < 0.1 < float(abs(found["contribution"]).max())
    assert float(found["contribution"].sum()) == pytest.approx(found.attrs["target_value"], abs=1e-5)
    assert ats.decomposed(ats.Model(hf_model), inputs, target=(5, 7)).attrs["reconstruction_error"] < 1e-5


def forward_decomposition(hf_model: PreTrainedModel, inputs: dict[str, Tensor], label: int) -> tuple[Tensor, Tensor]:
    """BERT taken apart by hand: a tensor (token, source, model) and a bias, carried forward through every layer."""
    hf_model.set_attn_implementation("eager")
    with torch.no_grad():
        out = hf_model(**inputs, output_hidden_states=True, output_attentions=True)
        state = out.hidden_states[0][0].double()
        parts, bias = torch.diag_embed(state.T).permute(1, 2, 0), torch.zeros_like(state)
        hf_model.double()
        for layer, weights in zip(hf_model.bert.encoder.layer, out.attentions, strict=True):
            alpha, attention = weights[0].double(), layer.attention

            def attend(x: Tensor, with_bias: bool, attention=attention, alpha=alpha) -> Tensor:
                value = linear(x, attention.self.value.weight, attention.self.value.bias if with_bias else None)
                value = value.unflatten(-1, (alpha.shape[0], -1))
                mixed = torch.einsum("hqk,k...hv->q...hv", alpha, value).flatten(-2)
                dense = attention.output.dense
                return linear(mixed, dense.weight, dense.bias if with_bias else None)

            total = parts.sum(1) + bias
            after = attend(total, True) + total
            parts, bias = attend(parts, False) + parts, attend(bias, True) + bias
            parts, bias = normalised(attention.output.LayerNorm, after, parts, bias)
            middle = layer.intermediate.dense
            inner, inner_bias = linear(parts, middle.weight), linear(bias, middle.weight, middle.bias)
            before = inner.sum(1) + inner_bias
            slope = layer.intermediate.intermediate_act_fn(before) / before
            down = layer.output.dense
            fed = linear(inner * slope[:, None], down.weight)
            fed_bias = linear(inner_bias * slope, down.weight, down.bias)
            after = fed.sum(1) + fed_bias + parts.sum(1) + bias
            parts, bias = normalised(layer.output.LayerNorm, after, fed + parts, fed_bias + bias)
        pooler, head = hf_model.bert.pooler.dense, hf_model.classifier
        pooled, pooled_bias = linear(parts[0], pooler.weight), linear(bias[0], pooler.weight, pooler.bias)
        before = pooled.sum(0) + pooled_bias
        slope = torch.tanh(before) / before
        logits = linear(pooled * slope, head.weight)
        logits_bias = linear(pooled_bias * slope, head.weight, head.bias)
    return logits[:, label], logits_bias[label]


def normalised(norm: torch.nn.LayerNorm, total: Tensor, parts: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    spread = torch.sqrt(total.var(-1, correction=0, keepdim=True) + norm.eps)
    parts = (parts - parts.mean(-1, keepdim=True)) / spread[:, None] * norm.weight
    return parts, (bias - bias.mean(-1, keepdim=True)) / spread * norm.weight + norm.bias


@pytest.mark.parametrize("label", [0, 1, 2])
@pytest.mark.parametrize("seed", [0, 1])
def test_backward_says_what_forward_says(label: int, seed: int) -> None:
    hf_model = zoo.build_head("bert", "AutoModelForSequenceClassification", seed=seed)
    inputs = zoo.inputs("bert", length=9, seed=seed)
    found = ats.attribute(ats.Model(hf_model), inputs, target=label)
    expected, bias = forward_decomposition(hf_model, inputs, label)
    np.testing.assert_allclose(found["contribution"], expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))
    assert found.attrs["bias"] == pytest.approx(float(bias), rel=1e-4, abs=1e-5)


def test_a_contrast_is_the_difference() -> None:
    model, inputs = ats.Model(with_head("roberta")), zoo.inputs("roberta")
    one, two, both = (ats.attribute(model, inputs, target=target) for target in (0, 2, (0, 2)))
    np.testing.assert_allclose(both["contribution"], one["contribution"] - two["contribution"], rtol=1e-4, atol=1e-6)
    assert both.attrs["bias"] == pytest.approx(one.attrs["bias"] - two.attrs["bias"], abs=1e-5)
    assert both.attrs["target"] == "LABEL_0 − LABEL_2"


def test_an_answer_is_a_span() -> None:
    hf_model = zoo.build_head("bert", "AutoModelForQuestionAnswering")
    inputs = zoo.inputs("bert")
    found = ats.attribute(ats.Model(hf_model), inputs, target=(1, 3))
    with torch.no_grad():
        out = hf_model(**inputs)
    assert found.attrs["target_value"] == pytest.approx(float(out.start_logits[0, 1] + out.end_logits[0, 3]), abs=1e-5)
    assert found.attrs["completeness_error"] < 1e-5


def test_the_predicted_answer_ends_where_it_begins_or_later() -> None:
    hf_model, inputs = zoo.build_head("bert", "AutoModelForQuestionAnswering", seed=1), zoo.inputs("bert")
    with torch.no_grad():
        hf_model.qa_outputs.weight[1] = -hf_model.qa_outputs.weight[0]
        hf_model.qa_outputs.weight.neg_()
        out = hf_model(**inputs)
    start, end = out.start_logits[0], out.end_logits[0]
    size = len(start)
    values = {(first, last): float(start[first] + end[last]) for first in range(size) for last in range(first, size)}
    first, last = max(values, key=lambda ends: values[ends])
    assert values[first, last] < float(start.max() + end.max())
    found = ats.attribute(ats.Model(hf_model), inputs)
    assert found.attrs["target"] == f"answer from token {first} to {last}"
    assert found.attrs["target_value"] == pytest.approx(values[first, last], abs=1e-5)


def test_numbers_of_numpy_are_numbers() -> None:
    model, inputs = ats.Model(with_head("bert")), zoo.inputs("bert")
    one, same = (ats.attribute(model, inputs, target=target) for target in (2, np.int64(2)))
    assert one.attrs["target"] == same.attrs["target"] == "LABEL_2"


def test_a_mask_is_found() -> None:
    hf_model, tokenizer = zoo.build_head("bert", "AutoModelForMaskedLM"), zoo.tokenizer("bert")
    text = f"the {tokenizer.mask_token} sat"
    found = ats.attribute(ats.Model(hf_model, tokenizer), text)
    ids = tokenizer(text, return_tensors="pt")
    place = int((ids["input_ids"][0] == tokenizer.mask_token_id).nonzero())
    with torch.no_grad():
        logits = hf_model(**ids).logits[0, place]
    assert found.attrs["target"] == tokenizer.convert_ids_to_tokens(int(logits.argmax()))
    assert found.attrs["target_value"] == pytest.approx(float(logits.max()), abs=1e-5)


def test_words_are_sums_of_their_pieces() -> None:
    model = ats.Model(with_head("bert"), zoo.tokenizer("bert"))
    tokens, words = (ats.attribute(model, "the cats sat, oddly", unit=unit) for unit in ("token", "word"))
    assert words.sizes["source"] < tokens.sizes["source"]
    assert float(words["contribution"].sum()) == pytest.approx(float(tokens["contribution"].sum()), abs=1e-6)


def test_the_model_is_left_as_it_was() -> None:
    hf_model = with_head("llama").train()
    for index, parameter in enumerate(hf_model.parameters()):
        parameter.requires_grad_(index % 2 == 0)
    before = [(parameter.requires_grad, parameter.clone()) for parameter in hf_model.parameters()]
    ats.attribute(ats.Model(hf_model), zoo.inputs("llama"))
    assert hf_model.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in hf_model.modules())
    for parameter, (required, values) in zip(hf_model.parameters(), before, strict=True):
        assert parameter.requires_grad == required
        assert parameter.grad is None
        assert torch.equal(parameter, values)


@pytest.mark.parametrize(
    ("name", "head", "options", "named"),
    [
        ("bert", "AutoModelForSequenceClassification", {"target": "LABEL_7"}, "known: LABEL_0"),
        ("bert", "AutoModelForSequenceClassification", {"target": 9}, "known: LABEL_0"),
        ("bert", "AutoModelForSequenceClassification", {"target": (0, 1, 2)}, "contrast is of two"),
        ("bert", "AutoModelForTokenClassification", {}, "say which token is meant"),
        ("bert", "AutoModelForTokenClassification", {"position": 99}, "there is no token 99"),
        ("bert", "AutoModelForQuestionAnswering", {"target": (0, 99)}, "an answer is two token numbers"),
        ("bert", "AutoModelForQuestionAnswering", {"target": (3, 1)}, "ends where it begins or later"),
        ("bert", "AutoModelForQuestionAnswering", {"target": "LABEL_0"}, "an answer is two token numbers"),
        ("bert", "AutoModelForQuestionAnswering", {"target": (-1, 1)}, "an answer is two token numbers"),
        ("bert", "AutoModel", {}, "no head"),
        ("bert", "AutoModelForSequenceClassification", {"position": 1}, "one set of logits"),
    ],
)
def test_a_target_that_cannot_be(name: str, head: str, options: dict[str, object], named: str) -> None:
    hf_model = zoo.build(name) if head == "AutoModel" else zoo.build_head(name, head)
    with pytest.raises((InputError, UnsupportedModel), match=named):
        ats.attribute(ats.Model(hf_model), zoo.inputs(name), **options)


def test_a_token_that_is_not_there_has_near_ones() -> None:
    model = ats.Model(zoo.build_head("bert", "AutoModelForMaskedLM"), zoo.tokenizer("bert"))
    with pytest.raises(InputError, match=r"no target 'catt'; did you mean 'cat'.* the model has 128"):
        ats.attribute(model, "the [MASK] sat", target="catt")
    nameless = ats.Model(zoo.build_head("bert", "AutoModelForMaskedLM"))
    with pytest.raises(InputError, match=r"no target 'cat'; the model has 128, counted from 0$"):
        ats.attribute(nameless, zoo.inputs("bert"), target="cat", position=1)
