"""Writes the documentation page of the attribution methods from their registry. `python -m tools.attributions`"""

from pathlib import Path

from attnscope.analyses.attribution import ATTRIBUTIONS, Method

PAGE = Path(__file__).parent.parent / "docs" / "attribution.md"
ORDER = ("decomposed", "attnlrp", "integrated_gradients", "gradient_x_input")
"""From what is meant to be used to what it is compared with; a method that is not named here comes after them."""

INTRODUCTION = """# Attribution

This page is generated from the registry: `make docs`.

`attnscope.attribute(model, text, target=...)` and `attnscope attribute MODEL TEXT` say what each token *k* has to do
with a number that the model puts out: a class's logit, the difference of two, the next or the masked token, an
answer's span, or each word of a translation. x_k is the state of token *k* that enters layer 1, behind any embedding
norm, and *i* is a token that the model's head reads: [CLS] or the last token, the mask, or all, whose mean is taken.
Which these are is found out by asking on which states of the last layer the number depends at all; `attrs["read_from"]`
says it.

The frozen network is the model with its attention weights, the statistics of its norms, and the slopes of its
activations held at the values they have for this text: a(s) is taken as s · a(s)/s, a gated unit g(a) · b as held in
one of its factors. It is linear in x but for its biases, so that gradient × input is its exact decomposition, and one
backward pass gives the whole row. `attnscope.decomposed` carries the same parts forward instead, to every state of
every layer; the two agree to rounding, and a model in which they do not add up to the logit is refused.

A **signed** method speaks for and against, in the logit's own units, and has a `bias` and a `completeness_error`: what
is left over. The others only rank. [Faithfulness](faithfulness.md) measures which ranking a model's decisions bear out.

Encoder–decoders that classify a text or answer from it (BART, T5) read it twice: in the encoder, and shifted by one in
the decoder. Each token is then two sources, whose `source_side` is `source` and `target`.

`attnscope.decision(model, text)` and `attnscope attribute --all-classes` put every class of a classifier side by side:
`contribution`, its `share` of all contributions' and the bias' size, and the `deepest` layer, where `attention` is what
the head's tokens look at and `deepest` takes that layer's states apart by class. Both columns add up to the logit.
"""


def section(method: Method) -> str:
    """One method."""
    kind = "signed, adds up exactly" if method.exact else "signed" if method.signed else "ranks alone"
    lines = [f"## `{method.name}`", "", method.summary, "", f"- {method.formula}", f"- {kind}", f"- {method.paper}"]
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    names = [*ORDER, *sorted(set(ATTRIBUTIONS) - set(ORDER))]
    return "\n\n".join([INTRODUCTION.strip(), *(section(ATTRIBUTIONS[name]) for name in names)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
