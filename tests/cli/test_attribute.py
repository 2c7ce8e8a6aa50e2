import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import attnscope
from attnscope.analyses.attribution import ATTRIBUTIONS
from tests import zoo

Run = Callable[..., Result]
Refused = Callable[..., str]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    return zoo.save(model, tmp_path_factory.mktemp("models") / "classifier")


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = zoo.build_head("bart", "AutoModelForSeq2SeqLM")
    return zoo.save(model, tmp_path_factory.mktemp("models") / "translator")


def test_a_table_and_its_sum(run: Run, classifier: Path) -> None:
    said = run("attribute", classifier, "the cat sat", "-t", "LABEL_1").stdout
    assert "what each token adds to LABEL_1" in said
    assert all(word in said for word in ("cat", "[SEP]", "from biases", "left over"))


def test_json_of_a_difference(run: Run, classifier: Path) -> None:
    said = json.loads(run("attribute", classifier, "the cat sat", "-t", "LABEL_1", "-t", "0", "--json").stdout)
    assert said["attributes"]["target"] == "LABEL_1 − LABEL_0"


def test_a_file(run: Run, classifier: Path, tmp_path: Path) -> None:
    run("attribute", classifier, "the cat sat", "--unit", "word", "--out", tmp_path / "a.nc")
    assert attnscope.load(tmp_path / "a.nc").attrs["unit"] == "word"


@pytest.mark.parametrize("method", sorted(ATTRIBUTIONS))
def test_every_method(run: Run, classifier: Path, tmp_path: Path, method: str) -> None:
    options = ("--method", method, "--steps", "4", "--figure", tmp_path / "a.png")
    result = run("attribute", classifier, "the cat sat", *options)
    assert result.exit_code == 0
    assert ("against" in result.stdout) == ATTRIBUTIONS[method].signed
    assert ("they are no parts of it" in result.stdout) != ATTRIBUTIONS[method].signed
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_all_classes_in_one_table(run: Run, classifier: Path, tmp_path: Path) -> None:
    result = run("attribute", classifier, "the cats sat", "--all-classes", "--out", tmp_path / "a.zarr")
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    assert all(name in said for name in ("LABEL_0", "LABEL_1", "LABEL_2", "layer 2", "biases", "logit", "share"))
    found = attnscope.load(tmp_path / "a.zarr")
    assert f"{float(found['contribution'][1, 1]):+.3f}" in said
    assert json.loads(run("attribute", classifier, "the cat", "--all-classes", "--json").stdout)["dims"]["class"] == 3


def test_each_word_of_a_translation(run: Run, translator: Path) -> None:
    said = run("attribute", translator, "the cat", "--pair", "a dog sat").stdout
    assert "what each token adds to each output" in said
    assert "left over is" in said
    said = run("attribute", translator, "the cat", "--pair", "a dog sat", "--method", "gradient_x_input").stdout
    assert "left over is" in said
    one = json.loads(run("attribute", translator, "the cat", "--pair", "a dog", "--position", "1", "--json").stdout)
    assert "step" not in one["dims"]


def test_a_figure_never_replaces_a_file(run: Run, refused: Refused, classifier: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.svg").write_text("mine")
    assert "there already" in refused("attribute", classifier, "the cat", "--figure", tmp_path / "mine.svg")
    assert (tmp_path / "mine.svg").read_text() == "mine"
    assert (
        "drawn into" in run("attribute", classifier, "the cat", "--figure", tmp_path / "mine.svg", "--overwrite").stderr
    )
    assert (tmp_path / "mine.svg").read_text().startswith("<?xml")


def test_mistakes(refused: Refused, classifier: Path, translator: Path, bert: Path, tmp_path: Path) -> None:
    assert "LABEL_0" in refused("attribute", classifier, "the cat", "-t", "LABEL_8")
    assert "twice" in refused("attribute", classifier, "the cat", "-t", "0", "-t", "1", "-t", "2")
    assert "no head" in refused("attribute", bert, "the cat")
    assert "empty" in refused("attribute", classifier, " ")
    assert "did you mean 'decomposed'" in refused("attribute", classifier, "the cat", "--method", "decompose")
    assert "seed must be" in refused("attribute", classifier, "the cat", "--method", "random", "--seed", "-1")
    assert "unknown unit" in refused("attribute", classifier, "the cat", "--unit", "letter")
    assert "--position" in refused("attribute", classifier, "the cat", "--position", "first")
    for other in (("-t", "0"), ("--method", "weight"), ("--figure", tmp_path / "a.png"), ("--position", "each")):
        assert "exclude each other" in refused("attribute", classifier, "the cat", "--all-classes", *other)
    assert "--position" in refused("attribute", translator, "the cat", "--pair", "a", "--figure", tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
