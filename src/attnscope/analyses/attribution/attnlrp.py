"""Layer-wise relevance propagation by the rules for attention."""

from attnscope.analyses.attribution.registry import Answer, Question, attribution
from attnscope.models.attnlrp import attnlrp as relevance


@attribution(
    formula="x_k · ∂logit/∂x_k under the rules: halved at products, gradients through the softmax kept",
    paper="Achtibat et al. 2024, AttnLRP (ICML)",
    signed=True,
)
def attnlrp(question: Question) -> Answer:
    """Relevance that also goes through the softmax, halved wherever two factors share it."""
    found = question.model.attribute(question.inputs, question.target, question.position, by=relevance)
    return Answer(*found)
