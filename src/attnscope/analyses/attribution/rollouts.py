"""Rollout of the maps of all layers, by several measures."""

from functools import partial

from attnscope.analyses.attribution.rankings import row_of
from attnscope.analyses.attribution.registry import ABNAR_2020, Answer, Question, attribution
from attnscope.analyses.whole import rollout

_PAPERS = {
    "weight": ABNAR_2020,
    "attention_norm": f"{ABNAR_2020}, of Kobayashi et al. 2020's norms",
    "block_norm": f"{ABNAR_2020}, of Kobayashi et al. 2021's norms",
    "encoder_norm": "Modarressi et al. 2022, GlobEnc (NAACL)",
    "alti": "Ferrando et al. 2022, ALTI (EMNLP)",
}


def _rolled(measure: str, question: Question) -> Answer:
    model = question.model
    last = model.sites()[-1].layer
    found = rollout(model, question.text, question.pair, measure=measure, layers=[last])
    return row_of(question, found["rollout"].to_numpy()[0])


for _measure, _paper in _PAPERS.items():
    _compute = partial(_rolled, _measure)
    _compute.__doc__ = f"Rollout of {_measure} through all layers, from the tokens that the head reads."
    attribution(paper=_paper, signed=False, name=f"rollout_{_measure}")(_compute)
