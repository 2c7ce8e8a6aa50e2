"""How a decision is attributed to tokens: one method a file, each registering itself.

`ATTRIBUTIONS` holds them all by name; the command line's choices, the documentation and the tests read it.
"""

import importlib
import pkgutil

from attnscope.analyses.attribution.registry import ATTRIBUTIONS, Answer, Method, Question, lookup

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["ATTRIBUTIONS", "Answer", "Method", "Question", "lookup"]
