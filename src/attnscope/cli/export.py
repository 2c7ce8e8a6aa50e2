"""`attnscope export`: the web application's page on one text, as one file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attnscope.cli import names, options
from attnscope.cli.loading import load_beside, load_model
from attnscope.errors import InputError


def export(
    model: options.ModelName,
    text: options.TextArgument = None,
    file: options.TextFile = None,
    pair: options.Pair = None,
    tuned: Annotated[
        str | None,
        typer.Option(metavar="MODEL", show_default=False, help="A second model, to compare with, or its adapter."),
    ] = None,
    adapter: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", show_default=False, help="A PEFT adapter: MODEL with it is the second model."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            show_default=False,
            help=f"May be repeated: what can be chosen in the page. Known: {', '.join(names.measures())}.",
        ),
    ] = None,
    unit: options.Unit = "token",
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write it.")] = Path(
        "attnscope.html"
    ),
    overwrite: options.Overwrite = False,
    device: options.Device = None,
    dtype: options.Dtype = None,
    allow_pickle: options.AllowPickle = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the web application's page on one text into one HTML file, to send or to publish.

    The file opens in any browser, without a server and without a network, and asks nobody anything.
    """
    from attnscope.cli.screen import Screen

    screen = Screen(quiet=quiet)
    if tuned is not None and adapter is not None:
        raise InputError("give a second model with --tuned or with --adapter, not both")
    read = options.needed_text(text, file)
    chosen = options.unit_of(unit)
    with screen.waiting("starting"):
        from attnscope.server import kept
    kept.check_target(out, overwrite=overwrite)
    load: dict[str, Any] = {"device": device, "dtype": dtype, "allow_pickle": allow_pickle}
    first = load_model(model, screen, adapter=None, **load)
    second = None
    if tuned is not None or adapter is not None:
        second = load_beside(tuned or model, screen, adapter=adapter, base=model, **load)
    with screen.counting("questions") as step:
        written = kept.export(
            first, read, out, pair=pair, tuned=second, measures=measure, unit=chosen, overwrite=overwrite, progress=step
        )
    screen.note(f"written to {written} ({written.stat().st_size / 2**20:.1f} MiB)")
