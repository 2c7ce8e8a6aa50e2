"""`attnscope faithfulness`: which attribution method a model's decisions bear out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attnscope.cli import names, options
from attnscope.errors import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from attnscope.cli.screen import Screen


def faithfulness(
    model: options.ModelName,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", show_default=False, help="Texts; several say more.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read texts from a file, one a line (UTF-8).")
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read texts with their right classes (label, tab, sentence), for the accuracy before and after.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Take only the first N texts.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            show_default=False,
            help=f"Repeat for more: {', '.join(names.attributions())}. Default: most of them; random is always there.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="NAME", help="The class to watch. Default: each text's predicted one."),
    ] = None,
    how: Annotated[
        str | None, typer.Option(metavar="NAME", help="mask or remove. Default: mask, where there is a mask token.")
    ] = None,
    percent: Annotated[
        str, typer.Option(metavar="LIST", help="How many of the tokens are taken away, in per cent.")
    ] = "10,20,30,40,50,60,70,80,90",
    steps: Annotated[int, typer.Option(metavar="N", help="Of the integral, for integrated_gradients.")] = 32,
    samples: Annotated[int, typer.Option(metavar="N", help="Bootstrap samples of the texts.")] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the samples, and of the random ranking.")] = 0,
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
    """Take away the tokens that each method ranks highest, and see how far the decision's probability falls."""
    from attnscope.cli.loading import load_model
    from attnscope.cli.outputs import Outputs
    from attnscope.cli.screen import Screen

    screen = Screen(json, quiet)
    if limit is not None and limit < 1:
        raise InputError(f"--limit is a number of texts, from 1, not {limit}")
    texts, labels = _texts(text, file, labelled)
    fractions = options.numbers(percent, "--percent")
    outputs = Outputs(out, figure, overwrite)
    outputs.check()
    with screen.waiting("starting"):
        from attnscope.analyses.attribution import lookup
        from attnscope.analyses.faithfulness import DEFAULT_METHODS
        from attnscope.analyses.faithfulness import faithfulness as tested
    chosen = [lookup(name).name for name in method or DEFAULT_METHODS]
    loaded = load_model(model, screen, adapter=adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
    given: dict[str, Any] = {"labels": None if labels is None else labels[:limit], "methods": chosen, "target": target}
    given |= {"how": how, "percent": fractions, "steps": steps, "samples": samples, "seed": seed}
    with screen.counting("texts") as step:
        found = tested(loaded, texts[:limit], progress=step, **given)
    outputs.write(found, screen)
    outputs.draw(lambda: _figure(found), screen)
    _report(found, screen)


def _texts(
    given: list[str] | None, file: Path | None, labelled: Path | None
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The texts, and their labels if they have some."""
    if sum(one is not None for one in (given or None, file, labelled)) > 1:
        raise InputError("give texts, or --file, or --labelled; not two of them")
    if labelled is not None:
        from attnscope.text.labelled import read_labelled

        read = read_labelled(labelled)
        return read.sentences, read.labels
    if file is not None:
        text = options.read_text(None, file) or ""
        return _listed(text, str(file)), None
    if given == ["-"]:
        return _listed(options.read_text("-", None) or "", "standard input"), None
    if not given:
        raise InputError("no text was given; write some after the model, or name a --file or --labelled file")
    return tuple(options.needed_text(one, None) for one in given), None


def _listed(text: str, where: str) -> tuple[str, ...]:
    lines = tuple(line.strip() for line in text.split("\n") if line.strip())
    if not lines:
        raise InputError(f"{where} has no text in it")
    return lines


def _figure(found: "xr.Dataset") -> "Figure":
    from attnscope.plot.trust import faithfulness_figure

    return faithfulness_figure(found)


def _report(found: "xr.Dataset", screen: "Screen") -> None:
    if screen.json:
        from attnscope.cli.plain import as_json, write_json

        write_json(as_json(found))
        return
    from attnscope.cli.trust import control_line, trust_table

    screen.show(trust_table(found), f"Verdict: {found.attrs['verdict']}.", control_line(found))
