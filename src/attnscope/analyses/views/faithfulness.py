"""Whether a method's tokens are those that the decision depends on."""

import numpy as np

from attnscope.analyses import faithfulness as analysis
from attnscope.analyses.views.reading import chosen, decided_on
from attnscope.analyses.views.registry import Models, Progress, SlotRequest, view
from attnscope.artifacts.faithfulness import Faithfulness
from attnscope.artifacts.parcel import Parcel
from attnscope.errors import InputError


class FaithfulnessRequest(SlotRequest):
    """Of which methods."""

    methods: tuple[str, ...] = analysis.DEFAULT_METHODS


@view
def faithfulness(models: Models, request: FaithfulnessRequest, progress: Progress) -> Parcel:
    """How far the probability of the decision falls as the tokens a method ranks highest are taken away."""
    model = chosen(models, request.slot)
    decided = decided_on(model, model.encode(request.text, request.pair))
    if decided.task == "none":
        raise InputError(f"there is no decision to check: {decided.reason}")
    if request.pair is not None:
        raise InputError("tokens are taken away from single texts; leave the second text out")
    if not request.methods:
        raise InputError("no method was asked for; name at least one, for example decomposed")
    found = analysis.faithfulness(model, request.text, methods=request.methods, progress=progress)
    artifact = Faithfulness(
        model=model.name,
        methods=tuple(map(str, found["method"].to_numpy())),
        percent=tuple(float(fraction) * 100 for fraction in found["fraction"].to_numpy()),
        probability=float(found["probability"].to_numpy()[0]),
        verdicts=tuple(map(str, found["verdict"].to_numpy())),
        verdict=str(found.attrs["verdict"]),
    )
    names = ("comprehensiveness", "sufficiency", "aopc")
    return Parcel(artifact, {name: found[name].to_numpy().astype(np.float32) for name in names})
