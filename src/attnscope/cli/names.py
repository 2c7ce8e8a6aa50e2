"""What there is to choose from, by name: from the files, because the registries load torch, and help must be quick."""

import importlib.util
import pkgutil


def measures() -> list[str]:
    """The names of all measures."""
    return sorted(_modules("attnscope.measures") - {"registry"})


def attributions() -> list[str]:
    """The names of all methods of attribution."""
    return sorted(_modules("attnscope.analyses.attribution") - {"registry", "rankings"})


def _modules(package: str) -> set[str]:
    spec = importlib.util.find_spec(package)
    return {module.name for module in pkgutil.iter_modules(spec.submodule_search_locations)} if spec else set()
