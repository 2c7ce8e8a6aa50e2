"""The page with its answers inside: one file that needs no server and no network.

What the page asks about one text is worked out once and written into it; the browser takes it from there instead of
asking. The answers are the same parcels that the server sends.
"""

import base64
import gzip
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attnscope.analyses.analyze import Unit
from attnscope.analyses.views import VIEWS, View
from attnscope.analyses.views.registry import Progress, TextRequest, unwatched
from attnscope.artifacts.answer import Answer
from attnscope.artifacts.session import Example, MeasureInfo, ModelInfo, Session
from attnscope.errors import AttnscopeError, InputError, one_of
from attnscope.models.model import Model
from attnscope.places import check_place, whole
from attnscope.server.jobs import sentence
from attnscope.server.limits import check_length, check_request
from attnscope.server.models import Models
from attnscope.server.session import session
from attnscope.server.settings import Settings

MEASURES = ("weight", "head_norm", "attention_norm", "block_norm", "feedforward_norm", "decomposed")
"""Those that are kept where nobody says which, as far as the models have them."""
ENDING = ".html"
FOLDER = Path(__file__).with_name("single")
"""Written by the build in `web/`, and part of the wheel."""
_PLACE = '<script type="application/json" id="kept"></script>'
"""Where the template has room for the answers."""
_CHANGES = ("weight", "head_norm")
_METHOD = "decomposed"
_Question = tuple[str, dict[str, Any]]
"""A view, and what it is asked."""


def export(
    model: Model,
    text: str,
    path: str | Path,
    *,
    pair: str | None = None,
    tuned: Model | None = None,
    measures: Sequence[str] | None = None,
    unit: Unit = "token",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the web application's page on one text into one HTML file, which works anywhere, without a server.

    `tuned` is a second model to compare with; `measures` are those that can be chosen in the page.
    """
    target = Path(path)
    check_target(target, overwrite=overwrite)
    before, place, after = _template().partition(_PLACE)
    models = {"a": model} if tuned is None else {"a": model, "b": tuned}
    names = {slot: one.name for slot, one in models.items()}
    try:
        kept = _Asking(models, Example(text=text, pair=pair or None), unit, measures).all(progress or unwatched)
    finally:  # in the page they are called by the ends of their paths
        for slot, name in names.items():
            models[slot].name = name
    page = f"{before}{place.replace('><', f'>{_script(kept)}<')}{after}"
    with whole(target) as partial:
        partial.write_text(page, encoding="utf-8")
    return target


def check_target(path: Path, *, overwrite: bool) -> None:
    """What can be wrong with a place to write to, said before any work is done."""
    if path.suffix != ENDING:
        raise InputError(f"{path} has an unknown ending; name it {path.stem}{ENDING}")
    check_place(path, overwrite=overwrite)


class _Asking:
    """Asks all that the page can ask about one text."""

    def __init__(
        self, models: Mapping[str, Model], example: Example, unit: Unit, measures: Sequence[str] | None
    ) -> None:
        self.models, self.example = models, example
        settings = Settings(example=example)
        asked = TextRequest(text=example.text, pair=example.pair)
        check_request(asked, settings.limits)
        for model in models.values():
            check_length(model, asked, settings.limits)
        found = session(Models({slot: partial(_itself, model) for slot, model in models.items()}), settings)
        self.unit: Unit = unit if found.models.b is None or found.models.a.words_shared else "word"
        """Models that cut texts differently are laid over each other in words."""
        self.session = _narrowed(found, measures, self.unit)

    def all(self, progress: Progress) -> dict[str, Any]:
        """What the browser reads: what there is to ask, and every question with its answer."""
        choices = {slot: self._choices(slot) for slot in self.models}
        questions = [("answer", {"slot": slot}) for slot in self.models]
        questions += [question for slot in self.models for question in self._of_one(slot, choices)]
        if len(self.models) > 1:
            questions += [("change", {"measure": measure}) for measure in _CHANGES]
        answers: list[dict[str, Any]] = []
        for done, (name, fields) in enumerate(questions):
            progress(done, len(questions))
            answers.append(self._answered(VIEWS[name], fields))
        progress(len(questions), len(questions))
        return {
            "session": self.session.model_dump(mode="json"),
            "unit": self.unit,
            "defaults": {view.name: _defaults(view) for view in VIEWS.values()},
            "answers": answers,
        }

    def _of_one(self, slot: str, choices: Mapping[str, Sequence[str]]) -> Iterator[_Question]:
        """What one model is asked when everything that can be chosen in the page is."""
        asked = {"slot": slot, "unit": self.unit}
        for measure in self.session.measures:
            if getattr(measure.available, slot):
                for reading in measure.readings:
                    yield "maps", {**asked, "measure": measure.name, "reading": reading}
        info: ModelInfo = getattr(self.session.models, slot)
        named = [name for names in choices.values() for name in names]  # two classifiers are asked about the same class
        for target in (None, *dict.fromkeys(name for name in named if name in (info.classes or choices[slot]))):
            yield "words", {**asked, "target": target}
        yield "heads", asked
        for layer, head in itertools.product(range(1, info.layers + 1), range(1, info.heads + 1)):
            yield "head", {**asked, "layer": layer, "head": head}

    def _choices(self, slot: str) -> list[str]:
        """What a model could answer; raises the reason where it can't read the text."""
        parcel = VIEWS["answer"].compute(self.models, self._request(VIEWS["answer"], {"slot": slot}), unwatched)
        assert isinstance(parcel.artifact, Answer)
        return [choice.name for choice in parcel.artifact.choices]

    def _request(self, view: View, fields: Mapping[str, Any]) -> TextRequest:
        return view.request.model_validate({**self.example.model_dump(), **fields})

    def _answered(self, view: View, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A question with everything that could be left out, and a parcel, or why there is none."""
        request = self._request(view, fields)
        asked = {"view": view.name, "request": request.model_dump(mode="json")}
        try:
            parcel = view.compute(self.models, request, unwatched)
        except AttnscopeError as error:
            return {**asked, "message": sentence(error)}
        return {**asked, "parcel": base64.b64encode(gzip.compress(parcel.to_bytes(), mtime=0)).decode("ascii")}


def _narrowed(found: Session, measures: Sequence[str] | None, unit: Unit) -> Session:
    """A session of which everything that can be chosen is kept."""
    obstacles = {measure.name: _obstacle(measure, unit) for measure in found.measures}
    wanted = [name for name in MEASURES if obstacles.get(name) is None] if measures is None else measures
    if not wanted:
        raise InputError("no measure was named; name at least one, for example weight")
    for name in wanted:
        obstacle = obstacles[one_of("measure", name, obstacles)]
        if obstacle is not None:
            raise InputError(obstacle)
    return found.model_copy(
        update={
            "measures": tuple(measure for measure in found.measures if measure.name in wanted),
            "methods": tuple(method for method in found.methods if method.name == _METHOD),
        }
    )


def _obstacle(measure: MeasureInfo, unit: Unit) -> str | None:
    """Why a measure can't be had; None if it can."""
    if not measure.available.a:
        return measure.available.reason or f"there is no {measure.title} in this model"
    if unit not in measure.units:
        return f"{measure.title} is of tokens, not of words; leave it out, or take tokens"
    return None


def _defaults(view: View) -> dict[str, Any]:
    """What a request may leave out, as it is then understood."""
    fields = view.request.model_fields.items()
    return {name: field.get_default() for name, field in fields if not field.is_required()}


def _template() -> str:
    page = FOLDER / "index.html"
    if not page.is_file():
        raise InputError("the page has not been built here; run `make web` once, then export again")
    return page.read_text(encoding="utf-8")


def _script(kept: Mapping[str, Any]) -> str:
    """JSON that no text can break out of."""
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _itself(model: Model) -> Model:
    return model
