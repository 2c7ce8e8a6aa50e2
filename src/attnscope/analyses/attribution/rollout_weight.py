"""Rollout of the weights."""

from attnscope.analyses.attribution.rankings import rolled
from attnscope.analyses.attribution.registry import ABNAR_2020, Answer, Question, attribution


@attribution(formula="(Ã_L ⋯ Ã_1)_ik with Ã = (A + I) / 2, A the weights' mean over h", paper=ABNAR_2020, signed=False)
def rollout_weight(question: Question) -> Answer:
    """Rollout of weight through all layers, from the tokens that the head reads."""
    return rolled(question, "weight")
