"""Integrated gradients."""

from attnscope.analyses.attribution.registry import Answer, Question, attribution
from attnscope.errors import InputError
from attnscope.models import gradients


@attribution(
    formula="x_k · ∫₀¹ ∂logit/∂x_k at t·x dt; Σ_k + logit at 0 = logit",
    paper="Sundararajan et al. 2017, Axiomatic Attribution for Deep Networks (ICML)",
    signed=True,
)
def integrated_gradients(question: Question) -> Answer:
    """The token's state times the mean gradient on the way from zero states; the bias is the logit at zero."""
    steps = question.steps
    if not isinstance(steps, int) or not 1 <= steps <= 4096:
        raise InputError(f"steps is a whole number from 1 to 4096, not {steps!r}")
    by = gradients.integrated_gradients(steps)
    found, target = question.model.attribute(question.inputs, question.target, question.position, by=by)
    return Answer(found, target, {"steps": steps})
