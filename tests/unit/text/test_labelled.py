import pytest

from attnscope.errors import InputError
from attnscope.text.labelled import classes_of, lines_of, read_labelled


def written(tmp_path, text: str):
    path = tmp_path / "file.tsv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "1\tgood film\n0\tbad one\n",
        "label\tsentence\n1\tgood film\n0\tbad one",
        "sentence\tLabel\ngood film\t1\nbad one\t0\n",
        "\ufeff1\tgood film\r\n\r\n0\tbad one\r\n",
    ],
)
def test_columns_and_headers(tmp_path, text: str) -> None:
    found = read_labelled(written(tmp_path, text))
    assert found.sentences == ("good film", "bad one")
    assert found.labels == ("1", "0")
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("good film\n", "line 1 of .* has 1 column;"),
        ("1\tgood\n1\tgood\tfilm\n", "line 2 of .* has 3 columns"),
        ("", "no sentences"),
        ("label\tsentence\n", "no sentences"),
    ],
)
def test_mistakes(tmp_path, text: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        read_labelled(written(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        read_labelled(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes(b"1\tcaf\xe9\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_labelled(tmp_path / "latin.tsv")


def test_classes_by_name_and_number() -> None:
    names = {"negative": 0, "positive": 1}
    assert classes_of(["positive", "0", "negative"], names) == [1, 0, 0]
    with pytest.raises(InputError, match=r"no class 'neutral'; its classes: negative \(0\), positive \(1\)"):
        classes_of(["neutral"], names)


def test_lines_end_where_lines_end() -> None:
    assert lines_of("one\r\n\n  \rtwo\x0ctwo\u2028still two \n") == ["one", "two\x0ctwo\u2028still two"]
