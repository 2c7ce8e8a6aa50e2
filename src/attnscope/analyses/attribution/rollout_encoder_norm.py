"""Rollout of the layers' norms but for the feed-forward (GlobEnc)."""

from attnscope.analyses.attribution.rankings import rolled
from attnscope.analyses.attribution.registry import Answer, Question, attribution


@attribution(
    formula="(A_L ⋯ A_1)_ik with A the norms as shares of rows",
    paper="Modarressi et al. 2022, GlobEnc (NAACL)",
    signed=False,
)
def rollout_encoder_norm(question: Question) -> Answer:
    """Rollout of encoder_norm through all layers, from the tokens that the head reads."""
    return rolled(question, "encoder_norm")
