"""A corpus as plain files."""

import pytest

from attnscope.errors import InputError
from attnscope.server import corpus as corpus_module
from attnscope.server.corpus import read_corpus


def test_one_text_a_line_empty_lines_left_out(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\ufeffthe cat\n\n  the dog \r\n猫🙂\u2028not a line of its own", encoding="utf-8")
    found = read_corpus(file, 100)
    assert found.name == "texts.txt"
    assert found.texts == ("the cat", "the dog", "猫🙂\u2028not a line of its own")


def test_all_files_of_a_folder_by_name(tmp_path):
    (tmp_path / "b.txt").write_text("two\nthree")
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "notes.md").write_text("other")
    (tmp_path / "folder.txt").mkdir()
    assert read_corpus(tmp_path, 100).texts == ("one", "two", "three")


def test_the_checksum_is_of_the_texts_in_their_order(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo")
    (tmp_path / "b.txt").write_text("two\none")
    (tmp_path / "c.txt").write_text("one\n\ntwo\n")
    one, other, same = (read_corpus(tmp_path / name, 100).checksum for name in ("a.txt", "b.txt", "c.txt"))
    assert one == same != other


def test_what_is_no_corpus(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "blank.txt").write_text(" \n\n")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "long.txt").write_text("one\n" + "x" * 101)
    for name, said in {
        "missing.txt": "can't be read",
        "empty": "no .txt files",
        "blank.txt": "no text in it",
        "latin.txt": "not UTF-8",
        "long.txt": "line 2 .* 101 characters, 100 are the most",
    }.items():
        with pytest.raises(InputError, match=said):
            read_corpus(tmp_path / name, 100)
    monkeypatch.setattr(corpus_module, "MOST_TEXTS", 2)
    (tmp_path / "many.txt").write_text("one\ntwo\nthree")
    with pytest.raises(InputError, match="3 texts, 2 are the most"):
        read_corpus(tmp_path / "many.txt", 100)
    monkeypatch.setattr(corpus_module, "MOST_BYTES", 5)
    with pytest.raises(InputError, match="MiB"):
        read_corpus(tmp_path / "many.txt", 100)
