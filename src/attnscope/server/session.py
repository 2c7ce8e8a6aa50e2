"""What the browser is told when it opens."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import get_args

import numpy as np

from attnscope.analyses.analyze import Unit, analyze
from attnscope.analyses.attribution import ATTRIBUTIONS
from attnscope.analyses.views.maps import EXACT, MOST_FLOW, MapsRequest, maps
from attnscope.analyses.views.registry import unwatched
from attnscope.artifacts.flow import Reading
from attnscope.artifacts.session import (
    Availability,
    CorpusInfo,
    MeasureInfo,
    MethodInfo,
    ModelInfo,
    Session,
    Slots,
)
from attnscope.axes import HEAD
from attnscope.errors import AttnscopeError, InputError
from attnscope.measures import MEASURES, Measure
from attnscope.models.model import Model
from attnscope.server.jobs import sentence
from attnscope.server.models import Models
from attnscope.server.settings import Settings

_PROBES = ("The cat didn't move: 12 times!", "Ünder 日本語 🙂 naïve", "unbelievably  SHORT\tand\nlong")
_SHORT = "The cat sat."
_TITLES = {"alti": "ALTI", "attnlrp": "AttnLRP", "feedforward_norm": "feed-forward norm"}


@dataclass(frozen=True)
class _Known:
    """What was found out about a model."""

    info: ModelInfo
    reading: tuple[tuple[str, ...], ...]
    """How it cuts some texts."""
    refused: dict[str, str]
    """Why measures can't be had in it."""

    @classmethod
    def of(cls, model: Model) -> "_Known":
        if model.tokenizer is None:
            raise InputError(f"{model.name} has no tokenizer, so it reads no texts; give a model that does")
        stack = model.default_stack()
        sites = model.sites(stack)
        # What a question would find, on a small text: a model that does not add up is refused here.
        plain = analyze(model, _PROBES[0], measures="weight", stack=stack)
        info = ModelInfo(
            name=model.name,
            architecture=type(model.hf_model).__name__,
            layers=len(sites),
            heads=max(site.heads for site in sites),
            stacks=(stack, *(name for name in model.structure.stacks if name != stack)),
            classes=_classes(model),
            has_logits=model.has_logits,
            causal=not np.triu(plain["weight"].to_numpy(), 1).any(),
            reconstruction_error=float(plain.attrs["reconstruction_error"]),
            tolerance=model.tolerance,
            words_shared=True,
        )
        return cls(info, tuple(_pieces(model, text) for text in _PROBES), dict(_refusals(model, stack)))


def session(models: Models, settings: Settings) -> Session:
    """Everything the browser needs to know before it asks. Loads the models, and refuses those that don't add up."""
    found = dict(_known(models))
    shared = {"words_shared": len({known.reading for known in found.values()}) == 1}
    infos = {slot: known.info.model_copy(update=shared) for slot, known in found.items()}
    return Session(
        version=version("attnscope"),
        models=Slots(a=infos["a"], b=infos.get("b")),
        measures=(*(_measure(measure, found) for measure in MEASURES.values() if measure.is_map), _exact(found)),
        most_flow=MOST_FLOW,
        methods=tuple(
            MethodInfo(
                name=method.name,
                title=_title(method.name),
                summary=method.summary,
                paper=method.paper,
                signed=method.signed,
                exact=method.exact,
            )
            for method in ATTRIBUTIONS.values()
        ),
        limits=settings.limits,
        demo=settings.example,
        corpus=None
        if settings.corpus is None
        else CorpusInfo(name=settings.corpus.name, texts=len(settings.corpus.texts)),
    )


def _known(models: Models) -> Iterator[tuple[str, _Known]]:
    for slot in models.slots:
        with models.in_use(slot) as model:
            yield slot, _Known.of(model)


def _pieces(model: Model, text: str) -> tuple[str, ...]:
    source = model.encode(text).source
    return () if source is None else source.strings


def _classes(model: Model) -> tuple[str, ...]:
    if not type(model.hf_model).__name__.endswith(("ForSequenceClassification", "ForTokenClassification")):
        return ()
    return tuple(str(name) for name in (model.hf_model.config.id2label or {}).values())


def _refusals(model: Model, stack: str) -> Iterator[tuple[str, str]]:
    """Which measures a model refuses, and why: all are tried at once, then each, as nothing else is as sure."""
    names = [measure.name for measure in MEASURES.values() if measure.is_map]
    if _refusal(model, stack, *names) is not None:
        for name in names:
            reason = _refusal(model, stack, name)
            if reason is not None:
                yield name, reason
    reason = _said(lambda: maps({"a": model}, MapsRequest(text=_SHORT, measure=EXACT, reading="cumulative"), unwatched))
    if reason is not None:
        yield EXACT, reason


def _refusal(model: Model, stack: str, *names: str) -> str | None:
    pair = _SHORT if model.is_encoder_decoder else None
    return _said(lambda: analyze(model, _SHORT, pair=pair, measures=names, stack=stack))


def _said(ask: Callable[[], object]) -> str | None:
    """What a question is refused with, in one line."""
    try:
        ask()
    except AttnscopeError as error:
        return sentence(error)
    return None


def _measure(measure: Measure, found: Mapping[str, _Known]) -> MeasureInfo:
    return MeasureInfo(
        name=measure.name,
        title=_title(measure.name),
        summary=measure.summary,
        formula=measure.formula,
        paper=measure.paper,
        per_head=HEAD in measure.dims,
        readings=get_args(Reading),
        units=get_args(Unit),
        available=_availability(measure.name, found),
    )


def _exact(found: Mapping[str, _Known]) -> MeasureInfo:
    """The exact parts, in the place of a measure."""
    return MeasureInfo(
        name=EXACT,
        title=_title(EXACT),
        summary="How long the vector is that a word, through all layers below, adds to a token: adds up exactly.",
        formula="‖x_{i⇐k}‖, where Σ_k x_{i⇐k} + bias = x_i behind every layer",
        paper="Modarressi et al. 2023, DecompX (ACL)",
        per_head=False,
        readings=("cumulative",),
        units=("token",),
        available=_availability(EXACT, found),
    )


def _availability(name: str, found: Mapping[str, _Known]) -> Availability:
    reasons = {slot: known.refused.get(name) for slot, known in found.items()}
    return Availability(
        a=reasons["a"] is None,
        b="b" in reasons and reasons["b"] is None,
        reason=next((reason for reason in reasons.values() if reason is not None), None),
    )


def _title(name: str) -> str:
    return _TITLES.get(name, name.replace("_", " "))
