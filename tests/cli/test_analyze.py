import json

import numpy as np
import pytest

import attnscope as ats
from attnscope.cli import names
from attnscope.cli.screen import Screen
from attnscope.cli.tables import MOST_ROWS, bar, table, wrapped
from attnscope.measures import MEASURES

TEXT = "The cat, sat on the mat."


def test_the_table_has_a_row_for_each_token_and_the_law(run, bert):
    result = run("analyze", bert, TEXT)
    assert result.exit_code == 0
    assert result.stderr == ""
    rows = [line.split() for line in result.stdout.splitlines() if line[:4].strip().isdigit()]
    assert [row[1] for row in rows] == ["[CLS]", "The", "cat", ",", "sat", "on", "the", "mat", ".", "[SEP]"]
    assert sum(float(row[2].rstrip("%")) for row in rows) == pytest.approx(100, abs=1)
    assert "Law 1 and 2 hold to" in result.stdout
    assert "where a head looks" in result.stdout
    assert "where a head looks" not in run("analyze", bert, TEXT, "--quiet").stdout


def test_shares_are_those_of_the_whole_maps(run, bert):
    model = ats.Model.from_pretrained(bert)
    weight = ats.analyze(model, TEXT, measures="weight")["weight"].mean(("layer", "head", "query")).to_numpy()
    shown = run("analyze", bert, TEXT, "-m", "weight").stdout
    rows = [line.split() for line in shown.splitlines() if line[:4].strip().isdigit()]
    np.testing.assert_allclose([float(row[2].rstrip("%")) / 100 for row in rows], weight, atol=6e-4)


def test_json_is_the_whole_result(run, bert):
    result = run(
        "analyze", bert, TEXT, "--json", "-m", "weight", "-m", "mixing_ratio", "--layers", "2", "--heads", "1,3-4"
    )
    assert result.exit_code == 0
    assert result.stderr == ""
    found = json.loads(result.stdout)
    weight = found["measures"]["weight"]
    assert weight["dims"] == ["layer", "head", "query", "key"]
    assert found["coordinates"]["layer"]["values"] == [2]
    assert found["coordinates"]["head"]["values"] == [1, 3, 4]
    assert found["coordinates"]["key_token"]["values"][0] == "[CLS]"
    assert found["attributes"]["reconstruction_error"] < 1e-5
    expected = ats.analyze(ats.Model.from_pretrained(bert), TEXT, measures="weight", layers=[2], heads=[1, 3, 4])
    np.testing.assert_allclose(
        np.array(weight["values"], np.float32), expected["weight"].to_numpy(), rtol=1e-5, atol=1e-7
    )
    assert np.array(weight["values"]).shape == expected["weight"].shape


@pytest.mark.parametrize("reduce", ["keys", "queries", "categories", "topk"])
@pytest.mark.parametrize("unit", ["token", "word"])
def test_reductions_have_tables(run, bert, reduce, unit):
    result = run("analyze", bert, TEXT, "--reduce", reduce, "--unit", unit)
    if (reduce, unit) == ("topk", "word"):
        assert result.exit_code == 2
        return
    assert result.exit_code == 0
    assert "[CLS]" in result.stdout
    assert json.loads(run("analyze", bert, TEXT, "--reduce", reduce, "--unit", unit, "--json").stdout)


def test_categories_add_up(run, bert):
    shown = run("analyze", bert, TEXT, "--reduce", "categories", "-m", "weight").stdout
    mean = next(line for line in shown.splitlines() if line.split()[:1] == ["mean"])
    assert sum(float(cell.rstrip("%")) for cell in mean.split()[1:]) == pytest.approx(100, abs=0.3)


def test_words_and_pairs_and_cross_attention(run, bert, bart):
    assert "singing" in run("analyze", bert, "singing cats", "--unit", "word").stdout
    assert run("analyze", bert, "the cat", "--pair", "a dog").stdout.count("[SEP]") == 2
    shown = run("analyze", bart, "the cat", "--pair", "a dog sat")
    assert "cross attention" in " ".join(shown.stdout.split())  # wherever the path of the model breaks the line
    assert "dog" not in shown.stdout
    options = ("--unit", "word", "--stack", "decoder")
    assert "dog" in run("analyze", bart, "the cat", "--pair", "a dog sat", *options).stdout
    assert "key 1" in run("analyze", bart, "the cat", "--pair", "a dog sat", "--reduce", "topk").stdout


def test_many_tokens_show_the_largest_and_say_so(run, bert):
    shown = run("analyze", bert, "the cat sat " * 18).stdout
    assert f"These {MOST_ROWS} of 56 tokens" in shown
    assert len([line for line in shown.splitlines() if line[:4].strip().isdigit()]) == MOST_ROWS


@pytest.mark.parametrize("options", [(), ("--reduce", "topk"), ("--reduce", "keys"), ("--reduce", "categories")])
@pytest.mark.parametrize("text", ["the cat " * 60, "the cat sat on it. " * 20])
def test_windows(run, bert, options, text):
    assert run("analyze", bert, text, "--stride", "30", *options).exit_code == 0


def test_text_from_standard_input_and_from_a_file(run, bert, tmp_path):
    expected = run("analyze", bert, TEXT).stdout
    (tmp_path / "text.txt").write_text(TEXT + "\n", encoding="utf-8")
    assert run("analyze", bert, "-", given=TEXT + "\n").stdout == expected
    assert run("analyze", bert, "--file", tmp_path / "text.txt").stdout == expected
    assert "@" in run("analyze", bert, "@mat").stdout


def test_results_go_to_files(run, bert, tmp_path):
    for name in ("result.zarr", "result.nc"):
        result = run("analyze", bert, TEXT, "--out", tmp_path / name)
        assert result.exit_code == 0
        assert name in result.stderr
        assert ats.load(tmp_path / name)["weight"].dims == ("layer", "head", "query", "key")
    assert run("analyze", bert, TEXT, "--out", tmp_path / "result.nc", "--overwrite").exit_code == 0
    assert not list(tmp_path.glob(".*"))


def test_figures(run, bert, tmp_path):
    for options in (
        ("--layers", "2"),
        ("-m", "weight", "--heads", "1"),
        ("--unit", "word"),
        ("--reduce", "categories"),
    ):
        path = tmp_path / f"{options[-1]}.svg"
        assert "drawn into" in run("analyze", bert, TEXT, *options, "--figure", path).stderr
        assert path.stat().st_size > 1000


def test_a_narrow_screen_cuts_off_words_and_no_numbers(monkeypatch, capsys):
    made = table("a title that is longer than all that stands below it", ["word", "number", "words"])
    wrapped(made)
    made.add_row("w" * 50, "0.123456789", "many words one after another")
    monkeypatch.setattr("attnscope.cli.screen._NARROW", 30)
    monkeypatch.setenv("COLUMNS", "30")
    Screen().show(made, table("nothing", ["word"]))
    said = capsys.readouterr().out
    assert "0.123456789" in said
    assert "w" * 39 + "…" in said
    assert "another" in said
    assert "nothing" not in said


def test_control_codes_and_markup_of_a_text_stay_text(run, bert):
    shown = run("analyze", bert, "the \x1b[31mcat [bold]sat[/bold]")
    assert shown.exit_code == 0
    assert "\x1b" not in shown.stdout


def test_help_names_every_measure(run):
    assert names.measures() == sorted(MEASURES)
    assert names.maps() == sorted(name for name, measure in MEASURES.items() if measure.is_map)
    shown = run("analyze", "--help").stdout
    assert all(name in shown for name in MEASURES)


def test_bars():
    assert [bar(share).rstrip() for share in (0.0, 0.5, 1.0, 2.0, float("nan"))] == [
        "",
        "█" * 7,
        "█" * 14,
        "█" * 14,
        "",
    ]
    assert bar(0.51).rstrip() == "█" * 7 + "▏"
