"""The exact decomposition."""

from attnscope.analyses.attribution.registry import Answer, Question, attribution


@attribution(
    formula="x_k · ∂logit/∂x_k in the frozen network; Σ_k + bias = logit",
    paper="Modarressi et al. 2023, DecompX (ACL); Kobayashi et al. 2021, 2024",
    signed=True,
    exact=True,
)
def decomposed(question: Question) -> Answer:
    """What each token adds to the logit, with attention, norms and activations held: adds up exactly."""
    return Answer(*question.model.attribute(question.inputs, question.target, question.position))
