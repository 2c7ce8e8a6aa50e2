"""The methods one compares with: each of them worked out a second time, by other means."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import gelu, linear
from transformers import PreTrainedModel

import attnscope as ats
from attnscope.analyses.attribution import ATTRIBUTIONS
from attnscope.errors import InputError, UnsupportedModel
from tests import zoo

CLASSIFIER = "AutoModelForSequenceClassification"
TEXT = "the cat sat on the mat"


def classifier(seed: int = 0) -> PreTrainedModel:
    return zoo.build_head("bert", CLASSIFIER, seed=seed)


def from_state(hf_model: PreTrainedModel, state: Tensor) -> Tensor:
    """The logits that the model makes of a state before layer 1, layer called after layer."""
    for layer in hf_model.bert.encoder.layer:
        state = layer(state)
        state = state[0] if isinstance(state, tuple) else state
    return hf_model.classifier(hf_model.bert.pooler(state))[0]


def first_state(hf_model: PreTrainedModel, inputs: dict[str, Tensor]) -> Tensor:
    with torch.no_grad():
        return hf_model(**inputs, output_hidden_states=True).hidden_states[0]


def test_gradient_times_state() -> None:
    hf_model, inputs = classifier(), zoo.inputs("bert")
    found = ats.attribute(ats.Model(hf_model), inputs, target=1, method="gradient_x_input")
    state = first_state(hf_model, inputs).requires_grad_()
    value = from_state(hf_model, state)[1]
    (gradient,) = torch.autograd.grad(value, state)
    np.testing.assert_allclose(found["contribution"], (gradient * state).sum(-1)[0].detach(), rtol=1e-4, atol=1e-6)
    assert found.attrs["target_value"] == pytest.approx(value.item(), abs=1e-5)


def test_the_integral_is_that_of_a_fine_sum() -> None:
    hf_model, inputs = classifier(1), zoo.inputs("bert", length=6)
    found = ats.attribute(ats.Model(hf_model), inputs, target=2, method="integrated_gradients", steps=200)
    state = first_state(hf_model, inputs)
    total, points = torch.zeros_like(state), 400
    for point in range(points):
        scaled = (state * ((point + 0.5) / points)).requires_grad_()
        total += torch.autograd.grad(from_state(hf_model, scaled)[2], scaled)[0] / points
    expected = (total * state).sum(-1)[0]
    np.testing.assert_allclose(found["contribution"], expected, atol=2e-3 * float(expected.abs().max()))
    baseline = from_state(hf_model, torch.zeros_like(state))[2].item()
    assert found.attrs["bias"] == pytest.approx(baseline, abs=1e-5)
    assert found.attrs["completeness_error"] < 1e-3
    total_found = float(found["contribution"].sum()) + found.attrs["bias"]
    assert total_found == pytest.approx(found.attrs["target_value"], abs=1e-3)


def test_more_steps_are_nearer() -> None:
    model, inputs = ats.Model(classifier(1)), zoo.inputs("bert", length=6)
    errors = [
        ats.attribute(model, inputs, method="integrated_gradients", steps=steps).attrs["completeness_error"]
        for steps in (1, 8, 64)
    ]
    assert errors[2] < errors[0]
    assert errors[2] < 1e-2


class Relevance:
    """AttnLRP on BERT by hand: relevance is handed from layer to layer by its rules, and no derivative is taken."""

    def __init__(self, hf_model: PreTrainedModel, inputs: dict[str, Tensor], label: int) -> None:
        self.model = hf_model.double()
        with torch.no_grad():
            state = self.model(**inputs, output_hidden_states=True).hidden_states[0][0]
            undo = []
            for layer in self.model.bert.encoder.layer:
                state, back = self.layer(layer, state)
                undo.append(back)
            pooler, head = self.model.bert.pooler.dense, self.model.classifier
            before = linear(state[0], pooler.weight, pooler.bias)
            pooled = torch.tanh(before)
            relevance = pooled * head.weight[label]
            first = self.through(pooler.weight, state[0], before, relevance)
            relevance = torch.zeros_like(state)
            relevance[0] = first
            for back in reversed(undo):
                relevance = back(relevance)
            self.tokens = relevance.sum(-1)

    @staticmethod
    def through(weight: Tensor, x: Tensor, z: Tensor, relevance: Tensor) -> Tensor:
        """A linear map: each input gets its part of each output."""
        return x * ((relevance / z) @ weight)

    @staticmethod
    def norm(norm: torch.nn.LayerNorm, x: Tensor, relevance: Tensor) -> Tensor:
        spread = torch.sqrt(x.var(-1, correction=0, keepdim=True) + norm.eps)
        y = norm(x)
        slope = relevance / y * norm.weight / spread
        return x * (slope - slope.mean(-1, keepdim=True))

    def layer(self, layer, state: Tensor):
        own, heads = layer.attention.self, self.model.config.num_attention_heads
        split = lambda x: x.unflatten(-1, (heads, -1)).transpose(0, 1)  # noqa: E731 - local shorthand of a formula
        q, k, v = (linear(state, part.weight, part.bias) for part in (own.query, own.key, own.value))
        scores = split(q) @ split(k).mT / split(q).shape[-1] ** 0.5
        alpha = scores.softmax(-1)
        mixed = (alpha @ split(v)).transpose(0, 1).flatten(-2)
        dense = layer.attention.output.dense
        attended = linear(mixed, dense.weight, dense.bias)
        middle = layer.attention.output.LayerNorm(attended + state)
        up, down = layer.intermediate.dense, layer.output.dense
        before = linear(middle, up.weight, up.bias)
        active = gelu(before)
        fed = linear(active, down.weight, down.bias)
        after = fed + middle

        def back(relevance: Tensor) -> Tensor:
            share = self.norm(layer.output.LayerNorm, after, relevance) / after
            to_middle = share * middle
            to_active = self.through(down.weight, active, fed, share * fed)
            to_middle = to_middle + self.through(up.weight, middle, before, to_active)
            share = self.norm(layer.attention.output.LayerNorm, attended + state, to_middle) / (attended + state)
            to_state = share * state
            to_mixed = self.through(dense.weight, mixed, attended, share * attended)
            ratio = split(to_mixed) / split(mixed)
            parts = alpha[..., None] * split(v)[:, None] * ratio[:, :, None]  # head query key value
            to_value = parts.sum(1) / 2
            to_alpha = parts.sum(-1) / 2
            to_scores = scores * (to_alpha - alpha * to_alpha.sum(-1, keepdim=True))
            pairs = split(q)[:, :, None] * split(k)[:, None] / split(q).shape[-1] ** 0.5
            pairs = pairs * (to_scores / scores)[..., None] / 2
            for part, whole, got in (
                (own.query, q, pairs.sum(2)),
                (own.key, k, pairs.sum(1)),
                (own.value, v, to_value),
            ):
                merged = got.transpose(0, 1).flatten(-2)
                to_state = to_state + self.through(part.weight, state, whole, merged)
            return to_state

        return layer.output.LayerNorm(after), back


@pytest.mark.parametrize("label", [0, 2])
def test_relevance_is_that_of_the_rules(label: int) -> None:
    hf_model, inputs = classifier().double(), zoo.inputs("bert", length=7)
    found = ats.attribute(ats.Model(hf_model), inputs, target=label, method="attnlrp")
    expected = Relevance(hf_model, inputs, label).tokens
    np.testing.assert_allclose(found["contribution"], expected, rtol=1e-3, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("name", ["llama", "qwen3", "gpt2", "mixtral", "t5"])
def test_relevance_of_other_architectures_is_finite_and_not_the_decomposition(name: str) -> None:
    kind = {"decoder": "AutoModelForCausalLM", "encoder-decoder": "AutoModelForSeq2SeqLM"}[zoo.kind_of(name)]
    model, inputs = ats.Model(zoo.build_head(name, kind)), zoo.inputs(name)
    exact, relevance = (ats.attribute(model, inputs, method=method) for method in ("decomposed", "attnlrp"))
    assert np.isfinite(relevance["contribution"]).all()
    assert relevance.attrs["completeness_error"] > exact.attrs["completeness_error"]


def read_from(hf_model: PreTrainedModel, text: str, kind: zoo.TokenizerKind, **options: object) -> str:
    return ats.attribute(ats.Model(hf_model, zoo.tokenizer(kind)), text, method="weight", **options).attrs["read_from"]


def test_the_rows_of_a_decision_are_those_that_are_read() -> None:
    assert read_from(classifier(), TEXT, "bert").startswith("token 1 of")
    decoder = zoo.build_head("llama", CLASSIFIER)
    size = len(zoo.tokenizer("gpt")(TEXT)["input_ids"])
    assert read_from(decoder, TEXT, "gpt") == f"token {size} of {size}"
    filler = zoo.build_head("bert", "AutoModelForMaskedLM")
    assert read_from(filler, "the [MASK] sat", "bert").startswith("token 3 of")
    span = zoo.build_head("bert", "AutoModelForQuestionAnswering")
    assert "mean over tokens 2, 4 of" in read_from(span, TEXT, "bert", target=(1, 3))


def test_a_head_that_takes_the_mean_is_found_out() -> None:
    hf_model = zoo.build_head("modernbert", CLASSIFIER)
    hf_model.config.classifier_pooling = "mean"
    assert "mean over all" in read_from(hf_model, TEXT, "bert")


def test_rankings_are_rows_of_their_maps() -> None:
    model = ats.Model(classifier(), zoo.tokenizer("bert"))
    weights = ats.analyze(model, TEXT, measures="weight")["weight"][-1].mean("head")[0]
    np.testing.assert_allclose(ats.attribute(model, TEXT, method="weight")["contribution"], weights, atol=1e-6)
    for measure in ("weight", "block_norm"):
        rolled = ats.rollout(model, TEXT, measure=measure)["rollout"][-1, 0]
        found = ats.attribute(model, TEXT, method=f"rollout_{measure}")
        np.testing.assert_allclose(found["contribution"], rolled, atol=1e-6)
        assert found.attrs["signed"] == "no"
        assert "bias" not in found.attrs


def test_random_is_a_seed() -> None:
    model = ats.Model(classifier(), zoo.tokenizer("bert"))
    one, same, other = (ats.attribute(model, TEXT, method="random", seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one["contribution"], same["contribution"])
    assert (one["contribution"] != other["contribution"]).all()


@pytest.mark.parametrize("method", sorted(ATTRIBUTIONS))
def test_every_method_keeps_the_contract(method: str) -> None:
    hf_model = classifier().train()
    before = [parameter.clone() for parameter in hf_model.parameters()]
    model = ats.Model(hf_model, zoo.tokenizer("bert"))
    found, again = (ats.attribute(model, TEXT, target="LABEL_1", method=method, steps=4) for _ in range(2))
    assert found["contribution"].dims == ("source",)
    assert np.isfinite(found["contribution"]).all()
    np.testing.assert_array_equal(found["contribution"], again["contribution"])
    assert found.attrs["target"] == "LABEL_1"
    assert found.attrs["method"] == method
    assert found.attrs["signed"] == ("yes" if ATTRIBUTIONS[method].signed else "no")
    assert ATTRIBUTIONS[method].summary.endswith(".")
    assert ATTRIBUTIONS[method].signed or (found["contribution"] >= 0).all()
    assert hf_model.training
    assert all(torch.equal(old, new) for old, new in zip(before, hf_model.parameters(), strict=True))
    assert not any(parameter.grad is not None for parameter in hf_model.parameters())
    words = ats.attribute(model, TEXT, target="LABEL_1", method=method, steps=4, unit="word")
    assert float(words["contribution"].sum()) == pytest.approx(float(found["contribution"].sum()), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"method": "decomposd"}, "did you mean 'decomposed'"),
        ({"method": "integrated_gradients", "steps": 0}, "steps is a whole number"),
        ({"method": "weight", "target": "LABEL_9"}, "known: LABEL_0"),
        ({"method": "random", "seed": -1}, "seed must be a whole number from 0, not -1"),
    ],
)
def test_mistakes(options: dict[str, object], named: str) -> None:
    with pytest.raises((InputError, UnsupportedModel), match=named):
        ats.attribute(ats.Model(classifier(), zoo.tokenizer("bert")), TEXT, **options)


@pytest.mark.parametrize("method", ["weight", "rollout_weight"])
def test_maps_of_two_stacks_rank_nothing(method: str) -> None:
    model = ats.Model(zoo.build_head("bart", "AutoModelForSeq2SeqLM"), zoo.tokenizer("roberta"))
    with pytest.raises(UnsupportedModel, match="one stack of layers"):
        ats.attribute(model, TEXT, "a dog ran", method=method)
