"""`attnscope verify`: proof, layer by layer, that the parts add up to what the model computed."""

from typing import TYPE_CHECKING, Any

import typer

from attnscope.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from attnscope.models.verification import LayerLaws, Verification


def verify(
    model: options.ModelName,
    text: options.TextArgument = None,
    file: options.TextFile = None,
    pair: options.Pair = None,
    adapter: options.Adapter = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    allow_pickle: options.AllowPickle = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Prove that the parts add up to what the model computed, on a text or on a small synthetic input.

    Law 1: the weighted vectors and the bias are the attention's own output. Law 2: with residual and normalisation
    they are the block's own output. Law 3: sent on through the feed-forward block, they and what biases do are the
    whole layer's output. Exit code 1 if a layer fails Law 1 or 2; where Law 3 fails, measures of whole layers are
    refused.
    """
    from attnscope.cli.guard import FAILED
    from attnscope.cli.loading import load_model
    from attnscope.cli.screen import Screen

    screen = Screen(json, quiet)
    words = options.read_text(text, file)
    loaded = load_model(model, screen, adapter=adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
    with screen.waiting("adding up"):
        found = loaded.check_laws(words, pair)
    if json:
        from attnscope.cli.plain import write_json

        write_json(_plain(found))
    else:
        screen.show(_table(found), *_sentences(found))
    if not found.passed:
        raise typer.Exit(FAILED)


def _table(found: "Verification") -> "Table":
    from rich.text import Text

    from attnscope.cli.tables import table

    columns = ["stack", "layer", "Law 1 error", "Law 2 error", "Law 3 error", "tolerance", "verdict"]
    made = table(found.model, columns, left=1)
    for laws in found.layers:
        holds = _holds(laws, found.tolerance)
        verdict = Text("holds" if holds else "FAILS", style="green" if holds else "bold red")
        errors = (
            Text(f"{laws.errors.attention:.1e}"),
            Text(_shown(laws.errors.block)),
            Text(_shown(laws.errors.layer)),
            Text(f"{found.tolerance:.0e}"),
        )
        made.add_row(Text(laws.stack), Text(str(laws.layer)), *errors, verdict)
    return made


def _sentences(found: "Verification") -> list[str]:
    reasons = dict.fromkeys(laws.block_reason or "" for laws in found.layers if laws.errors.block is None)
    said = [f"Law 2 was not checked: {reason or 'the residual stream was not found'}." for reason in reasons]
    reasons = dict.fromkeys(laws.layer_reason or "" for laws in found.layers if laws.errors.layer is None)
    said += [f"Law 3 was not checked: {reason or 'the end of the layer was not found'}." for reason in reasons]
    unproved = list(found.open_layers())
    if unproved:
        said.append(f"Law 3 fails in {', '.join(unproved)}: measures of whole layers are refused for this model.")
    if found.others:
        said.append(f"Without softmax attention, so not analysed: {', '.join(found.others)}.")
    if found.passed:
        return [*said, f"Every layer adds up: the largest error is {_largest(found):.0e}."]
    return [*said, *(f"{failure}." for failure in found.failures())]


def _largest(found: "Verification") -> float:
    """Of all laws that hold."""
    errors = [error for laws in found.layers for error in (laws.errors.attention, laws.errors.block, laws.errors.layer)]
    return max(error for error in errors if error is not None and error <= found.tolerance)


def _holds(laws: "LayerLaws", tolerance: float) -> bool:
    block = laws.errors.block
    return laws.errors.attention <= tolerance and (block is None or block <= tolerance)


def _shown(error: float | None) -> str:
    return "not checked" if error is None else f"{error:.1e}"


def _plain(found: "Verification") -> dict[str, Any]:
    from attnscope.cli.plain import number

    return {
        "model": found.model,
        "passed": found.passed,
        "tolerance": found.tolerance,
        "worst": number(found.worst),
        "layers": [
            {
                "stack": laws.stack,
                "layer": laws.layer,
                "law_1_error": number(laws.errors.attention),
                "law_2_error": number(laws.errors.block),
                "law_2_reason": laws.block_reason if laws.errors.block is None else None,
                "law_3_error": number(laws.errors.layer),
                "law_3_reason": laws.layer_reason if laws.errors.layer is None else None,
                "holds": _holds(laws, found.tolerance),
            }
            for laws in found.layers
        ],
        "failures": list(found.failures()),
        "without_softmax_attention": list(found.others),
    }
