"""Rollout of the attention's norms."""

from attnscope.analyses.attribution.rankings import rolled
from attnscope.analyses.attribution.registry import ABNAR_2020, Answer, Question, attribution


@attribution(
    formula="(Ã_L ⋯ Ã_1)_ik with Ã = (A + I) / 2, A the norms as shares of rows",
    paper=f"{ABNAR_2020}, of Kobayashi et al. 2020's norms",
    signed=False,
)
def rollout_attention_norm(question: Question) -> Answer:
    """Rollout of attention_norm through all layers, from the tokens that the head reads."""
    return rolled(question, "attention_norm")
