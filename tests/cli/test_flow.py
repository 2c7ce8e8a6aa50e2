import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import attnscope as ats
from attnscope.artifacts import Flow
from attnscope.cli.flow import METHODS
from tests import zoo

TEXT = "the cat sat on the mat"
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    return zoo.save(model, tmp_path_factory.mktemp("models") / "classifier")


def test_the_graph_as_tables(run: Run, bert: Path) -> None:
    result = run("flow", bert, TEXT, "-m", "weight", "--threshold", "0.2", "--heads", "2,4", "--top", "3")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "what [CLS] draws on" in result.stdout
    traced = ats.flow(ats.Model.from_pretrained(bert), TEXT, measure="weight", threshold=0.2, heads=[2, 4], top=3)
    assert f"over {len(traced.edges)} edges of at least 20% of a row" in " ".join(result.stdout.split())


def test_the_graph_as_json_is_the_artifact(run: Run, bert: Path, tmp_path: Path) -> None:
    options = ("--target", "sat", "--reading", "cumulative", "--by", "value", "--layers", "2")
    said = run("flow", bert, TEXT, *options, "--json").stdout
    model = ats.Model.from_pretrained(bert)
    expected = ats.flow(model, TEXT, target="sat", reading="cumulative", by="value", layers=[2])
    assert Flow.model_validate_json(said) == expected
    run("flow", bert, TEXT, *options, "--out", tmp_path / "graph.json", "-q")
    assert Flow.model_validate_json((tmp_path / "graph.json").read_text(encoding="utf-8")) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["graph.json"]


def test_a_class_is_traced(run: Run, classifier: Path) -> None:
    assert "what LABEL_1 draws on" in run("flow", classifier, TEXT, "-t", "logit:LABEL_1").stdout


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_token_layer_by_layer(run: Run, bert: Path, tmp_path: Path, method: str) -> None:
    said = run("flow", bert, TEXT, "--method", method, "--target", "sat").stdout
    assert f"where sat comes from, by {method}" in said
    assert all(word in said for word in ("layer 1", "layer 2", "mat"))
    found = json.loads(run("flow", bert, TEXT, "--method", method, "--json").stdout)
    assert found["measures"]["share"]["dims"] == ["layer", "source"]
    run("flow", bert, TEXT, "--method", method, "--out", tmp_path / "trail.zarr")
    assert ats.load(tmp_path / "trail.zarr").attrs["method"] == method


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures(run: Run, refused: Callable[..., str], bert: Path, tmp_path: Path, method: str, ending: str) -> None:
    path = tmp_path / f"flow.{ending}"
    assert "drawn into" in run("flow", bert, TEXT, "--method", method, "--figure", path).stderr
    drawn = path.read_bytes()
    assert len(drawn) > 1000
    assert "there already" in refused("flow", bert, "a dog", "--method", method, "--figure", path)
    assert path.read_bytes() == drawn
    assert run("flow", bert, "a dog", "--method", method, "--figure", path, "--overwrite").exit_code == 0
    assert path.read_bytes() != drawn


def test_mistakes(refused: Callable[..., str], bert: Path, classifier: Path, tmp_path: Path) -> None:
    assert "did you mean 'rollout'" in refused("flow", bert, TEXT, "--method", "rolout")
    assert "--threshold is for --method traced" in refused(
        "flow", bert, TEXT, "--method", "rollout", "--threshold", "1"
    )
    assert "--measure" in refused("flow", bert, TEXT, "--method", "decomposed", "-m", "weight")
    assert "known: LABEL_0 (0), LABEL_1 (1), LABEL_2 (2)" in refused("flow", classifier, TEXT, "-t", "logit:good")
    assert "no head" in refused("flow", bert, TEXT, "-t", "logit:good")
    assert "unknown target 'dog'" in refused("flow", bert, TEXT, "-t", "dog")
    assert "unknown reading" in refused("flow", bert, TEXT, "--reading", "straight")
    assert "unknown scale" in refused("flow", bert, TEXT, "--by", "weight")
    assert "unknown unit" in refused("flow", bert, TEXT, "--unit", "letter")
    assert "unknown map" in refused("flow", bert, TEXT, "-m", "value_norm")
    assert "from 0 to 1" in refused("flow", bert, TEXT, "--threshold", "2")
    assert ".json" in refused("flow", bert, TEXT, "--out", tmp_path / "graph.zarr")
    assert ".zarr" in refused("flow", bert, TEXT, "--method", "rollout", "--out", tmp_path / "graph.json")
    assert "no folder" in refused("flow", bert, TEXT, "--out", tmp_path / "missing" / "graph.json")
    (tmp_path / "folder.json").mkdir()
    assert "is a folder" in refused("flow", bert, TEXT, "--out", tmp_path / "folder.json")
    (tmp_path / "there.json").write_text("mine")
    assert "there already" in refused("flow", bert, TEXT, "--out", tmp_path / "there.json")
    assert (tmp_path / "there.json").read_text() == "mine"
