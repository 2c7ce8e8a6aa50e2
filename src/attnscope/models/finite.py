"""Weights that are no numbers."""

import torch
from transformers import PreTrainedModel

from attnscope.errors import InputError


def check_finite(model: PreTrainedModel, name: str) -> None:
    """Refuse weights that are NaN or infinite: nothing adds up with them."""
    for key, parameter in model.named_parameters():
        if parameter.is_floating_point() and not bool(torch.isfinite(parameter).all()):
            raise InputError(f"the weights of {name} hold NaN or infinity, first in {key}")
