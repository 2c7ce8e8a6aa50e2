"""What changed between the two models on one text."""

import numpy as np

from attnscope.analyses.compare import compare
from attnscope.analyses.views.reading import chosen
from attnscope.analyses.views.registry import Models, Progress, TextRequest, view
from attnscope.artifacts.change import Change
from attnscope.artifacts.parcel import Parcel
from attnscope.axes import HEAD, LAYER

_ARRAYS = ("jensen_shannon", "total_variation", "cosine", "spearman")


class ChangeRequest(TextRequest):
    """By which measure."""

    measure: str = "weight"


@view
def change(models: Models, request: ChangeRequest, progress: Progress) -> Parcel:
    """How far model B's maps lie from model A's, by layer and head, and which words gained and lost."""
    base, tuned = chosen(models, "a"), chosen(models, "b")
    text = request.text if request.pair is None else (request.text, request.pair)
    found = compare(base, tuned, [text], measure=request.measure, progress=progress)
    has_heads = HEAD in found["jensen_shannon"].dims
    values = {name: found[name].to_numpy().astype(np.float32) for name in _ARRAYS}
    values = values if has_heads else {name: array[:, None] for name, array in values.items()}
    artifact = Change(
        model=f"{base.name} and {tuned.name}",
        measure=request.measure,
        base=base.name,
        tuned=tuned.name,
        unit=found.attrs["unit"],
        stack=str(found.attrs["stack"]),
        layers=tuple(int(layer) for layer in found[LAYER].to_numpy()),
        heads=tuple(int(head) for head in found[HEAD].to_numpy()) if has_heads else (),
        layer_match=str(found.attrs["layer_match"]),
        words=tuple(map(str, found["word"].to_numpy())),
        summary=tuple(str(found.attrs["summary"]).splitlines()),
        reconstruction_error=float(found.attrs["reconstruction_error"]),
    )
    # A map of one key has no rank correlation; to a picture that is no number, but nothing moved.
    values["spearman"] = np.nan_to_num(values["spearman"], nan=1.0)
    return Parcel(artifact, values | {"word_change": found["word_mean_change"].to_numpy().astype(np.float32)})
