"""`attnscope compare`: what it says, what it writes, and what it refuses."""

import copy
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from typer.testing import Result

import attnscope as ats
from attnscope.analyses import demo
from tests import zoo

Run = Callable[..., Result]
TEXTS = ["the cat sat on the mat.", "a dog and 2 cats, sitting", "it was not good", "the movie is bad, bad"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two models: in the second, what comes after layer 1's attention was trained on."""
    folder = tmp_path_factory.mktemp("pair")
    base = zoo.build("bert")
    tuned = copy.deepcopy(base)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in tuned.named_parameters():
            if "layer.1.attention" in name:
                parameter.add_(0.4 * torch.randn(parameter.shape, generator=generator))
    return zoo.save(base, folder / "base"), zoo.save(tuned, folder / "tuned")


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter on the same base."""
    folder = tmp_path_factory.mktemp("adapters") / "lora"
    torch.manual_seed(0)
    wrapped = get_peft_model(zoo.build("bert"), LoraConfig(target_modules=["query", "value"], init_lora_weights=False))
    wrapped.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def classifiers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("classifiers")
    models = [zoo.build_head("bert", "AutoModelForSequenceClassification", seed=seed) for seed in (0, 1)]
    return zoo.save(models[0], folder / "one"), zoo.save(models[1], folder / "other")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(TEXTS * 2) + "\n", encoding="utf-8")
    return path


def test_what_is_frozen_and_what_changed(run: Run, pair: tuple[Path, Path], texts: Path) -> None:
    said = " ".join(run("compare", *pair, texts, "--noise", "int8").stdout.split())  # sentences are broken into lines
    assert "base → tuned: weight, 8 texts" in said
    assert "Layer 1 did not change at all. Layer 2 moved most" in said
    assert "× noise" in said
    assert "4 of 8 heads changed more than it (false discovery rate 0.05): 2-1, 2-2, 2-3, 2-4." in said
    assert "heads that moved most" in said
    assert "false discovery rate" in said
    assert "No noise floor was measured" in run("compare", *pair, "--file", texts).stdout


def test_a_model_and_itself(run: Run, pair: tuple[Path, Path]) -> None:
    said = run("compare", pair[0], pair[0], "the cat sat").stdout
    assert "Nothing changed" in said
    assert "One text does not tell a change from chance." in run("compare", *pair, "the cat sat").stdout


def test_without_texts_there_are_some(run: Run, pair: tuple[Path, Path]) -> None:
    said = run("compare", pair[0], pair[1], "the cat", "a dog").stdout
    assert "2 texts" in said
    assert "2 texts" in run("compare", *pair, "-", given="the cat\n\na dog\n").stdout


def test_a_file_has_a_text_in_each_line(run: Run, pair: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes("\ufeffthe cat\u2028sat\r\n \r\na dog\r\n".encode())
    assert "weight, 2 texts" in run("compare", *pair, path).stdout


def test_names_of_files_are_not_compared_on(
    refused: Callable[..., str], pair: tuple[Path, Path], texts: Path, tmp_path: Path
) -> None:
    assert "is a folder" in refused("compare", *pair, tmp_path)
    assert "there is no file missing.txt" in refused("compare", *pair, "missing.txt")
    assert "give it alone" in refused("compare", *pair, texts, "the cat")


def test_json_is_that_of_the_library(run: Run, pair: tuple[Path, Path], texts: Path) -> None:
    said = json.loads(run("compare", *pair, texts, "-m", "block_norm", "--json").stdout)
    models = [ats.Model.from_pretrained(path) for path in pair]
    expected = ats.compare(models[0], models[1], TEXTS * 2, measure="block_norm")
    assert said["classes"] is None
    assert said["comparison"]["measures"]["jensen_shannon"]["values"] == pytest.approx(
        expected["jensen_shannon"].to_numpy().tolist(), rel=1e-6
    )
    assert said["comparison"]["attributes"]["layer_match"] == "number"


def test_an_adapter_is_compared_with_its_base(run: Run, pair: tuple[Path, Path], adapter: Path, texts: Path) -> None:
    one = run("compare", pair[0], "--adapter", adapter, "-f", texts).stdout
    other = run("compare", pair[0], adapter, texts).stdout
    assert "lora" in one
    assert one == other == run("compare", pair[0], pair[0], texts, "--adapter", adapter).stdout
    assert "1 text" in run("compare", pair[0], "the cat sat", "--adapter", adapter).stdout


def test_files_and_a_figure(run: Run, classifiers: tuple[Path, Path], tmp_path: Path) -> None:
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("sentence\tlabel\nthe cat sat\t0\na good movie\t1\nbad bad movie\tLABEL_2\n", encoding="utf-8")
    out, figure = tmp_path / "found.nc", tmp_path / "found.svg"
    options = ("--labelled", labelled, "--out", out, "--figure", figure)
    result = run("compare", *classifiers, *options)
    assert "Correct of 3 sentences: base" in result.stdout
    assert result.stderr.count("written to ") == 2
    assert f"drawn into {figure}" in result.stderr
    assert ats.load(out).attrs["texts"] == 3
    assert ats.load(tmp_path / "found-classes.nc").attrs["sentences"] == 3
    assert figure.read_text(encoding="utf-8").startswith("<?xml")
    assert json.loads(run("compare", *classifiers, "--labelled", labelled, "--json").stdout)["classes"] is not None


def test_the_class_view_of_the_second_alone(
    run: Run, pair: tuple[Path, Path], classifiers: tuple[Path, Path], tmp_path: Path
) -> None:
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("0\tthe cat sat\n1\ta good movie\n", encoding="utf-8")
    said = run("compare", pair[0], classifiers[1], "the cat", "--labelled", labelled).stdout
    assert "The base has no such classes, so this is other alone." in said
    assert "1 text\n" in said


def test_models_that_differ_in_shape_are_matched(run: Run, pair: tuple[Path, Path], tmp_path: Path) -> None:
    albert = zoo.save(zoo.build("albert"), tmp_path / "albert")
    said = " ".join(run("compare", pair[0], albert, *TEXTS[:2]).stdout.split())
    assert "The models differ in depth or heads: layers were matched by kernel alignment over 2 texts" in said
    assert "tuned layer" in said
    roberta = zoo.save(zoo.build("roberta"), tmp_path / "roberta")
    assert "compared by words" in run("compare", pair[0], roberta, "the cat sat").stdout


def test_mistakes(refused: Callable[..., str], pair: tuple[Path, Path], texts: Path, tmp_path: Path) -> None:
    base, tuned = pair
    assert "name a second one" in refused("compare", base)
    assert "not both" in refused("compare", base, tuned, "the cat", "--file", texts)
    assert "no folder at" in refused("compare", base, tmp_path / "nowhere", "the cat")
    assert "from 0 to 1" in refused("compare", base, tuned, "the cat", "--threshold", "2")
    assert "from 100" in refused("compare", base, tuned, "the cat", "--draws", "5")
    assert "unknown map" in refused("compare", base, tuned, "the cat", "-m", "wieght")
    assert "unknown unit" in refused("compare", base, tuned, "the cat", "--unit", "letter")
    assert "--pair belongs to one text" in refused("compare", base, tuned, "a", "b", "--pair", "c")
    assert "ending" in refused("compare", base, tuned, "the cat", "--figure", tmp_path / "a.txt")
    assert "ending" in refused("compare", base, tuned, "the cat", "--out", tmp_path / "a.txt")
    assert "can't be read" in refused("compare", base, tuned, "--file", tmp_path / "none.txt")
    (tmp_path / "blank.txt").write_text("\n \n")
    assert "there is no text in" in refused("compare", base, tuned, tmp_path / "blank.txt")
    assert "text 2: the text is empty" in refused("compare", base, tuned, "the cat", " ")
    assert "no folder at" in refused("compare", base, tuned, "the cat", "--noise", tmp_path / "nowhere")


def test_labels_that_can_not_be(
    refused: Callable[..., str], pair: tuple[Path, Path], classifiers: tuple[Path, Path], tmp_path: Path
) -> None:
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("1\tthe cat\n1\ta dog\n", encoding="utf-8")
    assert "all 2 sentences have the label LABEL_1" in refused("compare", *classifiers, "--labelled", labelled)
    assert "no head that puts texts into classes" in refused("compare", *pair, "--labelled", labelled)
    labelled.write_text("7\tthe cat\n1\ta dog\n", encoding="utf-8")
    assert "no class '7'" in refused("compare", *classifiers, "--labelled", labelled)


def test_an_adapter_of_another_base_names_both(refused: Callable[..., str], adapter: Path, tmp_path: Path) -> None:
    said = refused("compare", zoo.save(zoo.build("gpt2"), tmp_path / "gpt2"), "--adapter", adapter, "the cat")
    assert "lora" in said
    assert "gpt2" in said


@pytest.mark.skipif(find_spec(demo.PACKAGE) is None, reason="the demo's wheel is not installed")
def test_the_demo_pair(run: Run) -> None:
    result = run("compare", demo.demo_path(), "--adapter", demo.ADAPTER, "A dull film.", "Not bad at all, this film.")
    assert "Layers 4–6 moved most" in result.stdout or "Layers 5–6 moved most" in result.stdout
    assert result.exit_code == 0
