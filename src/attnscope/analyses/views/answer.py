"""What a model reads and answers."""

from attnscope.analyses.views.reading import Axis, chosen
from attnscope.analyses.views.registry import Models, Progress, SlotRequest, view
from attnscope.artifacts.answer import Answer
from attnscope.artifacts.parcel import Parcel
from attnscope.errors import InputError
from attnscope.models.decision import decision


@view
def answer(models: Models, request: SlotRequest, progress: Progress) -> Parcel:
    """The tokens of a text, and the likeliest answers of the model's head.

    Models without a head, question answering, token classifiers, masked language models without a gap to fill, and
    encoder–decoders without a target have no list of answers; `reason` says which it is.
    """
    model = chosen(models, request.slot)
    inputs = model.encode(request.text, request.pair)
    if inputs.source is None:
        raise InputError(f"{model.name} reads no texts")
    found = decision(model, inputs)
    progress(1, 1)
    return Parcel(
        Answer(
            model=model.name,
            tokens=Axis(inputs.source, "token").listed(),
            task=found.task,
            position=found.position,
            choices=found.choices,
            reason=found.reason,
        ),
        {},
    )
