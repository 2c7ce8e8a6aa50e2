"""What the pages say to type works: every command and every piece of Python, on tiny models."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from typer.testing import CliRunner

import attnscope as ats
from attnscope.cli.app import app
from tests import zoo

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = "the cat sat on the mat.\na dog and 2 cats, sitting\nit was not good\nthe movie is bad, bad\n"
SERVING = "serving.md"
"""Its commands and its Python need a server: tests/cli/test_serve.py."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands() -> Iterator[Any]:
    """Every command line of the pages, but for those that need the demo's wheel or the built page."""
    for page in PAGES:
        for line in "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["attnscope"] and words[1] not in {"demo", "export", "serve"}:
                yield pytest.param(words[1:], id=f"{page.name}: {' '.join(words)}")


def snippets() -> Iterator[Any]:
    for page in PAGES:
        if page.name != SERVING and (found := blocks(page, "python")):
            yield pytest.param("\n".join(found), id=page.name)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that the pages name."""
    folder = tmp_path_factory.mktemp("pages")
    classifiers = [zoo.build_head("bert", "AutoModelForSequenceClassification", seed=seed) for seed in (0, 1)]
    for name in ("MODEL", "BASE", "sst2", "path-or-hub-id"):
        zoo.save(classifiers[0], folder / name)
    zoo.save(classifiers[1], folder / "TUNED")
    torch.manual_seed(0)
    get_peft_model(classifiers[0], LoraConfig(target_modules=["query", "value"])).save_pretrained(folder / "FOLDER")
    (folder / "text.txt").write_text(TEXTS.replace("\n", " "), encoding="utf-8")
    (folder / "texts.txt").write_text(TEXTS, encoding="utf-8")
    labelled = "".join(f"{number % 3}\t{text}\n" for number, text in enumerate(TEXTS.splitlines() * 2))
    for name in ("dev.tsv", "sst2.tsv"):
        (folder / name).write_text(labelled, encoding="utf-8")
    return folder


@pytest.fixture
def there(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with all that, and room for what is written."""
    for path in models.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", list(commands()))
def test_commands_run(words: list[str], there: Path) -> None:
    arguments, _, source = " ".join(map(shlex.quote, words)).partition(" '<' ")
    given = (there / source).read_text(encoding="utf-8") if source else None
    result = CliRunner().invoke(app, shlex.split(arguments), input=given)
    assert result.exit_code == 0, result.stderr
    written = re.findall(r"--(?:out|figure) (\S+)", arguments)
    assert result.stdout
    assert all((there / name).exists() for name in written)


@pytest.mark.parametrize("code", list(snippets()))
def test_python_runs(code: str, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, tuned = (ats.Model.from_pretrained(there / name) for name in ("BASE", "TUNED"))
    monkeypatch.setattr(ats, "demo_models", lambda: (base, tuned), raising=False)
    texts = TEXTS.splitlines()
    names: dict[str, Any] = {
        "ats": ats,
        "model": tuned,
        "texts": texts,
        "labelled": list(zip("0120", texts, strict=True)),
    }
    names["translator"] = ats.Model(zoo.build_head("bart", "AutoModelForSeq2SeqLM"), zoo.tokenizer("roberta"))
    exec(code.replace('"negative"', '"LABEL_0"'), names)


def test_options_that_pages_name_are_there() -> None:
    known = {"--help", "--version"}
    for command in app.registered_commands:
        assert command.callback is not None
        shown = CliRunner().invoke(app, [command.callback.__name__, "--help"]).stdout
        known |= set(re.findall(r"--[a-z][a-z-]+", shown))
    for page in (page for page in PAGES if page.name != "web.md"):
        named = set(re.findall(r"`(--[a-z][a-z-]+)|`attnscope[^`]* (--[a-z][a-z-]+)", page.read_text(encoding="utf-8")))
        assert {one or other for one, other in named} <= known, page.name
