"""The commands, put together."""

from typing import Annotated

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


app.command()(guarded(demo))
app.command()(guarded(verify))
app.command()(guarded(analyze))
app.command()(guarded(attribute))
app.command()(guarded(compare))
app.command()(guarded(flow))
app.command()(guarded(faithfulness))
app.command()(guarded(serve))
app.command()(guarded(export))
