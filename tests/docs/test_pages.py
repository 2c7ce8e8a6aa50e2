"""The generated pages are those that would be generated now, and the pages by hand name what there is."""

import re
from pathlib import Path

import attnscope
from attnscope.analyses.trail import TRAILS
from attnscope.analyses.views import VIEWS
from attnscope.cli.app import app
from attnscope.measures import MEASURES
from tools import attributions, measures

ROOT = Path(__file__).parents[2]


def test_the_page_of_measures_is_up_to_date() -> None:
    assert (ROOT / "docs" / "measures.md").read_text(encoding="utf-8") == measures.page()


def test_the_page_of_attribution_is_up_to_date() -> None:
    assert (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8") == attributions.page()


def test_every_way_through_the_model_has_a_section() -> None:
    page = (ROOT / "docs" / "flow.md").read_text(encoding="utf-8")
    assert [name for name in (*TRAILS, "traced") if f"## `{name}`" not in page] == []


def test_readme_shows_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    names = [command.callback.__name__ for command in app.registered_commands if command.callback is not None]
    assert [name for name in names if f"attnscope {name}" not in readme] == []


def test_readme_names_every_measure() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in MEASURES if f"`{name}`" not in readme] == []


def test_every_public_name_is_there_and_has_a_place_in_the_pages() -> None:
    assert all(getattr(attnscope, name) is not None for name in attnscope.__all__)
    pages = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    assert [name for name in attnscope.__all__ if not re.search(rf"(ats|attnscope)\.{name}\b", pages)] == []


def test_every_view_has_a_line() -> None:
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    assert [name for name in VIEWS if f"| `{name}` |" not in page] == []


def test_decisions_are_named_as_their_list_says() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    pages = sorted(page for page in folder.glob("*.md") if page.name != "README.md")
    for number, page in enumerate(pages, start=1):
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix(f"# {number}. ")
        assert page.name.startswith(f"{number:04}-")
        assert f"{number}. [{title}]({page.name})" in listed


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"
