"""The queue: questions are worked on in order, a model at a time, and whoever asked is told how far it got.

Equal questions are one piece of work. Each asker has a ticket for it: cancelling one ticket leaves the others their
answer, and the work ends when nobody waits for it any more. A ticket is remembered for a while after its end, so that
whoever lost the connection finds it again.
"""

import asyncio
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace

from attnscope.artifacts.job import Job, JobState
from attnscope.errors import AttnscopeError

_log = logging.getLogger("attnscope.server")
DEFECT = "this is a defect of attnscope, not a mistake of yours; the server's log says more"
REMEMBERED = 600.0
"""Seconds for which a finished ticket is known."""
MOST_TICKETS = 2_000
_LONGEST = 1_000
"""Letters of a message."""
_KEEP_ALIVE = 15.0
_BETWEEN_EVENTS = 0.05
"""Seconds between reports of progress; an end is told at once."""
_PATIENCE, _POLL = 5.0, 0.01
"""Seconds that the workers have to come to an end, and between looks whether they have."""

Progress = Callable[[int, int], None]


class QueueFull(AttnscopeError):
    """So much is waiting that nothing more is taken in."""


class Cancelled(Exception):
    """Raised out of a progress report when nobody waits for the work any more."""


@dataclass(frozen=True)
class Task:
    """One question: what it is called, whom it needs, and how it is answered."""

    key: str
    """Equal for equal questions, and the key of the result."""
    view: str
    slots: frozenset[str]
    work: Callable[[Progress], None]

    def over(self) -> "Task":
        """The same without what it was to do, which holds whole texts."""
        return replace(self, work=_nothing)


def _nothing(_progress: Progress) -> None:
    """What is left to do when all is done."""


@dataclass(eq=False, frozen=True)
class _Listener:
    """Somebody in the event loop who wants to know."""

    loop: asyncio.AbstractEventLoop
    changed: asyncio.Event
    ended: asyncio.Event

    def tell(self, end: bool) -> None:
        for event in (self.changed, self.ended) if end else (self.changed,):
            if not self.loop.is_closed():
                self.loop.call_soon_threadsafe(event.set)


@dataclass
class _Work:
    """A task, and where it stands."""

    task: Task
    state: JobState = "queued"
    done: int = 0
    total: int = 0
    message: str | None = None
    abandoned: bool = False
    tickets: "list[_Ticket]" = field(default_factory=list["_Ticket"])
    """Those that were not given back."""
    listeners: set[_Listener] = field(default_factory=set[_Listener])


@dataclass
class _Ticket:
    id: str
    work: _Work
    cancelled: bool = False
    finished: float | None = None

    def seen(self) -> Job:
        work = self.work
        state: JobState = "cancelled" if self.cancelled else work.state
        return Job(
            id=self.id,
            view=work.task.view,
            state=state,
            done=work.done,
            total=work.total,
            message=None if self.cancelled else work.message,
            result=work.task.key if state == "done" else None,
        )


class Jobs:
    """All work of a server: what waits, what runs, and what was done lately."""

    def __init__(self, *, bound: int = 64, workers: int = 2, remembered: float = REMEMBERED) -> None:
        self._bound, self._remembered = bound, remembered
        self._changed = threading.Condition()
        self._queue: list[_Work] = []
        self._busy: set[str] = set()
        self._works: dict[str, _Work] = {}
        """What waits or runs, by key."""
        self._tickets: OrderedDict[str, _Ticket] = OrderedDict()
        self._finished: OrderedDict[str, None] = OrderedDict()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._labour, name=f"attnscope worker {number}", daemon=True)
            for number in range(1, workers + 1)
        ]
        self._started = False

    def submit(self, task: Task) -> Job:
        """A ticket for a task, which joins equal ones that wait or run."""
        with self._changed:
            self._forget()
            work = self._works.get(task.key)
            self._check(work)
            if work is None:
                work = self._works[task.key] = _Work(task)
                self._queue.append(work)
                self._start()
                self._changed.notify_all()
            return self._ticket(work).seen()

    def answered(self, task: Task) -> Job:
        """A ticket for a task whose result is there already."""
        with self._changed:
            self._forget()
            ticket = self._ticket(_Work(task.over(), state="done", done=1, total=1))
            self._finish(ticket)
            return ticket.seen()

    def find(self, name: str) -> Job | None:
        """Where a ticket's work stands; None if there is no such ticket, or none any more."""
        with self._changed:
            self._forget()
            ticket = self._tickets.get(name)
            return None if ticket is None else ticket.seen()

    def cancel(self, name: str) -> bool:
        """Give a ticket back; work that nobody waits for ends. Whether there is such a ticket."""
        with self._changed:
            ticket = self._tickets.get(name)
            if ticket is None:
                return False
            if ticket.seen().is_final:
                return True
            ticket.cancelled = True
            self._finish(ticket)
            ticket.work.tickets.remove(ticket)
            if not ticket.work.tickets:
                self._abandon(ticket.work)
            self._tell(ticket.work, end=True)
            return True

    async def events(self, name: str) -> AsyncGenerator[Job | None]:
        """Each state of a ticket until the last one; None now and then, where nothing happens for long."""
        with self._changed:
            ticket = self._tickets.get(name)
            if ticket is None:
                return
            listener = _Listener(asyncio.get_running_loop(), asyncio.Event(), asyncio.Event())
            ticket.work.listeners.add(listener)
        try:
            while True:
                listener.changed.clear()
                listener.ended.clear()
                job = self._look(ticket)
                yield job
                if job.is_final:
                    return
                while not await _within(_KEEP_ALIVE, listener.changed):
                    yield None
                await _within(_BETWEEN_EVENTS, listener.ended)
        finally:
            with self._changed:
                ticket.work.listeners.discard(listener)

    def stop(self) -> None:
        """Take nothing in any more, and end everything that waits or runs."""
        with self._changed:
            self._stopped = True
            for ticket in self._tickets.values():
                ticket.cancelled = ticket.cancelled or not ticket.seen().is_final
            for work in self._works.values():
                work.abandoned = True
                self._tell(work, end=True)
            self._queue.clear()
            self._changed.notify_all()

    def join(self) -> bool:
        """Wait a little for the workers to come to an end; whether all did."""
        deadline = time.monotonic() + _PATIENCE
        while self.working and time.monotonic() < deadline:
            time.sleep(_POLL)
        return not self.working

    @property
    def working(self) -> bool:
        """Whether a worker has not come to its end."""
        return any(thread.is_alive() for thread in self._threads)

    def _start(self) -> None:
        """Begin to work, with the first question."""
        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()

    def _look(self, ticket: _Ticket) -> Job:
        with self._changed:
            return ticket.seen()

    def _check(self, joined: _Work | None) -> None:
        if self._stopped:
            raise QueueFull("the server is stopping; start it again")
        if joined is None and len(self._queue) >= self._bound:
            raise QueueFull(f"{len(self._queue)} questions are waiting already; try again when some are answered")
        if len(self._tickets) - len(self._finished) >= MOST_TICKETS:
            raise QueueFull(f"{MOST_TICKETS} requests are waiting already; try again when some are answered")

    def _ticket(self, work: _Work) -> _Ticket:
        ticket = _Ticket(secrets.token_hex(12), work)
        self._tickets[ticket.id] = ticket
        work.tickets.append(ticket)
        return ticket

    def _finish(self, ticket: _Ticket) -> None:
        ticket.finished = time.monotonic()
        self._finished[ticket.id] = None

    def _forget(self) -> None:
        """Drop finished tickets that are old, and the oldest where there are many."""
        now = time.monotonic()
        while self._finished:
            name = next(iter(self._finished))
            finished = self._tickets[name].finished or now
            if len(self._finished) <= MOST_TICKETS and now - finished < self._remembered:
                return
            del self._finished[name], self._tickets[name]

    def _abandon(self, work: _Work) -> None:
        work.abandoned = True
        if self._works.get(work.task.key) is work:
            del self._works[work.task.key]
        if work.state == "queued":
            self._queue.remove(work)
            work.task = work.task.over()

    def _tell(self, work: _Work, *, end: bool = False) -> None:
        for listener in work.listeners:
            listener.tell(end)

    def _labour(self) -> None:
        while (work := self._next()) is not None:
            state, message = self._run(work)
            with self._changed:
                self._busy -= work.task.slots
                self._close(work, state, message)
                self._changed.notify_all()

    def _next(self) -> _Work | None:
        """The first in the queue whose models are free; nothing overtakes what waits for the same model."""
        with self._changed:
            while not self._stopped:
                claimed = set(self._busy)
                for work in self._queue:
                    if claimed.isdisjoint(work.task.slots):
                        self._queue.remove(work)
                        self._busy |= work.task.slots
                        work.state = "running"
                        self._tell(work)
                        return work
                    claimed |= work.task.slots
                self._changed.wait()
        return None

    def _run(self, work: _Work) -> tuple[JobState, str | None]:
        def progress(done: int, total: int) -> None:
            with self._changed:
                if work.abandoned:
                    raise Cancelled
                work.done, work.total = done, total
                self._tell(work)

        try:
            work.task.work(progress)
        except Cancelled:
            return "cancelled", None
        except AttnscopeError as error:
            return "failed", sentence(error)
        except BaseException:  # noqa: BLE001 - whatever a question does, the next one is worked on
            _log.exception("%s could not be answered", work.task.view)
            return "failed", DEFECT
        return "done", None

    def _close(self, work: _Work, state: JobState, message: str | None) -> None:
        work.task, work.state, work.message = work.task.over(), state, message
        if state == "done":
            work.done = work.total
        if self._works.get(work.task.key) is work:
            del self._works[work.task.key]
        for ticket in work.tickets:
            self._finish(ticket)
        self._tell(work, end=True)


def sentence(said: object) -> str:
    """A message in one line; what was sent may be part of it, and of any length."""
    line = " ".join(str(said).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


async def _within(seconds: float, event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
