"""A model with its weights rounded to int8: the smallest change that people make to a model without a second thought.

What it does to attention is a noise floor: a change no larger than that says nothing.
"""

import copy

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from attnscope.models.model import Model

_LARGEST = 127


def quantised(model: Model) -> Model:
    """A copy of the model with every linear layer's weights rounded to int8 and back, a scale for each output channel.

    Biases, norms and embeddings stay as they are; so do weights that are kept in no linear layer, such as those of a
    mixture's experts, and an output layer, which may share the embeddings' weights and lies behind all attention.
    """
    hf_model = copy.deepcopy(model.hf_model)
    outputs = hf_model.get_output_embeddings()
    with torch.no_grad():
        for module in hf_model.modules():
            if isinstance(module, nn.Linear | Conv1D) and module is not outputs:
                channels = 0 if isinstance(module, nn.Linear) else 1
                module.weight.copy_(rounded(module.weight, 1 - channels))
    return Model(hf_model, model.tokenizer, processor=model.processor, name=f"{model.name} (int8)")


def rounded(weight: Tensor, inputs: int) -> Tensor:
    """The weight on a grid of 255 values from −max to max of each output channel; `inputs` is the axis summed over."""
    scale = weight.abs().amax(inputs, keepdim=True).float() / _LARGEST
    steps = (weight.float() / scale.where(scale > 0, 1)).round()
    return (steps * scale).to(weight.dtype)
