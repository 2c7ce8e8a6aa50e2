"""One head as a table of tokens by tokens."""

from attnscope.analyses.analyze import Unit, analyze
from attnscope.analyses.views.reading import axes, chosen, inner_stack
from attnscope.analyses.views.registry import Models, Progress, SlotRequest, view
from attnscope.artifacts.head import Head
from attnscope.artifacts.parcel import Parcel


class HeadRequest(SlotRequest):
    """Which head, counted from 1."""

    layer: int
    head: int
    unit: Unit = "token"
    stack: str | None = None


@view
def head(models: Models, request: HeadRequest, progress: Progress) -> Parcel:
    """How much one head takes from each key to each query: α beside ‖αf(x)‖."""
    model = chosen(models, request.slot)
    stack = inner_stack(model, request.stack)
    both = axes(model, request.text, request.pair, stack, request.unit)
    found = analyze(
        model,
        request.text,
        request.pair,
        measures=["weight", "head_norm"],
        layers=[request.layer],
        heads=[request.head],
        stack=stack,
        progress=progress,
    )
    weight, norm = (both.between(found[name].to_numpy()[0, 0]) for name in ("weight", "head_norm"))
    artifact = Head(
        model=model.name,
        stack=stack,
        unit=request.unit,
        layer=request.layer,
        head=request.head,
        tokens=both.queries.listed(),
        keys=both.keys.listed(),
        reconstruction_error=float(found.attrs["reconstruction_error"]),
    )
    return Parcel(artifact, {"weight": weight, "norm": norm})
