"""Rollout of the blocks' norms."""

from attnscope.analyses.attribution.rankings import rolled
from attnscope.analyses.attribution.registry import ABNAR_2020, Answer, Question, attribution


@attribution(
    formula="(A_L ⋯ A_1)_ik with A the norms as shares of rows",
    paper=f"{ABNAR_2020}, of Kobayashi et al. 2021's norms",
    signed=False,
)
def rollout_block_norm(question: Question) -> Answer:
    """Rollout of block_norm through all layers, from the tokens that the head reads."""
    return rolled(question, "block_norm")
