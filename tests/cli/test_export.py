from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from attnscope.server import kept
from tests import zoo

TEXT = "the cat sat"
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("single")
    (folder / "index.html").write_text(f"<html>{kept._PLACE}</html>")
    monkeypatch.setattr(kept, "FOLDER", folder)


def test_one_model_and_two(run: Run, bert: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    alone = run("export", bert, TEXT, "-m", "weight", "--out", page)
    assert (alone.exit_code, alone.stdout) == (0, "")
    assert f"written to {page} (" in alone.stderr
    assert '"slot":"b"' not in page.read_text(encoding="utf-8")
    other = zoo.save(zoo.build("bert", seed=1), tmp_path / "other")
    both = run("export", bert, TEXT, "-m", "weight", "--tuned", other, "--out", page, "--overwrite", "-q")
    assert (both.exit_code, both.stderr) == (0, "")
    assert '"slot":"b"' in page.read_text(encoding="utf-8")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["other", "page.html"]


def test_mistakes(refused: Callable[..., str], bert: Path, tmp_path: Path) -> None:
    assert "name it page.html" in refused("export", bert, TEXT, "--out", tmp_path / "page.htm")
    assert "there is no folder" in refused("export", bert, TEXT, "--out", tmp_path / "nowhere" / "page.html")
    (tmp_path / "page.html").write_text("mine")
    assert "is there already" in refused("export", bert, TEXT, "--out", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"
    other = ("--tuned", bert, "--adapter", tmp_path)
    assert "not both" in refused("export", bert, TEXT, *other, "--out", tmp_path / "new.html")
    assert "unknown measure" in refused("export", bert, TEXT, "-m", "wait", "--out", tmp_path / "new.html")
    assert "no text was given" in refused("export", bert, "--out", tmp_path / "new.html")
    assert "the text is empty" in refused("export", bert, " ", "--out", tmp_path / "new.html")
    assert not (tmp_path / "new.html").exists()
