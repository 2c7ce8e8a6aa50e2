"""Questions asked with a picture in mind: one a file, each giving an artifact and its arrays, which a view draws.

`VIEWS` holds them all by name; the server's routes, the browser's types and the tests read it.
"""

import importlib
import pkgutil

from attnscope.analyses.views.registry import VIEWS, Models, Progress, View

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["VIEWS", "Models", "Progress", "View"]
