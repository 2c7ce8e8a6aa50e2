"""The wheel has what the package needs at run time, also what git does not keep."""

import shutil
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


def test_the_wheel_has_the_page_and_the_demos_adapter(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("static", "single", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tree / name)
    page = tree / "src" / "attnscope" / "server" / "static"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("the page")
    (page / "assets" / "index-abc.js").write_text("1")
    single = page.with_name("single")
    single.mkdir()
    (single / "index.html").write_text("the page as one file")
    (built,) = WheelBuilder(str(tree)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        names = set(wheel.namelist())
    assert {
        "attnscope/server/static/index.html",
        "attnscope/server/static/assets/index-abc.js",
        "attnscope/server/single/index.html",
        "attnscope/assets/minilm-sst2/adapter_model.safetensors",
        "attnscope/py.typed",
        "attnscope/cli/serve.py",
    } <= names
    assert all(name.startswith(("attnscope/", "attnscope-")) for name in names)
    assert not any("__pycache__" in name for name in names)
