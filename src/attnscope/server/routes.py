"""The addresses: one for each view's question, and what belongs to it."""

import inspect
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Response
from fastapi.responses import StreamingResponse

from attnscope.analyses.views import VIEWS, View
from attnscope.analyses.views.registry import TextRequest
from attnscope.artifacts.job import Job, Problem
from attnscope.artifacts.session import Session
from attnscope.errors import unknown
from attnscope.server.desk import Desk

ACCEPTED, NO_CONTENT, NOT_FOUND, TOO_MANY = 202, 204, 404, 429
PARCEL = "application/octet-stream"
_FOREVER = "private, max-age=31536000, immutable"
_KEY = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
_Responses = dict[int | str, dict[str, Any]]
_REFUSED: _Responses = {422: {"model": Problem, "description": "Something about the request is wrong"}}
_GONE: _Responses = {NOT_FOUND: {"model": Problem, "description": "There is no such thing, or none any more"}}
_BUSY: _Responses = {TOO_MANY: {"model": Problem, "description": "Too much is waiting already"}}
_QUEUED: _Responses = {ACCEPTED: {"model": Job, "description": "The question waits or is worked on"}}
_EVENTS: _Responses = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "A Job for each change"}
}
_PARCEL: _Responses = {
    200: {
        "content": {PARCEL: {"schema": {"type": "string", "format": "binary"}}},
        "description": "A safetensors file with an Artifact as JSON in its metadata",
    }
}


def api(desk: Desk) -> APIRouter:
    """All of them."""
    router = APIRouter(prefix="/api")
    router.include_router(_opening(desk))
    for view in VIEWS.values():
        _add(router, desk, view)
    router.include_router(_jobs(desk))
    router.include_router(_others())
    return router


def _opening(desk: Desk) -> APIRouter:
    router = APIRouter()

    @router.get("/session", operation_id="session")
    def session() -> Session:
        """What there is to ask: the models, the measures, the limits."""
        return desk.session

    return router


def _add(router: APIRouter, desk: Desk, view: View) -> None:
    """A view's question, under its own name and with its own request."""
    router.add_api_route(
        f"/views/{view.name}",
        _Ask(desk, view),
        methods=["POST"],
        response_model=Job,
        operation_id=view.name,
        summary=view.summary,
        description=inspect.getdoc(view.compute) or view.summary,
        responses=_QUEUED | _REFUSED | _BUSY,
    )


@dataclass(frozen=True)
class _Ask:
    """Hands in a question."""

    desk: Desk
    view: View

    def __call__(self, request: TextRequest, response: Response) -> Job:
        job = self.desk.ask(self.view, request)
        response.status_code = 200 if job.is_final else ACCEPTED
        return job

    @property
    def __signature__(self) -> inspect.Signature:
        """What FastAPI reads: the body is the view's own request."""
        kinds = {"request": self.view.request, "response": Response}
        return inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in kinds.items()]
        )


def _jobs(desk: Desk) -> APIRouter:
    router = APIRouter(responses=_REFUSED)

    @router.get("/jobs/{name}", operation_id="job", responses=_GONE)
    def job(name: str) -> Job:
        """Where the work on a question stands."""
        return _found(desk.jobs.find(name))

    @router.delete("/jobs/{name}", operation_id="cancel", status_code=NO_CONTENT, responses=_GONE)
    def cancel(name: str) -> None:
        """Give a question back; others who asked the same still get their answer."""
        if not desk.jobs.cancel(name):
            _found(None)

    @router.get(
        "/jobs/{name}/events", operation_id="events", response_class=StreamingResponse, responses=_EVENTS | _GONE
    )
    async def events(name: str) -> StreamingResponse:
        """Each change of a job until its end, as server-sent events."""
        _found(desk.jobs.find(name))
        return StreamingResponse(_written(desk, name), media_type="text/event-stream")

    @router.get("/results/{key}", operation_id="result", response_class=Response, responses=_PARCEL | _GONE)
    def result(key: _KEY) -> Response:
        """An answer: an artifact and its arrays."""
        data = desk.cache.get(key)
        if data is None:
            raise HTTPException(NOT_FOUND, "this result is not kept any more; ask again")
        return Response(data, media_type=PARCEL, headers={"cache-control": _FOREVER})

    return router


def _others() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.post("/views/{name}")
    def no_view(name: str) -> None:
        raise HTTPException(NOT_FOUND, str(unknown("view", name, VIEWS)))

    @router.api_route("/{path:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    def nothing(path: str) -> None:
        raise HTTPException(NOT_FOUND, f"there is nothing at /api/{path}")

    return router


def _found(job: Job | None) -> Job:
    if job is None:
        raise HTTPException(NOT_FOUND, "there is no such job, or it ended long ago; ask again")
    return job


async def _written(desk: Desk, name: str) -> AsyncGenerator[str]:
    async for job in desk.jobs.events(name):
        yield ": still here\n\n" if job is None else f"data: {job.model_dump_json()}\n\n"
