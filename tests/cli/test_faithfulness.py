import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

import attnscope as ats
from attnscope.analyses.attribution import ATTRIBUTIONS
from attnscope.cli import names
from tests import zoo

TEXTS = ("the cat sat on the mat", "a dog ran", "the cats and the dogs sat oddly")
OPTIONS = ("-m", "decomposed", "-m", "weight", "--samples", "50")
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    return zoo.save(model, tmp_path_factory.mktemp("models") / "classifier")


def test_a_table_with_a_verdict(run: Run, classifier: Path) -> None:
    result = run("faithfulness", classifier, *TEXTS, *OPTIONS)
    assert result.exit_code == 0
    assert result.stderr == ""
    expected = ats.faithfulness(
        ats.Model.from_pretrained(classifier), TEXTS, methods=["decomposed", "weight"], samples=50
    )
    for method in ("decomposed", "weight", "random"):
        assert f"{float(expected['aopc'].sel({'method': method})):.3f}" in result.stdout
    assert str(expected.attrs["verdict"])[1:] in " ".join(result.stdout.split())
    assert "over 3 texts" in result.stdout


def test_json_and_files(run: Run, classifier: Path, tmp_path: Path) -> None:
    said = json.loads(run("faithfulness", classifier, *TEXTS, *OPTIONS, "--json", "--percent", "20,50").stdout)
    assert said["coordinates"]["fraction"]["values"] == [0.2, 0.5]
    run("faithfulness", classifier, *TEXTS, *OPTIONS, "--out", tmp_path / "f.nc", "--figure", tmp_path / "f.png")
    assert ats.load(tmp_path / "f.nc").sizes["text"] == 3
    assert (tmp_path / "f.png").stat().st_size > 1000


def test_texts_from_everywhere(run: Run, classifier: Path, tmp_path: Path) -> None:
    expected = run("faithfulness", classifier, *TEXTS, *OPTIONS, "--json").stdout
    lines = "\n\n".join(TEXTS) + "\n"
    (tmp_path / "texts.txt").write_text(lines, encoding="utf-8")
    assert run("faithfulness", classifier, "--file", tmp_path / "texts.txt", *OPTIONS, "--json").stdout == expected
    assert run("faithfulness", classifier, "-", *OPTIONS, "--json", given=lines).stdout == expected
    (tmp_path / "more.txt").write_text(lines + "a dog\n", encoding="utf-8")
    options = ("--limit", "3", *OPTIONS, "--json")
    assert run("faithfulness", classifier, "--file", tmp_path / "more.txt", *options).stdout == expected


def test_labels_give_accuracy(run: Run, classifier: Path, tmp_path: Path) -> None:
    model = ats.Model.from_pretrained(classifier)
    right = [str(ats.attribute(model, text).attrs["target"]) for text in TEXTS]
    rows = [f"{text}\t{label}" for text, label in zip(TEXTS, right, strict=True)]
    (tmp_path / "gold.tsv").write_text("\n".join(["sentence\tlabel", *rows]), encoding="utf-8")
    said = run("faithfulness", classifier, "--labelled", tmp_path / "gold.tsv", *OPTIONS).stdout
    assert "right about 100.0%" in " ".join(said.split())
    found = json.loads(run("faithfulness", classifier, "--labelled", tmp_path / "gold.tsv", *OPTIONS, "--json").stdout)
    np.testing.assert_array_equal(found["measures"]["accuracy"]["values"], found["measures"]["agreement"]["values"])


def test_help_names_every_method(run: Run) -> None:
    assert names.attributions() == sorted(ATTRIBUTIONS)
    for command in ("faithfulness", "attribute"):
        shown = "".join(run(command, "--help").stdout.split())
        assert all(name in shown.replace("│", "") for name in ("decomposed", "rollout_alti", "gradient_x_input"))


def test_mistakes(refused: Callable[..., str], classifier: Path, bert: Path, tmp_path: Path) -> None:
    assert "no text was given" in refused("faithfulness", classifier)
    (tmp_path / "empty.txt").write_text("\n\n")
    assert "has no text" in refused("faithfulness", classifier, "--file", tmp_path / "empty.txt")
    assert "not two of them" in refused("faithfulness", classifier, "a", "--file", tmp_path / "empty.txt")
    assert "did you mean 'decomposed'" in refused("faithfulness", classifier, TEXTS[0], "-m", "decompose")
    said = refused("faithfulness", classifier, TEXTS[0], "-t", "good", "-m", "weight")
    assert "LABEL_0 (0), LABEL_1 (1), LABEL_2 (2)" in said
    (tmp_path / "gold.tsv").write_text("good\tthe cat sat\n")
    assert "LABEL_0" in refused("faithfulness", classifier, "--labelled", tmp_path / "gold.tsv", "-m", "weight")
    (tmp_path / "bad.tsv").write_text("the cat sat\n")
    assert "line 1" in refused("faithfulness", classifier, "--labelled", tmp_path / "bad.tsv")
    assert "can't be read" in refused("faithfulness", classifier, "--labelled", tmp_path / "missing.tsv")
    assert "two tokens" in refused("faithfulness", classifier, "a", "-m", "weight")
    assert "--limit" in refused("faithfulness", classifier, TEXTS[0], "--limit", "0")
    assert "--percent" in refused("faithfulness", classifier, TEXTS[0], "--percent", "ten")
    assert "between 0 and 100" in refused("faithfulness", classifier, TEXTS[0], "--percent", "120", "-m", "weight")
    assert "unknown way" in refused("faithfulness", classifier, TEXTS[0], "--how", "hide", "-m", "weight")
    assert "no head" in refused("faithfulness", bert, TEXTS[0], "-m", "weight")
    assert "ending" in refused("faithfulness", classifier, TEXTS[0], "--figure", tmp_path / "f.gif")
    assert "ending" in refused("faithfulness", classifier, TEXTS[0], "--out", tmp_path / "f.csv")
