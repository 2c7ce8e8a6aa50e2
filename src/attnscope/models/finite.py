"""Weights that are no numbers, or not there."""

import torch
from transformers import PreTrainedModel

from attnscope.errors import InputError


def check_finite(model: PreTrainedModel, name: str) -> None:
    """Refuse weights that are NaN or infinite: nothing adds up with them."""
    for key, parameter in model.named_parameters():
        if parameter.is_floating_point() and not bool(torch.isfinite(parameter).all()):
            raise InputError(f"the weights of {name} hold NaN or infinity, first in {key}")


def check_loaded(model: PreTrainedModel, name: str) -> None:
    """Refuse a model of which only the shapes are here."""
    for key, parameter in model.named_parameters():
        if parameter.is_meta:
            raise InputError(
                f"the weights of {name} are not in memory (device meta), first {key}; load them all onto one device"
            )
