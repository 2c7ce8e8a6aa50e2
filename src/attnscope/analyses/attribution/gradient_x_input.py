"""Gradient × input."""

from attnscope.analyses.attribution.registry import Answer, Question, attribution
from attnscope.models import gradients


@attribution(
    formula="x_k · ∂logit/∂x_k",
    paper="Denil et al. 2014, Extraction of Salient Sentences from Labelled Documents",
    signed=True,
)
def gradient_x_input(question: Question) -> Answer:
    """The logit's gradient times the token's state before layer 1, in the network as it is."""
    by = gradients.gradient_x_input
    return Answer(*question.model.attribute(question.inputs, question.target, question.position, by=by))
