import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import attnscope
from tests import zoo


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    return zoo.save(model, tmp_path_factory.mktemp("models") / "classifier")


def test_a_table_and_its_sum(run: Callable[..., Result], classifier: Path) -> None:
    said = run("attribute", classifier, "the cat sat", "-t", "LABEL_1").stdout
    assert "what each token adds to LABEL_1" in said
    assert all(word in said for word in ("cat", "[SEP]", "from biases", "adds up"))


def test_json_of_a_difference(run: Callable[..., Result], classifier: Path) -> None:
    said = json.loads(run("attribute", classifier, "the cat sat", "-t", "LABEL_1", "-t", "0", "--json").stdout)
    assert said["attributes"]["target"] == "LABEL_1 − LABEL_0"


def test_a_file(run: Callable[..., Result], classifier: Path, tmp_path: Path) -> None:
    run("attribute", classifier, "the cat sat", "--unit", "word", "--out", tmp_path / "a.nc")
    assert attnscope.load(tmp_path / "a.nc").attrs["unit"] == "word"


def test_mistakes(refused: Callable[..., str], classifier: Path, bert: Path) -> None:
    assert "LABEL_0" in refused("attribute", classifier, "the cat", "-t", "LABEL_8")
    assert "twice" in refused("attribute", classifier, "the cat", "-t", "0", "-t", "1", "-t", "2")
    assert "no head" in refused("attribute", bert, "the cat")
    assert "empty" in refused("attribute", classifier, " ")
