"""`attnscope attribute`: what each token contributes to a decision."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from attnscope.cli import options
from attnscope.errors import InputError

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table


def attribute(
    model: options.ModelName,
    text: options.TextArgument = None,
    file: options.TextFile = None,
    pair: options.Pair = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="NAME",
            show_default=False,
            help="A class or token, by name or number; twice for the difference of two. Default: the predicted one.",
        ),
    ] = None,
    position: Annotated[
        int | None, typer.Option(metavar="N", help="The token whose logits are meant, from 0, where each has some.")
    ] = None,
    unit: Annotated[str, typer.Option(metavar="NAME", help="token or word.")] = "token",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the result to FILE.zarr or FILE.nc.")
    ] = None,
    overwrite: options.Overwrite = False,
    adapter: options.Adapter = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    allow_pickle: options.AllowPickle = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say what each token of a text contributes to a class, the next token or a masked one, in the logit's units."""
    from attnscope.analyses.attribute import attribute as decompose
    from attnscope.cli.loading import load_model
    from attnscope.cli.screen import Screen
    from attnscope.store.datasets import check_target, save

    screen = Screen(json, quiet)
    words = options.needed_text(text, file)
    if out is not None:
        check_target(out, overwrite=overwrite)
    if target is not None and len(target) > 2:
        raise InputError(f"--target is given once, or twice for a difference, not {len(target)} times")
    loaded = load_model(model, screen, adapter=adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
    chosen = None if not target else target[0] if len(target) == 1 else tuple(target)
    with screen.waiting("decomposing"):
        named = cast("Literal['token', 'word']", unit)
        found = decompose(loaded, words, pair, target=chosen, position=position, unit=named)
    if out is not None:
        save(found, out, overwrite=overwrite)
    if json:
        from attnscope.cli.plain import as_json, write_json

        write_json(as_json(found))
    elif out is None:
        screen.show(_table(found), _sum(found))
    if out is not None:
        screen.note(f"written: {out}")


def _table(found: "xr.Dataset") -> "Table":
    from rich.text import Text

    from attnscope.cli.screen import printable
    from attnscope.cli.tables import bar, table

    values = found["contribution"].to_numpy()
    most = float(abs(values).max()) or 1.0
    made = table(
        f"what each {found.attrs['unit']} adds to {found.attrs['target']}", ["#", "token", "against", "for"], left=2
    )
    made.columns[2].justify = "right"
    made.columns[3].justify = "left"
    for number, (token, value) in enumerate(zip(found["source_token"].to_numpy(), values, strict=True), 1):
        drawn = bar(abs(float(value)) / most).strip()
        against, toward = (f"{drawn} {value:+.3f}", "") if value < 0 else ("", f"{value:+.3f} {drawn}")
        made.add_row(Text(f"{number:>3}"), Text(printable(str(token))), Text(against), Text(toward))
    return made


def _sum(found: "xr.Dataset") -> str:
    total = float(found["contribution"].sum())
    attributes = found.attrs
    return (
        f"{attributes['target']}: {attributes['target_value']:.3f} = {total:.3f} from the tokens "
        f"{attributes['bias']:+.3f} from biases; this adds up to {attributes['completeness_error']:.0e}."
    )
