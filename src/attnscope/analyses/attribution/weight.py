"""Raw attention weights."""

from attnscope.analyses.analyze import analyze
from attnscope.analyses.attribution.rankings import row_of
from attnscope.analyses.attribution.registry import Answer, Question, attribution


@attribution(
    formula="mean over h of α^h_ik in the last layer", paper="the usual reading of an attention map", signed=False
)
def weight(question: Question) -> Answer:
    """The last layer's attention weights from the tokens that the head reads, mean over heads."""
    model = question.model
    last = model.sites()[-1].layer
    found = analyze(model, question.text, question.pair, measures="weight", layers=[last])
    return row_of(question, found["weight"].mean("head").to_numpy()[0])
