"""What there is to choose from, by name: from the files, because the registries load torch, and help must be quick."""

import importlib.util
import pkgutil
import re
from pathlib import Path

_MEASURES = "attnscope.measures"
_AXES = re.compile(r"dims=\(([A-Z, ]*)\)")


def measures() -> list[str]:
    """The names of all measures."""
    return sorted(_modules(_MEASURES) - {"registry"})


def maps() -> list[str]:
    """The names of the measures that have queries and keys."""
    folder = _folders(_MEASURES)[0]
    axes = {name: _AXES.search((folder / f"{name}.py").read_text(encoding="utf-8")) for name in measures()}
    return [name for name, found in axes.items() if found and {"QUERY", "KEY"} <= set(found[1].split(", "))]


def attributions() -> list[str]:
    """The names of all methods of attribution."""
    return sorted(_modules("attnscope.analyses.attribution") - {"registry", "rankings"})


def _modules(package: str) -> set[str]:
    return {module.name for module in pkgutil.iter_modules(map(str, _folders(package)))}


def _folders(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
