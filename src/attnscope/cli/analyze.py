"""`attnscope analyze`: what flows between the tokens of a text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from attnscope.cli import names, options
from attnscope.cli.outputs import Outputs
from attnscope.errors import InputError, one_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

DEFAULT = ("weight", "attention_norm")
Reduce = Literal["keys", "queries", "categories", "topk"]


def analyze(
    model: options.ModelName,
    text: options.TextArgument = None,
    file: options.TextFile = None,
    pair: options.Pair = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            show_default=False,
            help=f"Repeat for more: {', '.join(names.measures())}. Default: {', '.join(DEFAULT)}.",
        ),
    ] = None,
    layers: options.Layers = None,
    heads: options.Heads = None,
    stack: options.Stack = None,
    unit: options.Unit = "token",
    reduce: Annotated[
        str | None, typer.Option(metavar="NAME", help="Keep only keys, queries, categories or topk of the maps.")
    ] = None,
    categories: Annotated[
        str, typer.Option(metavar="NAME", help="Kinds of tokens: auto, encoder or decoder.")
    ] = "auto",
    top: Annotated[int, typer.Option(metavar="N", help="How many keys --reduce topk keeps.")] = 5,
    stride: Annotated[
        int | None, typer.Option(metavar="N", help="Analyse a long text in windows so many tokens apart.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the result to FILE.zarr or FILE.nc.")
    ] = None,
    figure: options.FigureFile = None,
    overwrite: options.Overwrite = False,
    adapter: options.Adapter = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    allow_pickle: options.AllowPickle = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show which tokens of a text get the attention, and which give the content.

    --figure draws the maps, mean over the chosen layers and heads, or with --reduce categories the shares by layer.
    """
    from attnscope.cli.screen import Screen

    screen = Screen(json, quiet)
    words = options.needed_text(text, file)
    wanted = options.numbers(layers, "--layers"), options.numbers(heads, "--heads")
    with screen.waiting("starting"):
        from attnscope.analyses import analyze as analysis
        from attnscope.analyses.reductions import REDUCTIONS
        from attnscope.cli.loading import load_model
        from attnscope.measures import MEASURES, lookup
    chosen = [lookup(name).name for name in measure or DEFAULT]
    chosen_unit = options.unit_of(unit)
    one_of("reduction", reduce or "keys", REDUCTIONS)
    outputs = Outputs(out, figure, overwrite)
    outputs.check()
    drawn = [name for name in chosen if MEASURES[name].is_map]
    if figure is not None:
        _check_figure(drawn, reduce, stride)
    loaded = load_model(model, screen, adapter=adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
    # The tables need no query × key map, so nothing of that size is kept unless someone gets it.
    kept = reduce or (None if json or out is not None or figure is not None else "queries")
    with screen.counting("layers") as step:
        result = analysis.analyze(
            loaded,
            words,
            pair,
            measures=chosen,
            layers=wanted[0],
            heads=wanted[1],
            stack=stack,
            unit=chosen_unit,
            reduce=cast(Reduce | None, kept),
            categories=categories,
            top=top,
            stride=stride,
            progress=step,
        )
    outputs.write(result, screen)
    outputs.draw(lambda: _figure(result, drawn), screen)
    _report(result, screen.json, quiet)


def _check_figure(maps: list[str], reduce: str | None, stride: int | None) -> None:
    """What can't be drawn is said before any work is done."""
    if not maps:
        raise InputError("--figure draws maps from keys to queries; none of these measures is one")
    if reduce not in {None, "categories"}:
        raise InputError(f"--figure draws whole maps or categories, not {reduce}; leave --reduce or --figure out")
    if stride is not None:
        raise InputError("--figure draws one window; leave --stride or --figure out")


def _figure(result: "xr.Dataset", maps: list[str]) -> "Figure":
    if result.attrs["reduce"] != "categories":
        from attnscope.plot.maps import map_figure

        return map_figure(result, maps)
    from attnscope.cli.tables import category_shares
    from attnscope.plot.curves import curve_figure

    title = "Where attention looks, and what it takes, by kind of token"
    return curve_figure(category_shares(result, maps), title=title, subtitle=str(result.attrs["model"]))


def _report(result: "xr.Dataset", json: bool, quiet: bool) -> None:
    from attnscope.cli.plain import as_json, write_json

    if json:
        write_json(as_json(result))
        return
    from attnscope.cli.screen import Screen
    from attnscope.cli.tables import analysis_tables, law_line, meanings
    from attnscope.result import measures_of

    screen = Screen()
    screen.show(*analysis_tables(result))
    screen.show(law_line(result))
    if not quiet:
        screen.show("", meanings(measures_of(result)))
