"""Whatever a user gets wrong is one sentence and exit code 2."""

import shutil
from pathlib import Path

import pytest
import torch

from attnscope import places
from attnscope.cli import guard
from attnscope.cli.app import app
from attnscope.cli.options import numbers, read_text
from attnscope.errors import InputError
from tests import zoo


@pytest.fixture
def copy(bert, tmp_path):
    return shutil.copytree(bert, tmp_path / "copy")


@pytest.mark.parametrize("command", ["analyze", "verify"])
def test_models_that_are_none(refused, copy, tmp_path, command):
    assert "no folder at" in refused(command, tmp_path / "nowhere", "text")
    (tmp_path / "empty").mkdir()
    assert "config.json" in refused(command, tmp_path / "empty", "text")
    (copy / "config.json").write_text("{}")
    assert refused(command, copy, "text")


def test_pickled_weights_are_refused_until_they_are_allowed(refused, run, copy):
    model = zoo.build("bert")
    (copy / "model.safetensors").unlink()
    torch.save(model.state_dict(), copy / "pytorch_model.bin")
    assert "--allow-pickle" in refused("verify", copy)
    assert run("verify", copy, "--allow-pickle").exit_code == 0


def test_weights_that_are_nan(refused, tmp_path):
    model = zoo.build("bert")
    with torch.no_grad():
        model.encoder.layer[1].output.dense.weight[0, 0] = float("nan")
    assert "NaN" in refused("analyze", zoo.save(model, tmp_path / "nan"), "text")


def test_texts_that_are_none(refused, bert, tmp_path):
    assert "text" in refused("analyze", bert, "")
    assert "text" in refused("analyze", bert, "-", given="")
    assert "no text was given" in refused("analyze", bert)
    assert "can't be read" in refused("analyze", bert, "--file", tmp_path / "missing.txt")
    assert "can't be read" in refused("analyze", bert, "--file", tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    assert "UTF-8" in refused("analyze", bert, "--file", tmp_path / "latin.txt")
    assert "not both" in refused("analyze", bert, "text", "--file", tmp_path / "latin.txt")
    assert "UTF-8" in refused("analyze", bert, "\udce9")
    assert "stride" in refused("analyze", bert, "the cat " * 60)


def test_names_that_are_unknown(refused, bert):
    said = refused("analyze", bert, "text", "-m", "atention_norm")
    assert "did you mean 'attention_norm'" in said
    assert "value_norm" in said
    assert "unknown unit" in refused("analyze", bert, "text", "--unit", "letter")
    assert "unknown reduction" in refused("analyze", bert, "text", "--reduce", "sum")
    assert "unknown category scheme" in refused("analyze", bert, "text", "--reduce", "categories", "--categories", "x")
    assert "unknown category scheme" in refused("analyze", bert, "text", "--categories", "x")
    assert "unknown stack" in refused("analyze", bert, "text", "--stack", "cross")
    assert "unknown dtype" in refused("analyze", bert, "text", "--dtype", "float8")
    assert "unknown device" in refused("verify", bert, "--device", "quantum")


def test_numbers_that_do_not_exist(refused, bert):
    assert "no attention layer 9" in refused("analyze", bert, "text", "--layers", "1,9")
    assert "no head 5" in refused("analyze", bert, "text", "--heads", "5")
    assert "--layers" in refused("analyze", bert, "text", "--layers", "one")
    assert "backwards" in refused("analyze", bert, "text", "--layers", "3-1")
    assert "top" in refused("analyze", bert, "text", "--reduce", "topk", "--top", "0")
    assert "seed must be a whole number from 0" in refused("compare", bert, bert, "the cat", "--seed", "-1")
    assert "draws must be" in refused("compare", bert, bert, "the cat", "--draws", "1")


def test_places_that_cannot_be_written_are_refused_before_any_work(refused, tmp_path):
    (tmp_path / "there.nc").write_text("mine")
    nowhere = tmp_path / "no model is looked for"
    assert "there already" in refused("analyze", nowhere, "text", "--out", tmp_path / "there.nc")
    assert "ending" in refused("analyze", nowhere, "text", "--out", tmp_path / "result.txt")
    assert "no folder" in refused("analyze", nowhere, "text", "--out", tmp_path / "missing" / "result.nc")
    assert (tmp_path / "there.nc").read_text() == "mine"
    for wrong in (("--measure", "mixing_ratio"), ("--labelled", tmp_path / "missing.tsv")):
        assert "no folder at" not in refused("compare", nowhere, nowhere, "text", *wrong)


def test_a_folder_that_is_read_only_is_refused_before_any_work(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places.os, "access", lambda place, _mode: Path(place) != tmp_path)
    assert "read-only" in refused("analyze", tmp_path / "nowhere", "text", "--out", "result.nc")
    assert "read-only" in refused("demo")


def test_what_can_not_be_drawn_is_refused_before_any_work(refused, tmp_path):
    nowhere, figure = tmp_path / "no model is looked for", ("--figure", tmp_path / "a.png")
    assert "draws maps" in refused("analyze", nowhere, "text", "-m", "value_norm", *figure)
    assert "not topk" in refused("analyze", nowhere, "text", "--reduce", "topk", *figure)
    assert "one window" in refused("analyze", nowhere, "text", "--stride", "9", *figure)


def test_usage_errors_have_exit_code_2(run, bert):
    assert run("analyze").exit_code == 2
    assert run("analyse", bert, "text").exit_code == 2
    assert run("analyze", bert, "text", "--top", "many").exit_code == 2
    assert run("analyze", bert, "two", "texts").exit_code == 2


def test_version_and_help(run):
    assert run("--version").stdout.startswith("attnscope 0.")
    assert run("--help").exit_code == 0
    assert run().exit_code in {0, 2}


def test_help_breaks_where_the_terminal_ends():
    assert all("\n" not in (command.help or "\n").replace("\n\n", "") for command in app.registered_commands)


def test_a_text_of_another_locale_is_read_by_its_bytes():
    assert read_text("caf\udcc3\udca9", None) == "café"
    for wrong in ("caf\udce9", "caf\ud800"):
        with pytest.raises(InputError, match="UTF-8"):
            read_text(wrong, None)


def test_number_lists():
    assert numbers("1-3,6, 2", "--layers") == (1, 2, 3, 6)
    assert numbers(None, "--layers") is None
    for wrong in ("", "0x1", "1-", "-1", "1;2", "123456"):
        with pytest.raises(InputError, match="--layers"):
            numbers(wrong, "--layers")


def test_a_defect_is_not_hidden():
    @guard.guarded
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
