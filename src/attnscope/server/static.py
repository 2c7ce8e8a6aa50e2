"""The built web application, as files: nothing outside their folder is ever read."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).with_name("static")
"""Written by the build in `web/`, and part of the wheel."""
_HASHED = "assets/"
"""Where the build puts files whose names change with their contents."""
_NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>attnscope</title>
<p>The web application has not been built here. Run <code>make web</code> once, then reload this page;
the API answers already.</p>
"""


class Files(StaticFiles):
    """Files that a browser may keep for good where their names say what is in them, and asks about again elsewhere."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, check_dir=False)

    async def check_config(self) -> None:
        """A folder that is not there yet has no files; it may come."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        forever = path.startswith(_HASHED) and response.status_code < 400
        response.headers["cache-control"] = "public, max-age=31536000, immutable" if forever else "no-cache"
        return response


def page(folder: Path) -> APIRouter:
    """The one page."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    def index() -> Response:
        found = folder / "index.html"
        if not found.is_file():
            return HTMLResponse(_NOT_BUILT, 503)
        return FileResponse(found, headers={"cache-control": "no-cache"})

    return router
