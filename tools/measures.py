"""Writes the documentation page of the measures from their registry. `python -m tools.measures`"""

from pathlib import Path

from attnscope.measures import MEASURES, Measure

PAGE = Path(__file__).parent.parent / "docs" / "measures.md"
ORDER = (
    "weight",
    "value_norm",
    "head_norm",
    "attention_norm",
    "residual_norm",
    "block_norm",
    "mixing_ratio",
    "expansion_rate",
    "encoder_norm",
    "feedforward_norm",
    "alti",
    "value_zeroing",
)
"""From what is looked at first to what is built on it; a measure that is not named here comes after them."""

INTRODUCTION = """# Measures

This page is generated from the registry: `make docs`.

For a query *i*, a key *j* and a head *h*: α is the weight, x_j the input of the attention for token *j* (behind the
norm, in models that normalise first), and f^h(x_j) = (x_j W_V^h + b_V^h) W_O^h the vector that the key has for the
head. r_i is the residual stream, g the block's normalisation taken as a linear map, with the statistic that the model
itself computed.

| where the norm stands | the block's output | example |
| --- | --- | --- |
| after the sum | g(r_i + Σ α f + b_O) + β | BERT |
| before attention | r_i + Σ α f + b_O | GPT-2, Llama |
| on the branch | r_i + g(Σ α f + b_O) + β | Gemma 2, OLMo 2 |
| parallel to the feed-forward | r_i + Σ α f + b_O, before the feed-forward is added | GPT-NeoX, Falcon |

Conventions, where papers leave a choice: `residual_norm` holds the model's constant multipliers (Granite's, layer
scales) but no normalisation; `block_norm` holds both, so that without a norm behind the attention the two are the same.
Across stacks (a decoder looking at its encoder) the residual belongs to no key: `residual_norm` is then
`attention_norm` times the multipliers, and the own part in `mixing_ratio` is the residual alone. With attention sinks
the weights of a query sum to less than 1; `attrs["least_weight_sum"]` says how little. Behind an output gate
(Qwen3-Next) a key's vector is another one for each query, so there is no `value_norm`. Values that are no affine map of
the attention's input (compressed, normalised or clipped ones) have no `expansion_rate`: it is NaN.

The feed-forward block is taken as the integrated gradients, from zero, of its activations (Kobayashi et al. 2024), for
which there is a closed form: an elementwise g(s) gives each part z the share z · g(s)/s, and a gated unit g(a) · b
gives b's parts the factor M = ∫₀¹ g(ta) dt and a's parts b · (g(a) − M)/a. Experts are those that the router chose,
with its weights held. In `feedforward_norm` the biases have a part of their own; that all parts add up to the layer's
own output is Law 3, whose error stands in the result. Where the feed-forward runs beside the attention, a token's own
part holds its feed-forward. `encoder_norm` leaves the feed-forward out, but takes the statistic of the closing norm
from the real total, as GlobEnc does. `feedforward_norm` and `value_zeroing` run the model again on copies of the text,
one for each key: they cost about as many passes as the text has tokens.
"""


def section(measure: Measure) -> str:
    """One measure."""
    dims = " · ".join(("layer", *measure.dims))
    lines = [f"## `{measure.name}`", "", measure.summary, "", f"- {measure.formula}", f"- axes: {dims}"]
    lines += [f"- {axis}: {', '.join(names)}" for axis, names in measure.coordinates.items()]
    return "\n".join([*lines, f"- {measure.paper}"])


def page() -> str:
    """The whole page."""
    known = [name for name in ORDER if name in MEASURES]
    names = [*known, *sorted(set(MEASURES) - set(known))]
    return "\n\n".join([INTRODUCTION.strip(), *(section(MEASURES[name]) for name in names)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
