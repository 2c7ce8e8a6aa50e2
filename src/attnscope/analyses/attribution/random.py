"""The control: no knowledge at all."""

import numpy as np
import torch

from attnscope.analyses.attribution.registry import Answer, Question, attribution
from attnscope.models.attribution import Attribution
from attnscope.models.gradients import sensitivity


@attribution(formula="uniform on [0, 1)", paper="a control", signed=False)
def random(question: Question) -> Answer:
    """Numbers drawn at random: what any method has to beat."""
    generator = np.random.default_rng(question.seed)
    seed = question.seed if isinstance(question.seed, int) else ", ".join(map(str, question.seed))
    plain, target = question.model.attribute(question.inputs, question.target, question.position, by=sensitivity)
    drawn = [torch.from_numpy(generator.random(len(one.contribution))).float() for one in plain]
    found = [Attribution(scores, 0.0, one.value) for scores, one in zip(drawn, plain, strict=True)]
    return Answer(found, target, {"seed": seed})
