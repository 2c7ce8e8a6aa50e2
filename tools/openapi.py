"""Writes what the server's API takes and gives, from which the browser's types are made. `python -m tools.openapi`"""

import json
from pathlib import Path

from attnscope.server.app import openapi
from attnscope.server.desk import Desk
from attnscope.server.models import Models
from attnscope.server.settings import Settings

FILE = Path(__file__).parent.parent / "web" / "openapi.json"


def described() -> str:
    """The file as it should be."""
    return json.dumps(openapi(Desk(Models({}), Settings())), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(described(), encoding="utf-8")
