"""Rollout of ALTI's shares."""

from attnscope.analyses.attribution.rankings import rolled
from attnscope.analyses.attribution.registry import Answer, Question, attribution


@attribution(
    formula="(A_L ⋯ A_1)_ik with A the measure, whose rows are shares",
    paper="Ferrando et al. 2022, ALTI (EMNLP)",
    signed=False,
)
def rollout_alti(question: Question) -> Answer:
    """Rollout of alti through all layers, from the tokens that the head reads."""
    return rolled(question, "alti")
