"""The models of a server, by slot: loaded when they are needed, and given up, the longest unused first, for room."""

import contextlib
import gc
import logging
import os
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from attnscope.errors import AttnscopeError, InputError
from attnscope.models.fingerprint import fingerprint
from attnscope.models.model import Model

_log = logging.getLogger("attnscope.server")
Load = Callable[[], Model]
"""What brings a model into memory."""
_PART = 0.7


@dataclass
class _Slot:
    """One place for a model: what stands in it now, and what is known of what stood in it before."""

    load: Load
    model: Model | None = None
    name: str = ""
    size: int = 0
    """Bytes of its parameters; what they were when it was last in memory, if it is not now."""
    identity: str = ""
    users: int = 0
    used: int = 0


class Models:
    """The models of all slots."""

    def __init__(self, sources: Mapping[str, Load], *, most_bytes: int | None = None) -> None:
        """`most_bytes` is what all models together may take; what is in use stays, whatever its size."""
        self._slots = {name: _Slot(load) for name, load in sources.items()}
        self._most = most_bytes
        self._turn = threading.RLock()
        """Held while anything is loaded or given up: loading changes what is global in the model library."""
        self._clock = 0

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(self._slots)

    def check(self, slot: str) -> None:
        """Refuse a slot that no model was given for."""
        if slot not in self._slots:
            raise InputError("there is no second model to ask; start the server with two: attnscope serve BASE TUNED")

    def identity(self, slot: str) -> tuple[str, str]:
        """What the results of a model depend on: what it is called, and what it is."""
        self.check(slot)
        place = self._slots[slot]
        if not place.identity:
            with self.in_use(slot):
                pass
        return place.name, place.identity

    def memory(self) -> dict[str, int]:
        """Bytes of parameters in memory, by slot."""
        return {name: slot.size for name, slot in self._slots.items() if slot.model is not None}

    @contextlib.contextmanager
    def in_use(self, slot: str) -> Generator[Model]:
        """A model, which stays in memory as long as this lasts."""
        self.check(slot)
        place = self._slots[slot]
        with self._turn:
            place.users += 1
        try:
            yield self._loaded(place)
        finally:
            with self._turn:
                place.users -= 1
                self._make_room(0)

    @contextlib.contextmanager
    def lease(self) -> Generator[Mapping[str, Model]]:
        """All models by slot, each loaded when it is looked up, and in memory as long as this lasts."""
        with contextlib.ExitStack() as held:
            yield _Lease(self, held)

    def _loaded(self, place: _Slot) -> Model:
        with self._turn:
            self._clock += 1
            place.used = self._clock
            if place.model is None:
                self._make_room(place.size or max(slot.size for slot in self._slots.values()))
                place.model = _read(place)
                self._make_room(0)
            return place.model

    def _make_room(self, needed: int) -> None:
        """Give up models that nobody uses until what is needed fits, or no such model is left."""
        if self._most is None:
            return
        idle = sorted((slot for slot in self._slots.values() if slot.model and not slot.users), key=lambda s: s.used)
        for slot in idle:
            if sum(self.memory().values()) + needed <= self._most:
                return
            slot.model = None
            gc.collect()  # hooks and modules know each other
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def _read(place: _Slot) -> Model:
    """Bring a model into memory: for the first time, or the same again, as all that was said of it still stands."""
    try:
        model = place.load()
    except AttnscopeError as error:
        if not place.identity:
            raise
        _log.warning("%s could not be loaded again: %s", place.name, error)
        raise InputError(f"{place.name} could not be loaded again; start the server again") from error
    _own(model)
    identity = fingerprint(model)
    if identity != (place.identity or identity):
        raise InputError(f"the files of {place.name} were changed since the server was started; start it again")
    model.name = place.name = _ends(model.name)
    place.size = sum(parameter.nbytes for parameter in model.hf_model.parameters())
    place.identity = identity
    return model


def _own(model: Model) -> None:
    """Copy what is still the file itself: whoever saves a model there would change this one, or end the server."""
    for tensor in (*model.hf_model.parameters(), *model.hf_model.buffers()):
        if tensor.device.type == "cpu" and type(tensor.data) is torch.Tensor:
            tensor.data = tensor.data.clone()


def _ends(name: str) -> str:
    """A model's name; of a folder, the end of its path, as the rest is nobody's business who asks."""
    return " + ".join(map(_end, name.split(" + ")))


def _end(name: str) -> str:
    path = Path(name).expanduser()
    return "/".join(Path(os.path.abspath(path)).parts[-2:]) if path.exists() else name  # noqa: PTH100 - links keep their names


def room() -> int | None:
    """What models may take of the memory they stand in, where that can be told: the rest is for the work."""
    if torch.cuda.is_available():
        return int(_PART * torch.cuda.mem_get_info()[1])
    try:
        return int(_PART * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not on every platform
        return None


class _Lease(Mapping[str, Model]):
    """Models by slot, for the time of one job."""

    def __init__(self, models: Models, held: contextlib.ExitStack) -> None:
        self._models, self._held = models, held
        self._found: dict[str, Model] = {}

    def __getitem__(self, slot: str) -> Model:
        if slot not in self._found:
            self._found[slot] = self._held.enter_context(self._models.in_use(slot))
        return self._found[slot]

    def __contains__(self, slot: object) -> bool:
        return slot in self._models.slots

    def __iter__(self) -> Iterator[str]:
        return iter(self._models.slots)

    def __len__(self) -> int:
        return len(self._models.slots)
