"""A decomposition with one thing wrong must not pass: each slip is one that an implementation really makes."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

import attnscope as ats
from attnscope.decompose.laws import check
from attnscope.errors import UnsupportedModel
from attnscope.models.norms import NormSource
from attnscope.record import Block, LayerRecord, Norm
from tests import zoo
from tests.conftest import zoo_model

TOLERANCE = 1e-5
Slip = Callable[[list[LayerRecord]], LayerRecord]


def _record(**changes: Callable[[list[LayerRecord]], object]) -> Slip:
    """The second layer's record with fields replaced."""
    return lambda records: dataclasses.replace(records[1], **{k: change(records) for k, change in changes.items()})


def _block(**changes: Callable[[Block], object]) -> Slip:
    def slip(records: list[LayerRecord]) -> LayerRecord:
        block = records[1].block
        replaced = {name: change(block) for name, change in changes.items()}
        return dataclasses.replace(records[1], block=dataclasses.replace(block, **replaced))

    return slip


def _norm(place: str, **changes: Callable[[Norm], object]) -> Slip:
    def replaced(block: Block) -> Norm:
        norm = getattr(block, place)
        return dataclasses.replace(norm, **{name: change(norm) for name, change in changes.items()})

    return _block(**{place: replaced})


def _without_value_bias(records: list[LayerRecord]) -> torch.Tensor:
    bias = zoo_model("bert").hf_model.encoder.layer[1].attention.self.value.bias.detach()
    return records[1].value - bias.view(records[1].heads, 1, -1)


def _repeated_groups(records: list[LayerRecord]) -> torch.Tensor:
    """Heads 1, 3 on the first key head and 2, 4 on the second, instead of 1, 2 and 3, 4."""
    groups = records[1].value[::2]
    return groups.repeat(records[1].heads // len(groups), 1, 1)


def _zeroed_row(records: list[LayerRecord]) -> torch.Tensor:
    projection = records[1].projection.clone()
    projection[2, 3] = 0
    return projection


def _attention(change: Callable[[torch.Tensor], torch.Tensor]) -> Slip:
    def reader(records: list[LayerRecord]) -> Callable[[slice], torch.Tensor]:
        return lambda rows: change(records[1].attention())[:, rows]

    return _record(read_attention=reader)


def _of_the_layer_before(records: list[LayerRecord]) -> LayerRecord:
    block = dataclasses.replace(records[1].block, residual=records[0].block.residual)
    return dataclasses.replace(records[1], block=block)


ATTENTION_SLIPS: dict[tuple[str, str], Slip] = {
    ("bert", "projection bias dropped"): _record(bias=lambda _: None),
    ("bert", "value bias dropped"): _record(value=_without_value_bias),
    ("bert", "one projection row zeroed"): _record(projection=_zeroed_row),
    ("bert", "heads in another order"): _record(value=lambda records: records[1].value.flip(0)),
    ("bert", "weights transposed"): _attention(lambda weights: weights.transpose(1, 2)),
    ("bert", "weights of another layer"): _record(read_attention=lambda records: records[0].read_attention),
    ("llama", "groups mapped wrongly"): _record(value=_repeated_groups),
    ("gemma2", "groups mapped wrongly"): _record(value=_repeated_groups),
    ("gpt-oss", "sink forgotten"): _attention(lambda weights: weights / weights.sum(-1, keepdim=True)),
    ("gpt2", "projection transposed"): _record(
        projection=lambda records: records[1].projection.flatten(0, 1).T.reshape(records[1].projection.shape)
    ),
}
BLOCK_SLIPS: dict[tuple[str, str], Slip] = {
    ("bert", "gain left out"): _norm("post", weight=lambda norm: torch.ones_like(norm.weight)),
    ("bert", "offset left out"): _norm("post", bias=lambda norm: torch.zeros_like(norm.bias)),
    ("bert", "eps off by 1e-2"): _norm("post", eps=lambda norm: norm.eps + 1e-2),
    ("bert", "mean kept"): _norm("post", centred=lambda _: False),
    ("bert", "residual of the layer before"): _of_the_layer_before,
    ("bert", "closing norm left out"): _block(post=lambda _: None),
    ("llama", "residual of the layer before"): _of_the_layer_before,
    ("gemma2", "gain left out"): _norm("branch", weight=lambda norm: torch.ones_like(norm.weight)),
    ("gemma2", "gain without its one"): _norm("branch", weight=lambda norm: norm.weight - 1),
    ("gemma2", "eps off by 1e-2"): _norm("branch", eps=lambda norm: norm.eps + 1e-2),
    ("olmo2", "mean taken out"): _norm("branch", centred=lambda _: True),
    ("olmo2", "branch norm left out"): _block(branch=lambda _: None),
    ("granite", "multiplier forgotten"): _block(scale=lambda _: None),
    ("gpt-neox", "parallel branch forgotten"): _block(extra=lambda _: None),
}
SLIPS = ATTENTION_SLIPS | BLOCK_SLIPS


@pytest.mark.parametrize(("name", "slip"), SLIPS)
def test_laws_notice(name: str, slip: str) -> None:
    records = _records(name)
    right, wrong = check(records[1]), check(SLIPS[name, slip](records))
    assert right.worst < TOLERANCE
    assert wrong.worst > 100 * TOLERANCE
    assert (wrong.attention > 100 * TOLERANCE) == ((name, slip) in ATTENTION_SLIPS)


@pytest.mark.parametrize(("name", "slip"), SLIPS)
@pytest.mark.parametrize("rows", ["whole", "blocks"])
def test_analyze_refuses_and_names_the_layer(name: str, slip: str, rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    records, run = _records(name), ats.Model.run

    def slipped(model: ats.Model, inputs: object, visit: Callable[..., None], **options: object) -> None:
        def changed(text: int, record: LayerRecord) -> None:
            visit(text, record if record.layer == 1 else SLIPS[name, slip](records))

        run(model, inputs, changed, **options)

    monkeypatch.setattr(ats.Model, "run", slipped)
    with pytest.raises(UnsupportedModel, match=f"{name} is not supported: .* layer 2 ") as refusal:
        ats.analyze(zoo_model(name), zoo.inputs(name), measures="weight", reduce=None if rows == "whole" else "keys")
    assert "\n" not in str(refusal.value)


def test_a_misunderstood_norm_is_refused_by_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    from attnscope.models import structure

    understand = structure.understand

    def misunderstand(*args: Any) -> NormSource:
        source = understand(*args)
        return dataclasses.replace(source, norm=dataclasses.replace(source.norm, eps=source.norm.eps + 1e-2))

    monkeypatch.setattr(structure, "understand", misunderstand)
    model = ats.Model(zoo.build("bert"), name="tiny")
    with pytest.raises(UnsupportedModel, match="tiny is not supported: Law 2 fails in self layer 1"):
        model.verify()
    with pytest.raises(UnsupportedModel, match="self layer 1 do not add up"):
        ats.analyze(model, zoo.inputs("bert"))


def _records(name: str) -> list[LayerRecord]:
    return zoo_model(name).records(zoo.inputs(name))
