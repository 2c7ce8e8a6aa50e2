"""`attnscope compare`: what changed from one model to another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from attnscope.cli import names, options
from attnscope.cli.loading import load_beside
from attnscope.cli.outputs import Outputs
from attnscope.errors import InputError
from attnscope.text.labelled import Labelled, read_labelled

if TYPE_CHECKING:
    import xarray as xr

    from attnscope.cli.screen import Screen
    from attnscope.models.model import Model

INT8 = "int8"
_ENDINGS = (".txt", ".tsv", ".csv", ".json", ".jsonl")
"""A text that is one word with such an ending is the name of a file."""


def compare(
    base: Annotated[str, typer.Argument(metavar="BASE", help="The model before: as MODEL in the other commands.")],
    tuned: Annotated[
        str | None,
        typer.Argument(
            metavar="TUNED",
            show_default=False,
            help="The model after, or the folder of an adapter on BASE. Left out if --adapter names one.",
        ),
    ] = None,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT|FILE",
            show_default=False,
            help="Texts, or a file with one a line; - reads standard input. Default: 24 short English ones.",
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the texts from a file, one a line.")
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Sentences with labels (label, tab, sentence): say too which words speak for the correct class.",
        ),
    ] = None,
    adapter: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="A PEFT adapter: compares BASE with BASE and the adapter.")
    ] = None,
    pair: options.Pair = None,
    measure: Annotated[
        str, typer.Option("--measure", "-m", metavar="NAME", help=f"{', '.join(names.maps())}.")
    ] = "weight",
    threshold: Annotated[
        float, typer.Option(metavar="SHARE", help="From which share of a row on a key is joined to its query.")
    ] = 0.1,
    unit: Annotated[str, typer.Option(metavar="NAME", help="token or word.")] = "token",
    stack: Annotated[str | None, typer.Option(metavar="NAME", help="self, encoder or decoder.")] = None,
    categories: Annotated[
        str, typer.Option(metavar="NAME", help="Kinds of tokens: auto, encoder or decoder.")
    ] = "auto",
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="int8|MODEL",
            help="What a change must exceed: BASE with its weights rounded to int8, or another model, such as a "
            "second seed.",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(metavar="N", help="Draws of the bootstrap over texts.")] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the bootstrap.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write the result to FILE.zarr or FILE.nc, classes to FILE-classes."
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what changed: FILE.png, FILE.svg or FILE.pdf.")
    ] = None,
    overwrite: options.Overwrite = False,
    device: options.Device = None,
    dtype: options.Dtype = None,
    allow_pickle: options.AllowPickle = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say how attention changed from one model to another: where, in which heads, for which words, beyond noise.

    With several texts, differences come with intervals over texts and with tests; --noise measures what a change must
    exceed to be one. Models of another depth, number of heads or tokenizer are matched first, and it is said how.
    """
    from attnscope.cli.screen import Screen

    screen = Screen(json, quiet)
    after, given = _after(base, tuned, adapter, texts or [])
    items = _items(given, file, labelled)
    read = None if labelled is None else read_labelled(labelled)
    if pair is not None and (items is None or len(items) != 1):
        raise InputError("--pair belongs to one text; give just one, or compare pairs of texts in Python")
    with screen.waiting("starting"):
        from attnscope.analyses import compare as analysis
        from attnscope.analyses.whole import map_measure
        from attnscope.cli.comparison import drawn
    map_measure(measure)
    chosen_unit = options.unit_of(unit)
    outputs, beside = Outputs(out, figure, overwrite), Outputs(_beside(out, labelled), None, overwrite)
    outputs.check()
    beside.check()
    load: dict[str, Any] = {"device": device, "dtype": dtype, "allow_pickle": allow_pickle}
    first = load_beside(base, screen, adapter=None, base=base, **load)
    second = load_beside(after, screen, adapter=adapter, base=base, **load)
    floor = noise if noise in {None, INT8} else load_beside(str(noise), screen, adapter=None, base=base, **load)
    sentences, items = _labelled(read, items, second)
    with screen.counting("texts") as step:
        result = analysis.compare(
            first,
            second,
            items if pair is None else [(items[0], pair)],
            measure=measure,
            threshold=threshold,
            unit=chosen_unit,
            stack=stack,
            categories=categories,
            noise=cast("Model | Literal['int8'] | None", floor),
            draws=draws,
            seed=seed,
            progress=step,
        )
    classes = None if not sentences else _classes(first, second, sentences, screen)
    outputs.write(result, screen)
    if classes is not None:
        beside.write(classes, screen)
    outputs.draw(lambda: drawn(result, classes), screen)
    _report(result, classes, screen)


def _after(base: str, tuned: str | None, adapter: str | None, texts: list[str]) -> tuple[str, list[str]]:
    """The model after, and the texts: with an adapter, what stands behind BASE is a text unless it is a folder."""
    if adapter is None and tuned is None:
        raise InputError("one model was given; name a second one behind it, or an --adapter of it")
    if tuned is None:
        return base, texts
    if adapter is None or Path(tuned).is_dir():
        return tuned, texts
    return base, [tuned, *texts]


def _items(given: list[str], file: Path | None, labelled: Path | None) -> list[str] | None:
    """The texts; none are given if the labelled sentences are to serve."""
    if given and file is not None:
        raise InputError("give texts or --file, not both")
    if file is not None:
        return _lines(None, file)
    if len(given) == 1 and given[0] == "-":
        return _lines("-", None)
    if len(given) == 1 and _is_file(given[0]):
        return _lines(None, Path(given[0]))
    if given:
        _check_texts(given)
        return [text for text in (options.read_text(one, None) for one in given) if text is not None]
    if labelled is not None:
        return None
    from attnscope.analyses.demo import TEXTS

    return list(TEXTS)


def _check_texts(given: list[str]) -> None:
    """A file that is not there, or one of several, must not be compared on by its name."""
    for text in given:
        if _is_file(text):
            raise InputError(f"{text} is a file; give it alone, or the texts themselves")
        if _is_there(text):
            raise InputError(f"{text} is a folder; give a file with one text in each line, or the texts themselves")
        if text.endswith(_ENDINGS) and not any(map(str.isspace, text)):
            raise InputError(f"there is no file {text}; give one with one text in each line, or the texts themselves")


def _is_file(text: str) -> bool:
    return _is_there(text) and Path(text).is_file()


def _is_there(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or with a letter that names can't have
        return False


def _lines(text: str | None, file: Path | None) -> list[str]:
    from attnscope.text.labelled import lines_of

    read = options.needed_text(text, file)
    found = lines_of(read)
    if not found:
        raise InputError(f"there is no text in {'standard input' if file is None else file}")
    return found


def _beside(out: Path | None, labelled: Path | None) -> Path | None:
    """Where the class view goes, if there is one."""
    return None if out is None or labelled is None else out.with_stem(f"{out.stem}-classes")


def _labelled(
    read: Labelled | None, items: list[str] | None, tuned: "Model"
) -> tuple[list[tuple[str, str]], list[str]]:
    """The labelled sentences, and the texts: those that were given, or the sentences."""
    if read is None:
        return [], items or []
    from attnscope.analyses.classes import check_labels, class_names

    pairs = list(zip(read.labels, read.sentences, strict=True))
    check_labels(pairs, class_names(tuned))  # before any work is done
    return pairs, items or list(read.sentences)


def _classes(base: "Model", tuned: "Model", labelled: list[tuple[str, str]], screen: "Screen") -> "xr.Dataset":
    """The class view: of both models where both have classes, else of the second alone."""
    from attnscope.analyses.classes import compare_classes, has_classes

    with screen.counting("sentences") as step:
        return compare_classes(base if has_classes(base) else None, tuned, labelled, progress=step)


def _report(result: "xr.Dataset", classes: "xr.Dataset | None", screen: "Screen") -> None:
    if screen.json:
        from attnscope.cli.plain import as_json, write_json

        write_json({"comparison": as_json(result), "classes": None if classes is None else as_json(classes)})
        return
    from attnscope.cli.comparison import class_report, report

    screen.show(*report(result))
    if classes is not None:
        screen.show("", *class_report(classes))
