"""From the words to the decision: what each token contributes to a logit."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from attnscope.analyses.attribution import Answer, Method, Question, lookup
from attnscope.axes import SOURCE, STEP
from attnscope.errors import InputError, UnsupportedModel, one_of, whole_number
from attnscope.models.attribution import Attribution
from attnscope.models.encode import Encoded
from attnscope.models.model import Model
from attnscope.result import dataset, versions
from attnscope.text.tokens import Tokens
from attnscope.text.words import sum_over_key_pieces, units

COMPLETENESS = 1e-4
"""The largest completeness error that is rounding in single precision: it adds up over all layers."""

Unit = Literal["token", "word"]
Floats = NDArray[np.float32]


def attribute(
    model: Model,
    text: Any,
    pair: str | None = None,
    *,
    target: Any = None,
    position: int | Literal["each"] | None = None,
    method: str = "decomposed",
    unit: Unit = "token",
    steps: int = 32,
    seed: int = 0,
) -> xr.Dataset:
    """Attribute a logit to the tokens: what each contributes, signed and in the logit's own units.

    pair       the second text of a pair, or the translation an encoder–decoder is to explain; without one, an
               encoder–decoder explains the translation it writes itself
    target     a class or token by number or name, a pair of them for their difference; None for the predicted one.
               For question answering a pair of token numbers, the answer's first and last.
    position   the token whose logits are meant, counted from 0, in models that have some for each; "each" for all
               of them, on the axis `step` (where logits are about what follows, the tokens that do follow). None for
               the masked token, in language models for the next one, and in encoder–decoders for each
    method     "decomposed", which is exact, or one to compare it with (`attnscope.analyses.attribution.ATTRIBUTIONS`).
               The attribute `signed` says whether a method's numbers speak for and against, or only rank
    unit       "token", or "word": summed over a word's pieces
    steps      of the integral, for method="integrated_gradients"
    seed       for method="random"

    The sources are the states that enter the first layer: of the encoder and then of the decoder, if there are two.
    In the decomposition, attention weights, the statistics of norms and the slopes of activations are held at their
    values; the logit is then exactly Σ contribution + bias, where the bias is what the model's own bias parameters do.
    A model for which the two do not add up is refused.
    """
    chosen = lookup(method)
    one_of("unit", unit, ("token", "word"))
    whole_number("seed", seed, 0)
    inputs = model.encode_for_decision(text, pair)
    if position is None and model.translates:
        position = "each"
    answer = chosen.compute(Question(model, text, pair, inputs, target, position, steps, seed))
    found, explained = answer.found, answer.target
    if chosen.exact:
        check_complete(model, found)
    attributes = versions() | {"model": model.name, "method": method, "unit": unit}
    attributes |= {"signed": "yes" if chosen.signed else "no", "paper": chosen.paper} | answer.notes
    if isinstance(text, str):
        attributes |= {"text": text} | ({} if pair is None else {"pair": pair})
    contribution = np.stack([one.contribution.cpu().numpy().astype(np.float32) for one in found])
    labels, sides = sources_of(inputs, contribution.shape[-1], unit)
    contribution = in_units(inputs, contribution, unit)
    sources = {"source_token": ((SOURCE,), labels)}
    if sides is not None:
        sources["source_side"] = ((SOURCE,), sides)
    if position == "each":
        return _by_step(model, inputs, chosen, answer, contribution, sources, attributes)
    attributes |= {"target": explained.names[0], "target_value": found[0].value}
    if chosen.signed:
        attributes |= {"bias": found[0].bias, "completeness_error": found[0].completeness_error}
    return dataset({"contribution": ((SOURCE,), contribution[0])}, sources, attributes, _names(chosen))


def _names(method: Method) -> dict[str, str]:
    return _NAMES | {"contribution": method.summary}


_NAMES = {
    "target_value": "the logit",
    "bias": "what the bias parameters add to the target",
    "completeness_error": "what is left over, relative",
}


def check_one(position: object) -> None:
    """Refuse to be asked about every token at once, where one answer is given."""
    if position == "each":
        raise InputError("position='each' asks about every token; attribute answers that, here one token is meant")


def check_complete(model: Model, found: Sequence[Attribution]) -> None:
    """Refuse a model whose parts are not the whole logit."""
    refuse_incomplete(model, max(one.rounding_error for one in found), "the logit")


def refuse_incomplete(model: Model, error: float, whole: str) -> None:
    """Refuse a model whose parts are not the whole, by more than rounding at its precision explains."""
    rounding = max(COMPLETENESS, model.tolerance)
    if not error <= rounding:
        raise UnsupportedModel(
            model.name,
            f"what the tokens and the biases contribute does not add up to {whole} (error {error:.1e}, rounding "
            f"explains at most {rounding:.0e}): some part of the model is no affine map even when attention, norms "
            "and activations are held",
        )


def _by_step(
    model: Model,
    inputs: Encoded,
    chosen: Method,
    answer: Answer,
    contribution: Floats,
    sources: dict[str, Any],
    attributes: dict[str, Any],
) -> xr.Dataset:
    """One row for each token whose logits were explained."""
    reader = inputs.target if model.is_encoder_decoder else inputs.source
    found = answer.found
    variables: dict[str, Any] = {
        "contribution": ((STEP, SOURCE), contribution),
        "target_value": ((STEP,), np.array([one.value for one in found])),
    }
    attributes |= {"target": "each"}
    if chosen.signed:
        errors = np.array([one.completeness_error for one in found])
        variables |= {"bias": ((STEP,), np.array([one.bias for one in found])), "completeness_error": ((STEP,), errors)}
        attributes |= {"completeness_error": float(errors.max())}
    coordinates = sources | {
        "target": ((STEP,), answer.target.names),
        "step_token": ((STEP,), _labels(reader, len(found))),
    }
    return dataset(variables, coordinates, attributes, _names(chosen))


def sources_of(inputs: Encoded, count: int, unit: Unit = "token") -> tuple[list[str], list[str] | None]:
    """Labels of the sources, and which side each is of where there are two."""
    sides = _sides(inputs, count)
    if not sides:
        return [str(number) for number in range(1, count + 1)], None
    labels = [list(units(tokens).labels if unit == "word" else tokens.strings) for tokens in sides]
    if len(sides) == 1:
        return labels[0], None
    return [*labels[0], *labels[1]], ["source"] * len(labels[0]) + ["target"] * len(labels[1])


def _sides(inputs: Encoded, count: int) -> list[Tokens]:
    """The tokens that the sources are; none where they are no text."""
    sides = [tokens for tokens in (inputs.source, inputs.target) if tokens is not None]
    return sides if sum(len(tokens) for tokens in sides) == count else []


def in_units(inputs: Encoded, contribution: Floats, unit: Unit) -> Floats:
    """The contributions in the units asked for."""
    sides = _sides(inputs, contribution.shape[-1])
    if unit == "token" or not sides:
        return contribution
    parts = np.split(contribution, [len(sides[0])], -1) if len(sides) > 1 else [contribution]
    pairs = zip(parts, sides, strict=True)
    return np.concatenate([sum_over_key_pieces(part, tokens.words) for part, tokens in pairs], -1)


def _labels(tokens: Tokens | None, count: int) -> list[str]:
    if tokens is None or len(tokens) != count:
        return [str(number) for number in range(1, count + 1)]
    return list(tokens.strings)
