"""Loading a model for a command."""

from typing import TYPE_CHECKING, Any

from attnscope.cli.screen import Screen

if TYPE_CHECKING:
    from attnscope.models.model import Model


def load_model(
    name: str, screen: Screen, *, adapter: str | None, device: str | None, dtype: str | None, allow_pickle: bool
) -> "Model":
    """The model a command was given, with a spinner while it loads."""
    with screen.waiting(f"loading {name}"):
        from attnscope.models.model import Model

        model = Model.from_pretrained(name, adapter=adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
        model.structure  # noqa: B018 - found now, while the spinner turns
    return model


def load_beside(name: str, screen: Screen, *, adapter: str | None, base: str, **options: Any) -> "Model":
    """A model to compare with `base`; the folder of an adapter alone is taken as one of the base."""
    from attnscope.models.load import is_adapter

    if adapter is None and name != base and is_adapter(name):
        name, adapter = base, name
    return load_model(name, screen, adapter=adapter, **options)
