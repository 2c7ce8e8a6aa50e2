"""`attnscope flow`: which words reach a token or a class, and by which way through the layers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from attnscope.cli import names, options
from attnscope.errors import InputError, one_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from attnscope.artifacts import Flow
    from attnscope.cli.screen import Screen

METHODS = ("traced", "rollout", "max_flow", "decomposed")
_PARTS = "decomposed"


def flow(
    model: options.ModelName,
    text: options.TextArgument = None,
    file: options.TextFile = None,
    pair: options.Pair = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="NAME",
            show_default=False,
            help="A token by its label or number from 0, or logit:CLASS (logit: is the predicted one). "
            "Default: [CLS], or the last token of a text that is read from left to right.",
        ),
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(METHODS)}.")] = "traced",
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            show_default=False,
            help=f"{', '.join(names.maps())}. Default: block_norm.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="X", show_default=False, help="The least that counts, when traced. Default: 0.05."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="What it is compared with: share (of a row) or value."),
    ] = None,
    reading: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="When traced: direct (each layer's own map), cumulative (rollout) or flow (max_flow).",
        ),
    ] = None,
    layers: Annotated[
        str | None, typer.Option(metavar="LIST", help="A range of layers, such as 2-5; tracing begins behind the last.")
    ] = None,
    heads: options.Heads = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="When traced: keep only the N strongest keys of each query.")
    ] = None,
    unit: options.Unit = "token",
    stack: Annotated[str | None, typer.Option(metavar="NAME", help="encoder or decoder, where there are both.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write a traced graph to FILE.json, others to .zarr or .nc."),
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
    """Trace a token or a class back to the words, or weigh the words of a token layer by layer.

    traced: the graph of all tokens that the target draws on. rollout, max_flow, decomposed: how much of the target goes
    back to each word, behind every layer.
    """
    from attnscope.artifacts.flow import Reading, Scale
    from attnscope.cli.loading import load_model
    from attnscope.cli.outputs import Outputs
    from attnscope.cli.screen import Screen

    screen = Screen(json, quiet)
    words = options.needed_text(text, file)
    one_of("method", method, METHODS)
    one_of("reading", reading or "direct", get_args(Reading))
    one_of("scale", by or "share", get_args(Scale))
    kept = options.numbers(layers, "--layers"), options.numbers(heads, "--heads")
    chosen = _given({"measure": measure, "stack": stack, "target": target, "unit": options.unit_of(unit)})
    tracing = {"threshold": threshold, "by": by, "reading": reading, "layers": kept[0], "heads": kept[1], "top": top}
    tracing = _given(tracing)
    if method != "traced" and tracing:
        raise InputError(f"--{next(iter(tracing))} is for --method traced, not for {method}")
    if method == _PARTS and measure is not None:
        raise InputError("--measure chooses the maps of other methods; decomposed carries the words' own vectors")
    outputs = Outputs(out, figure, overwrite)
    outputs.check(json=method == "traced")
    loaded = load_model(model, screen, adapter=adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
    if method == "traced":
        from attnscope.analyses.flow import flow as trace

        with screen.counting("layers") as step:
            traced = trace(loaded, words, pair, progress=step, **chosen, **tracing)
        outputs.write_json(traced.model_dump_json(), screen)
        outputs.draw(lambda: _graph(traced), screen)
        _report_graph(traced, screen)
    else:
        from attnscope.analyses.trail import trail

        with screen.counting("steps") as step:
            found = trail(loaded, words, pair, method=method, progress=step, **chosen)
        outputs.write(found, screen)
        outputs.draw(lambda: _layers(found), screen)
        _report_layers(found, screen)


def _given(chosen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in chosen.items() if value is not None}


def _graph(traced: "Flow") -> "Figure":
    from attnscope.plot.graph import graph_figure

    return graph_figure(traced)


def _layers(found: "xr.Dataset") -> "Figure":
    from attnscope.plot.layers import layer_figure

    return layer_figure(found)


def _report_graph(traced: "Flow", screen: "Screen") -> None:
    if screen.json:
        from attnscope.cli.plain import write_json

        write_json(traced.model_dump(mode="json"))
        return
    from attnscope.cli.graphs import edge_table, level_table, reached

    screen.show(level_table(traced), edge_table(traced), reached(traced))


def _report_layers(found: "xr.Dataset", screen: "Screen") -> None:
    if screen.json:
        from attnscope.cli.plain import as_json, write_json

        write_json(as_json(found))
        return
    from attnscope.cli.graphs import trail_table

    screen.show(trail_table(found))
    error = found.attrs["reconstruction_error"]
    screen.show(f"The parts of {found.attrs['model']} add up to {error:.0e}.")
