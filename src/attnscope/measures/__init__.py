"""What can be measured of a layer: one measure a file, each registering itself.

`MEASURES` holds them all by name; the command line's choices, the documentation and the tests read it.
"""

import importlib
import pkgutil

from attnscope.measures.registry import MEASURES, Measure, lookup

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["MEASURES", "Measure", "lookup"]
