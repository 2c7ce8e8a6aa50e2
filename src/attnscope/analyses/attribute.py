"""From the words to the decision: what each token contributes to a logit."""

from typing import Any, Literal

import numpy as np
import xarray as xr

from attnscope.axes import SOURCE
from attnscope.errors import UnsupportedModel, one_of
from attnscope.models.model import Model
from attnscope.result import dataset, versions
from attnscope.text.words import sum_over_key_pieces, units

METHODS = ("decomposed",)
_TOLERANCE = 1e-4
"""The largest completeness error that is rounding: it adds up over all layers."""


def attribute(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    target: Any = None,
    position: int | None = None,
    method: Literal["decomposed"] = "decomposed",
    unit: Literal["token", "word"] = "token",
) -> xr.Dataset:
    """Decompose a logit into what each token contributes, signed and in the logit's own units.

    target     a class or token by number or name, a pair of them for their difference; None for the predicted one.
               For question answering a pair of token numbers, the answer's first and last.
    position   the token whose logits are meant, counted from 0, in models that have some for each; None for the
               masked token, or in language models for the next one
    unit       "token", or "word": summed over a word's pieces

    The sources are the states that enter the first layer. Attention weights, the statistics of norms and the slopes
    of activations are held at their values; the logit is then exactly Σ contribution + bias, where the bias is what
    the model's own bias parameters do. A model for which the two do not add up is refused.
    """
    one_of("method", method, METHODS)
    one_of("unit", unit, ("token", "word"))
    inputs = model.encode(text, pair)
    found, name = model.attribute(inputs, target, position)
    if not found.completeness_error <= _TOLERANCE:
        raise UnsupportedModel(
            model.name,
            f"what the tokens and the biases contribute does not add up to the logit (error "
            f"{found.completeness_error:.1e}, rounding explains at most {_TOLERANCE:.0e}): some part of the model is "
            "no affine map even when attention, norms and activations are held",
        )
    contribution = found.contribution.cpu().numpy().astype(np.float32)
    labels = [str(number) for number in range(1, len(contribution) + 1)]
    if inputs.source is not None and len(inputs.source) == len(contribution):
        if unit == "word":
            contribution = sum_over_key_pieces(contribution, inputs.source.words)
        labels = list(inputs.source.strings if unit == "token" else units(inputs.source).labels)
    variables = {"contribution": ((SOURCE,), contribution)}
    attributes = versions() | {
        "model": model.name,
        "method": method,
        "unit": unit,
        "target": name,
        "target_value": found.value,
        "bias": found.bias,
        "completeness_error": found.completeness_error,
    }
    if isinstance(text, str):
        attributes |= {"text": text} | ({} if pair is None else {"pair": pair})
    names = {"contribution": "what a token adds to the target, in its units"}
    return dataset(variables, {"source_token": ((SOURCE,), labels)}, attributes, names)
