"""The queue by itself: order, sharing, cancelling, its bound, and what is remembered."""

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from attnscope.artifacts.job import Job
from attnscope.errors import InputError
from attnscope.server import jobs as jobs_module
from attnscope.server.jobs import DEFECT, Jobs, Progress, QueueFull, Task


class Work:
    """Work that says when it began, and goes on when it is let."""

    def __init__(self, *, held: bool = False) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.runs = 0
        if not held:
            self.go.set()

    def __call__(self, progress: Progress) -> None:
        self.runs += 1
        self.begun.set()
        progress(1, 2)
        while not self.go.wait(0.005):
            progress(1, 2)
        progress(2, 2)


Make = Callable[..., Jobs]


@pytest.fixture
def make() -> Generator[Make]:
    made: list[Jobs] = []

    def maker(**options: Any) -> Jobs:
        made.append(Jobs(**options))
        return made[-1]

    yield maker
    for jobs in made:
        jobs.stop()
        assert jobs.join()


def task(key: str, work: Callable[[Progress], None], *slots: str) -> Task:
    return Task(key, "view", frozenset(slots or ("a",)), work)


def state(jobs: Jobs, job: Job) -> str:
    found = jobs.find(job.id)
    assert found is not None
    return found.state


def ended(jobs: Jobs, job: Job) -> Job:
    deadline = time.monotonic() + 30
    while True:
        found = jobs.find(job.id)
        assert found is not None
        assert time.monotonic() < deadline
        if found.is_final:
            return found
        time.sleep(0.002)


def test_what_is_done_has_a_result_and_all_its_steps(make):
    jobs, work = make(), Work()
    job = ended(jobs, jobs.submit(task("one", work)))
    assert (job.state, job.result, job.done, job.total, job.message) == ("done", "one", 2, 2, None)


def test_equal_questions_are_one_piece_of_work_with_a_ticket_each(make):
    jobs, work = make(), Work(held=True)
    tickets = [jobs.submit(task("one", work)) for _ in range(5)]
    assert len({ticket.id for ticket in tickets}) == 5
    work.go.set()
    assert {ended(jobs, ticket).result for ticket in tickets} == {"one"}
    assert work.runs == 1


def test_cancelling_a_ticket_leaves_the_others_their_answer(make):
    jobs, work = make(), Work(held=True)
    mine, theirs = jobs.submit(task("one", work)), jobs.submit(task("one", work))
    assert work.begun.wait(30)
    assert jobs.cancel(mine.id)
    assert jobs.cancel(mine.id)  # twice is no more than once
    assert state(jobs, mine) == "cancelled"
    assert state(jobs, theirs) == "running"
    work.go.set()
    assert ended(jobs, theirs).state == "done"
    assert state(jobs, mine) == "cancelled"


def test_work_that_nobody_waits_for_ends_and_an_equal_question_begins_anew(make):
    jobs, first, again = make(), Work(held=True), Work()
    job = jobs.submit(task("one", first))
    assert first.begun.wait(30)
    jobs.cancel(job.id)
    assert ended(jobs, jobs.submit(task("one", again))).state == "done"
    assert (first.runs, again.runs) == (1, 1)
    assert not first.go.is_set()


def test_abandoned_work_that_ends_late_leaves_its_successor_alone(make):
    jobs, go, begun, again = make(), threading.Event(), threading.Event(), Work(held=True)

    def deaf(_: Progress) -> None:
        begun.set()
        go.wait(30)

    first = jobs.submit(task("one", deaf))
    assert begun.wait(30)
    jobs.cancel(first.id)
    second = jobs.submit(task("one", again))
    go.set()
    assert again.begun.wait(30)
    third = jobs.submit(task("one", again))
    again.go.set()
    assert {ended(jobs, second).state, ended(jobs, third).state} == {"done"}
    assert again.runs == 1


def test_what_waits_is_cancelled_without_ever_being_begun(make):
    jobs, busy, waiting = make(), Work(held=True), Work()
    first = jobs.submit(task("one", busy))
    second = jobs.submit(task("two", waiting))
    jobs.cancel(second.id)
    busy.go.set()
    assert ended(jobs, first).state == "done"
    assert state(jobs, second) == "cancelled"
    assert waiting.runs == 0


def test_tickets_that_were_given_back_leave_nothing_behind(make):
    jobs, work, waiting = make(workers=1), Work(held=True), Work()
    stays = jobs.submit(task("one", work))
    assert work.begun.wait(30)
    for _ in range(5):
        jobs.cancel(jobs.submit(task("one", work)).id)
        jobs.cancel(jobs.submit(task("two", waiting)).id)
    running = jobs._works["one"]
    assert [ticket.id for ticket in running.tickets] == [stays.id]
    kept = [ticket.work.task.work for ticket in jobs._tickets.values() if ticket.work is not running]
    assert len(kept) == 5
    assert waiting not in kept  # and with it the texts it was to be done on
    work.go.set()
    assert ended(jobs, stays).state == "done"


def test_cancelling_what_is_over_or_unknown(make):
    jobs = make()
    job = ended(jobs, jobs.submit(task("one", Work())))
    assert jobs.cancel(job.id)
    assert state(jobs, job) == "done"
    assert not jobs.cancel("nothing")


def test_one_pass_at_a_time_for_a_model_and_models_beside_each_other(make):
    jobs, one, two, other = make(workers=3), Work(held=True), Work(), Work(held=True)
    first, second, beside = (
        jobs.submit(task("one", one, "a")),
        jobs.submit(task("two", two, "a")),
        jobs.submit(task("three", other, "b")),
    )
    assert one.begun.wait(30)
    assert other.begun.wait(30)
    assert not two.begun.wait(0.1)
    assert state(jobs, second) == "queued"
    one.go.set()
    assert ended(jobs, second).state == "done"
    other.go.set()
    assert {ended(jobs, first).state, ended(jobs, beside).state} == {"done"}


def test_a_question_to_both_models_is_not_overtaken_for_ever(make):
    jobs, one, both, late = make(workers=2), Work(held=True), Work(), Work()
    jobs.submit(task("one", one, "a"))
    assert one.begun.wait(30)
    waiting = jobs.submit(task("both", both, "a", "b"))
    later = jobs.submit(task("late", late, "b"))
    assert not late.begun.wait(0.1)
    one.go.set()
    assert ended(jobs, waiting).state == ended(jobs, later).state == "done"


def test_the_queue_has_a_bound_and_what_joins_needs_no_place(make):
    jobs, work = make(bound=2, workers=1), Work(held=True)
    jobs.submit(task("running", work))
    assert work.begun.wait(30)
    waiting = [jobs.submit(task(name, Work())) for name in ("two", "three")]
    with pytest.raises(QueueFull, match="2 questions are waiting"):
        jobs.submit(task("four", Work()))
    assert jobs.submit(task("two", Work())).state == "queued"
    work.go.set()
    assert {ended(jobs, job).state for job in waiting} == {"done"}
    assert ended(jobs, jobs.submit(task("four", Work()))).state == "done"


def test_tickets_have_a_bound_too(make, monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_TICKETS", 3)
    jobs, work = make(), Work(held=True)
    tickets = [jobs.submit(task("one", work)) for _ in range(3)]
    with pytest.raises(QueueFull, match="3 requests"):
        jobs.submit(task("one", work))
    work.go.set()
    assert {ended(jobs, ticket).state for ticket in tickets} == {"done"}
    for _ in range(10):
        ended(jobs, jobs.submit(task("one", work)))
    assert len(jobs._tickets) <= 4


def test_what_ended_is_remembered_for_a_while(make):
    jobs = make(remembered=0.05)
    job = ended(jobs, jobs.submit(task("one", Work())))
    time.sleep(0.06)
    assert jobs.find(job.id) is None
    assert jobs._tickets == {}


def test_what_still_runs_is_never_forgotten(make):
    jobs, work = make(remembered=0.0), Work(held=True)
    job = jobs.submit(task("one", work))
    time.sleep(0.02)
    assert state(jobs, job) in {"queued", "running"}
    work.go.set()


def test_a_mistake_is_a_sentence_and_a_defect_is_in_the_log_alone(make, caplog):
    jobs = make(workers=1)

    def mistaken(_: Progress) -> None:
        raise InputError("this\n  won't do")

    def broken(_: Progress) -> None:
        raise SystemExit("a secret of the inside")

    job = ended(jobs, jobs.submit(task("one", mistaken)))
    assert (job.state, job.message, job.result) == ("failed", "this won't do", None)
    assert not caplog.records

    def wordy(_: Progress) -> None:
        raise InputError("x" * 20_000)

    assert ended(jobs, jobs.submit(task("long", wordy))).message == "x" * 1_000 + "…"
    job = ended(jobs, jobs.submit(task("two", broken)))
    assert (job.state, job.message) == ("failed", DEFECT)
    assert "a secret of the inside" in caplog.text
    assert ended(jobs, jobs.submit(task("three", Work()))).state == "done"


def test_stopping_ends_what_waits_and_what_runs(make):
    jobs, work = make(workers=1), Work(held=True)
    running, waiting = jobs.submit(task("one", work)), jobs.submit(task("two", Work()))
    assert work.begun.wait(30)
    jobs.stop()
    assert jobs.join()
    assert state(jobs, running) == state(jobs, waiting) == "cancelled"
    with pytest.raises(QueueFull, match="stopping"):
        jobs.submit(task("three", Work()))


def test_work_that_can_not_be_stopped_is_told(make, monkeypatch):
    monkeypatch.setattr(jobs_module, "_PATIENCE", 0.05)
    jobs, go, begun = make(workers=1), threading.Event(), threading.Event()

    def deaf(_: Progress) -> None:
        begun.set()
        go.wait(30)

    jobs.submit(task("one", deaf))
    assert begun.wait(30)
    jobs.stop()
    assert not jobs.join()
    go.set()
    monkeypatch.undo()
    assert jobs.join()


def test_events_tell_every_state_up_to_the_last(make):
    jobs, work = make(), Work(held=True)
    job = jobs.submit(task("one", work))
    assert work.begun.wait(30)

    async def follow() -> list[str]:
        seen: list[str] = []
        async for found in jobs.events(job.id):
            assert found is not None
            seen.append(found.state)
            work.go.set()
        return seen

    seen = asyncio.run(follow())
    assert seen[0] == "running"
    assert seen[-1] == "done"
    assert not next(iter(jobs._tickets.values())).work.listeners


def test_events_of_what_waits_for_long_say_that_they_are_alive(make, monkeypatch):
    monkeypatch.setattr(jobs_module, "_KEEP_ALIVE", 0.01)
    jobs, work = make(), Work()
    work.go.clear()

    def quiet(_: Progress) -> None:
        work.go.wait(30)

    job = jobs.submit(task("one", quiet))

    async def follow() -> list[str | None]:
        seen: list[str | None] = []
        async for found in jobs.events(job.id):
            seen.append(None if found is None else found.state)
            if found is None:
                work.go.set()
        return seen

    seen = asyncio.run(follow())
    assert None in seen
    assert seen[-1] == "done"


def test_events_of_a_ticket_that_is_not_there(make):
    async def follow() -> list[Job | None]:
        return [job async for job in make().events("nothing")]

    assert asyncio.run(follow()) == []


def test_an_end_is_told_at_once_however_often_progress_is(make, monkeypatch):
    monkeypatch.setattr(jobs_module, "_BETWEEN_EVENTS", 30.0)
    jobs, work = make(), Work(held=True)
    job = jobs.submit(task("one", work))
    assert work.begun.wait(30)

    async def follow() -> list[str]:
        async with asyncio.timeout(10):
            seen: list[str] = []
            async for found in jobs.events(job.id):
                assert found is not None
                seen.append(found.state)
                work.go.set()
            return seen

    assert asyncio.run(follow()) == ["running", "done"]
