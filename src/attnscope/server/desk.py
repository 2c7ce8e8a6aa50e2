"""Where questions are handed in: checked, looked up among the results that are there, or queued to be worked on."""

import hashlib
import json
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attnscope
from attnscope.analyses.views import View
from attnscope.analyses.views.registry import SlotRequest, TextRequest
from attnscope.artifacts.job import Job
from attnscope.artifacts.session import Session
from attnscope.server.cache import Cache, Folder
from attnscope.server.jobs import Jobs, Progress, Task
from attnscope.server.limits import check_length, check_request
from attnscope.server.models import Models
from attnscope.server.session import session
from attnscope.server.settings import Settings

CORPUS = "corpus"
"""What a request calls the texts it searches."""


class Desk:
    """One server's questions and answers."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self.models, self.settings = models, settings
        self.cache = Cache(None if settings.cache is None else Folder(settings.cache, settings.cache_bytes))
        self.jobs = Jobs(bound=settings.queue, workers=settings.workers)

    @cached_property
    def session(self) -> Session:
        """What the browser is told first; raises the reason where a model can't be used."""
        return session(self.models, self.settings)

    def ask(self, view: View, request: TextRequest) -> Job:
        """Hand in a question."""
        request = self._completed(request)
        self._check(request)
        slots = self._slots(request)
        key = self._key(view, request, slots)
        task = Task(key, view.name, frozenset(slots), lambda progress: self._answer(key, view, request, progress))
        return self.jobs.submit(task) if self.cache.get(key) is None else self.jobs.answered(task)

    def _answer(self, key: str, view: View, request: TextRequest, progress: Progress) -> None:
        progress(0, 1)
        if self.cache.get(key) is not None:
            return  # an equal question was answered between the look at what is kept and this one's place in the queue
        with self.models.lease() as models:
            for slot in self._slots(request):
                check_length(models[slot], request, self.settings.limits)
            parcel = view.compute(models, request, progress)
        self.cache.put(key, parcel.to_bytes())

    def _completed(self, request: TextRequest) -> TextRequest:
        """A pair of nothing is none; and texts that are searched are the server's own, whatever was sent."""
        changes: dict[str, Any] = {}
        if request.pair is not None and not request.pair.strip():
            changes["pair"] = None
        if CORPUS in type(request).model_fields:
            changes[CORPUS] = () if self.settings.corpus is None else self.settings.corpus.texts
        return request.model_copy(update=changes)

    def _slots(self, request: TextRequest) -> tuple[str, ...]:
        return (request.slot,) if isinstance(request, SlotRequest) else self.models.slots

    def _check(self, request: TextRequest) -> None:
        """What can be told without a model."""
        for slot in self._slots(request):
            self.models.check(slot)
        check_request(request, self.settings.limits)

    def _key(self, view: View, request: TextRequest, slots: tuple[str, ...]) -> str:
        """Everything that an answer depends on, as one name."""
        models = {slot: self.models.identity(slot) for slot in slots}
        corpus = None if self.settings.corpus is None else self.settings.corpus.checksum
        asked = request.model_dump(mode="json", exclude={CORPUS})
        parts: list[Any] = [_code(), view.name, asked, models, corpus if hasattr(request, CORPUS) else None]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def _code() -> str:
    """The version, and what the code is: an answer of older code is none."""
    found = hashlib.sha256(version("attnscope").encode())
    root = Path(attnscope.__path__[0])
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in {"cli", "server", "plot", "store"}:
            found.update(path.read_bytes())
    return found.hexdigest()
