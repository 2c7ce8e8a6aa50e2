import json

import pytest
import torch

from attnscope.models import verification
from tests import zoo


def test_every_layer_of_every_stack_is_listed(run, bart):
    result = run("verify", bart)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines() if line.rstrip().endswith("holds")]
    assert [line[:2] for line in lines] == [[s, n] for s in ("encoder", "decoder", "cross") for n in ("1", "2")]
    assert "Every layer adds up" in result.stdout


def test_the_largest_error_is_that_of_all_laws(run, bert):
    layers = json.loads(run("verify", bert, "--json").stdout)["layers"]
    largest = max(layer[f"law_{number}_error"] for layer in layers for number in (1, 2, 3))
    assert f"the largest error is {largest:.0e}" in run("verify", bert).stdout


def test_verify_on_a_text(run, bert):
    assert run("verify", bert, "the cat").exit_code == 0
    assert run("verify", bert, "the cat", "--pair", "a dog").exit_code == 0
    assert run("verify", bert, "-", given="the cat").exit_code == 0


def test_json(run, bert):
    result = run("verify", bert, "--json")
    found = json.loads(result.stdout)
    assert found["passed"]
    assert [layer["layer"] for layer in found["layers"]] == [1, 2]
    assert all(layer["law_1_error"] < 1e-5 and layer["law_2_error"] < 1e-5 for layer in found["layers"])


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_layer_that_fails_is_named_and_the_exit_code_is_1(run, bert, monkeypatch, options):
    monkeypatch.setitem(verification.TOLERANCE, torch.float32, 1e-12)
    result = run("verify", bert, *options)
    assert result.exit_code == 1
    assert "Law 1 fails in self layer 1" in result.stdout
    if options:
        found = json.loads(result.stdout)
        assert not found["passed"]
        assert not found["layers"][0]["holds"]
    else:
        assert "FAILS" in result.stdout


def test_layers_without_softmax_attention_are_named(run, tmp_path):
    hybrid = next((name for name in ("jamba", "bamba", "zamba2", "falcon-h1") if name in zoo.NAMES), None)
    if hybrid is None:
        pytest.skip("the zoo has no hybrid model")
    result = run("verify", zoo.save(zoo.build(hybrid), tmp_path / hybrid))
    assert result.exit_code == 0
    assert "Without softmax attention" in result.stdout
