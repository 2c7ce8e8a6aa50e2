"""The application, put together."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from attnscope.artifacts import Artifact
from attnscope.errors import AttnscopeError
from attnscope.server import static
from attnscope.server.desk import Desk
from attnscope.server.jobs import DEFECT, QueueFull, sentence
from attnscope.server.routes import NOT_FOUND, TOO_MANY, api
from attnscope.server.security import Guard

_NOT_JSON = "the request is not JSON"
_UNREAD = "There was an error parsing the body"
"""What the framework says where JSON is nested too deeply, or is no text."""
_SHOWN = 100
"""Letters of an address that are repeated."""
_SCHEMAS = "#/components/schemas/"


def create_app(desk: Desk, folder: Path = static.FOLDER) -> ASGIApp:
    """The server's application over a desk, with its guard in front; `folder` is the built page."""
    return Guard(_application(desk, folder), desk.settings)


def openapi(desk: Desk) -> dict[str, Any]:
    """What the API takes and gives, with every artifact, from which the browser's types are made."""
    described = _application(desk, static.FOLDER).openapi()
    schemas: dict[str, Any] = described["components"]["schemas"]
    union = TypeAdapter[Any](Artifact).json_schema(mode="serialization", ref_template=_SCHEMAS + "{model}")
    for name, schema in {**union.pop("$defs"), "Artifact": union}.items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas are called {name}")
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)  # FastAPI's own way to refuse, which is not ours
    described["components"]["schemas"] = dict(sorted(schemas.items()))
    return described


def _application(desk: Desk, folder: Path) -> FastAPI:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            desk.jobs.stop()
            await asyncio.to_thread(desk.jobs.join)

    app = FastAPI(
        title="attnscope",
        version=version("attnscope"),
        summary="Which inputs a Transformer's attention really uses.",
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,  # both load their scripts from elsewhere
        redoc_url=None,
        # Nothing about what is asked leaves the machine, whatever the environment says.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    app.include_router(api(desk))
    app.include_router(static.page(folder))
    app.mount("/", static.Files(folder))
    app.add_exception_handler(AttnscopeError, _refused)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _failed)
    app.add_exception_handler(Exception, _broken)
    return app


def _refused(_: Request, error: Exception) -> JSONResponse:
    busy = isinstance(error, QueueFull)
    return _said(TOO_MANY if busy else 422, str(error), {"retry-after": "1"} if busy else None)


def _misread(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return _said(422, f"{_mistake(found[0])}{more}")


def _failed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    said = _NOT_JSON if error.detail == _UNREAD else str(error.detail)
    if said == HTTPStatus(error.status_code).phrase:  # the framework's own word for it, which is no sentence
        path = request.url.path[:_SHOWN]
        said = f"there is nothing at {path}" if error.status_code == NOT_FOUND else f"{path}: {said.lower()}"
    return _said(error.status_code, said, error.headers)


def _broken(_request: Request, _error: Exception) -> JSONResponse:
    """What went wrong inside is for the log, which the guard writes."""
    return _said(500, DEFECT)


def _said(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"message": sentence(message)}, status, headers)


def _mistake(found: Mapping[str, Any]) -> str:
    """What is wrong with a request, without what was sent: that may be anything."""
    place: Sequence[object] = [part for part in found["loc"] if part != "body"]
    if found["type"] == "json_invalid":
        return _NOT_JSON
    if not place:
        return "the request must be a JSON object, sent as application/json"
    where = ".".join(map(str, place))
    if found["type"] == "extra_forbidden":
        return f"the request has no field {where}"
    if found["type"] == "missing":
        return f"the request lacks {where}"
    return f"{where}: {str(found['msg']).removeprefix('Value error, ')}"
