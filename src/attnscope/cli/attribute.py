"""`attnscope attribute`: what each token contributes to a decision."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attnscope.cli import names, options
from attnscope.errors import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from attnscope.cli.screen import Screen


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
    all_classes: Annotated[
        bool,
        typer.Option("--all-classes", help="Each class of a classifier, beside what the deepest layer attends to."),
    ] = False,
    position: Annotated[
        str | None,
        typer.Option(metavar="N", help="The token whose logits are meant, from 0, where each has some; or each."),
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(names.attributions())}.")] = "decomposed",
    steps: Annotated[int, typer.Option(metavar="N", help="Of the integral, for integrated_gradients.")] = 32,
    seed: Annotated[int, typer.Option(metavar="N", help="For the random ranking.")] = 0,
    unit: options.Unit = "token",
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
    """Say what each token of a text contributes to a class, the next token or a masked one, in the logit's units."""
    from attnscope.cli.loading import load_model
    from attnscope.cli.outputs import Outputs
    from attnscope.cli.screen import Screen

    screen = Screen(json, quiet)
    words = options.needed_text(text, file)
    outputs = Outputs(out, figure, overwrite)
    outputs.check()
    place = _place(position)
    chosen: dict[str, Any] = {"position": place, "unit": options.unit_of(unit)}
    if all_classes:
        _check_alone(target, method, place, figure)
    else:
        chosen |= {"target": _target(target), "method": method, "steps": steps, "seed": seed}
    with screen.waiting("starting"):
        from attnscope.analyses.attribute import attribute as attributed
        from attnscope.analyses.attribution import lookup
        from attnscope.analyses.decision import decision
    lookup(method)
    loaded = load_model(model, screen, adapter=adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
    with screen.waiting("decomposing"):
        found = (decision if all_classes else attributed)(loaded, words, pair, **chosen)
    if figure is not None and found.sizes.get("step"):
        raise InputError("--figure draws one target; say which token is meant: --position")
    outputs.write(found, screen)
    outputs.draw(lambda: _figure(found), screen)
    _report(found, screen)


def _place(position: str | None) -> int | str | None:
    if position is None or position == "each":
        return position
    if not position.lstrip("-").isdecimal():
        raise InputError(f"--position is a token's number, counted from 0, or each; not {position!r}")
    return int(position)


def _target(target: list[str] | None) -> Any:
    if target is not None and len(target) > 2:
        raise InputError(f"--target is given once, or twice for a difference, not {len(target)} times")
    numbers = [int(one) if one.isdecimal() else one for one in target or ()]
    return None if not target else target[0] if len(target) == 1 else tuple(numbers)


def _check_alone(target: list[str] | None, method: str, place: int | str | None, figure: Path | None) -> None:
    """--all-classes is a question of its own."""
    given = {"--target": target, "--figure": figure, "--method": None if method == "decomposed" else method}
    given |= {"--position each": place if place == "each" else None}
    for name, value in given.items():
        if value is not None:
            raise InputError(f"--all-classes and {name} exclude each other; leave one out")


def _figure(found: "xr.Dataset") -> "Figure":
    from attnscope.plot.shaded import attribution_figure

    return attribution_figure(found)


def _report(found: "xr.Dataset", screen: "Screen") -> None:
    if screen.json:
        from attnscope.cli.plain import as_json, write_json

        write_json(as_json(found))
        return
    from attnscope.cli import contributions

    if "class" in found.dims:
        screen.show(*contributions.class_tables(found), contributions.class_sentence(found))
    elif "step" in found.dims:
        screen.show(contributions.step_table(found), contributions.completeness(found))
    else:
        screen.show(contributions.token_table(found), contributions.sum_of(found))
