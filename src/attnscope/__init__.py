"""attnscope: which inputs a Transformer's attention really uses.

The names below load on first use, so that importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnscope.analyses.analyze import analyze
    from attnscope.analyses.attribute import attribute
    from attnscope.analyses.classes import compare_classes
    from attnscope.analyses.compare import compare
    from attnscope.analyses.decision import decision
    from attnscope.analyses.decomposed import decomposed
    from attnscope.analyses.demo import demo_model, demo_models
    from attnscope.analyses.faithfulness import faithfulness
    from attnscope.analyses.flow import flow, flow_change
    from attnscope.analyses.whole import max_flow, rollout
    from attnscope.errors import AttnscopeError, InputError, UnsupportedModel
    from attnscope.models.model import Model
    from attnscope.server.kept import export
    from attnscope.store.datasets import load, save

_HOMES = {
    "AttnscopeError": "attnscope.errors",
    "InputError": "attnscope.errors",
    "Model": "attnscope.models.model",
    "UnsupportedModel": "attnscope.errors",
    "analyze": "attnscope.analyses.analyze",
    "attribute": "attnscope.analyses.attribute",
    "compare": "attnscope.analyses.compare",
    "compare_classes": "attnscope.analyses.classes",
    "decision": "attnscope.analyses.decision",
    "decomposed": "attnscope.analyses.decomposed",
    "demo_model": "attnscope.analyses.demo",
    "demo_models": "attnscope.analyses.demo",
    "export": "attnscope.server.kept",
    "faithfulness": "attnscope.analyses.faithfulness",
    "flow": "attnscope.analyses.flow",
    "flow_change": "attnscope.analyses.flow",
    "load": "attnscope.store.datasets",
    "max_flow": "attnscope.analyses.whole",
    "rollout": "attnscope.analyses.whole",
    "save": "attnscope.store.datasets",
}

__all__ = [
    "AttnscopeError",
    "InputError",
    "Model",
    "UnsupportedModel",
    "analyze",
    "attribute",
    "compare",
    "compare_classes",
    "decision",
    "decomposed",
    "demo_model",
    "demo_models",
    "export",
    "faithfulness",
    "flow",
    "flow_change",
    "load",
    "max_flow",
    "rollout",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
