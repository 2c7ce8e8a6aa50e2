"""Loading a model for a command."""

from typing import TYPE_CHECKING

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
