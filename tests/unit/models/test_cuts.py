"""Quantised weights: what lets gradients through is explained, what cuts them is refused."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

import attnscope as ats
from attnscope.errors import UnsupportedModel
from tests import zoo

TEXT = "the cat sat on the mat"


class Int8(nn.Module):
    """A linear layer of whole numbers; `cuts` is how kernels without derivatives behave."""

    def __init__(self, layer: nn.Linear, cuts: bool) -> None:
        super().__init__()
        scale = layer.weight.detach().abs().max() / 127
        self.register_buffer("weight", torch.round(layer.weight.detach() / scale).to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias, self.cuts = layer.bias, cuts

    def forward(self, state: Tensor) -> Tensor:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.cuts):
            return linear(state, self.weight.float() * self.scale, self.bias)


def quantised(cuts: bool) -> ats.Model:
    hf_model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    for layer in hf_model.bert.encoder.layer:
        layer.output.dense = Int8(layer.output.dense, cuts)
    return ats.Model(hf_model, zoo.tokenizer("bert"), name="quantised")


@pytest.mark.parametrize("method", ["decomposed", "gradient_x_input", "integrated_gradients", "attnlrp", "weight"])
def test_weights_that_cut_gradients_are_named(method: str) -> None:
    model = quantised(cuts=True)
    layer = 1 if method == "weight" else 0  # weights ask alone which of the last layer's tokens are read
    with pytest.raises(UnsupportedModel, match=rf"bert\.encoder\.layer\.{layer}\.output\.dense let no gradient"):
        ats.attribute(model, TEXT, method=method)
    assert not any(module._forward_hooks for module in model.hf_model.modules())


def test_carried_forward_they_need_no_gradient() -> None:
    assert ats.decomposed(quantised(cuts=True), TEXT).attrs["completeness_error"] < 1e-5


def test_weights_that_let_gradients_through_are_explained() -> None:
    model = quantised(cuts=False)
    found = ats.attribute(model, TEXT)
    assert found.attrs["completeness_error"] < 1e-5
    total = float(found["contribution"].sum()) + found.attrs["bias"]
    assert total == pytest.approx(found.attrs["target_value"], rel=1e-4)
