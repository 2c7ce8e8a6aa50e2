"""The commands, put together."""

from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from attnscope.cli.analyze import analyze
from attnscope.cli.attribute import attribute
from attnscope.cli.compare import compare
from attnscope.cli.demo import demo
from attnscope.cli.export import export
from attnscope.cli.faithfulness import faithfulness
from attnscope.cli.flow import flow
from attnscope.cli.guard import guarded
from attnscope.cli.serve import serve
from attnscope.cli.verify import verify

P = ParamSpec("P")

app = typer.Typer(
    name="attnscope",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Which inputs a Transformer's attention really uses: where it looks, and what it takes.",
)


def _say_version(asked: bool) -> bool:
    if asked:
        from importlib.metadata import version

        print(f"attnscope {version('attnscope')}")
        raise typer.Exit
    return asked


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", help="Say the version and stop.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Options of attnscope itself."""


def _help(command: Callable[..., None]) -> str:
    """The command's docstring, its paragraphs in one line each, so that they break where the terminal ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (command.__doc__ or "").split("\n\n"))


def _add(command: Callable[P, None]) -> None:
    app.command(help=_help(command))(guarded(command))


_add(demo)
_add(verify)
_add(analyze)
_add(attribute)
_add(compare)
_add(flow)
_add(faithfulness)
_add(serve)
_add(export)
