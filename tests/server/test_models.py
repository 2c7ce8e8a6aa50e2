"""Models in memory: loaded when needed, given up for room, and known by what they are."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import attnscope as ats
from attnscope.errors import InputError
from attnscope.models.fingerprint import fingerprint
from attnscope.server.models import Models, room
from tests import zoo
from tests.server.conftest import tiny

SIZE = sum(parameter.nbytes for parameter in tiny().hf_model.parameters())


class Counted:
    """Loads a model, and counts it."""

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.count = seed, 0

    def __call__(self) -> ats.Model:
        self.count += 1
        return tiny(self.seed)


def test_nothing_is_loaded_before_it_is_needed_and_only_once():
    a, b = Counted(), Counted(1)
    models = Models({"a": a, "b": b})
    assert models.memory() == {}
    with models.lease() as found:
        assert list(found) == ["a", "b"]
        assert "b" in found
        assert len(found) == 2
        assert found["a"] is found["a"]
    assert (a.count, b.count) == (1, 0)
    assert models.identity("b")
    with models.in_use("a"), models.in_use("b"):
        pass
    assert (a.count, b.count) == (1, 1)
    assert models.memory() == {"a": SIZE, "b": SIZE}


def test_a_slot_without_a_model():
    models = Models({"a": Counted()})
    with models.lease() as found:
        assert "b" not in found
        with pytest.raises(InputError, match="attnscope serve BASE TUNED"):
            found["b"]


def test_the_longest_unused_is_given_up_for_room():
    a, b, c = Counted(), Counted(1), Counted(2)
    models = Models({"a": a, "b": b, "c": c}, most_bytes=2 * SIZE)
    for slot in "abac":
        with models.in_use(slot):
            pass
    assert set(models.memory()) == {"a", "c"}
    with models.in_use("b"):
        pass
    assert set(models.memory()) == {"b", "c"}
    assert (a.count, b.count, c.count) == (1, 2, 1)
    assert models.identity("a") == models.identity("a")
    assert a.count == 1  # what it is stays known


def test_room_is_made_before_a_model_is_loaded():
    seen: list[dict[str, int]] = []
    models = Models({"a": tiny, "b": lambda: seen.append(models.memory()) or tiny(1)}, most_bytes=SIZE)
    for slot in "ab":
        with models.in_use(slot):
            pass
    assert seen == [{}]


def test_what_is_in_use_stays():
    models = Models({"a": Counted(), "b": Counted(1)}, most_bytes=SIZE)
    with models.in_use("a") as first:
        with models.in_use("b"):
            assert set(models.memory()) == {"a", "b"}
        assert set(models.memory()) == {"a"}
        with models.in_use("a") as again:
            assert again is first
    with models.in_use("b"):
        assert set(models.memory()) == {"b"}


def test_many_threads_load_a_model_once():
    slow, barrier = Counted(), threading.Barrier(8)
    models = Models({"a": slow})

    def use() -> None:
        barrier.wait()
        with models.in_use("a"):
            pass

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slow.count == 1
    assert models._slots["a"].users == 0


def test_a_model_that_can_not_be_loaded_says_so_each_time():
    def broken() -> ats.Model:
        raise InputError("no folder at x")

    models = Models({"a": broken})
    for _ in range(2):
        with pytest.raises(InputError, match="no folder"), models.in_use("a"):
            pass
    assert models._slots["a"].users == 0


def test_a_model_whose_files_were_changed_is_not_taken_for_what_it_was(saved, tmp_path, caplog):
    models = Models({"a": lambda: ats.Model.from_pretrained(saved), "b": tiny}, most_bytes=SIZE)
    before = models.identity("a")
    with models.in_use("b"):
        pass
    zoo.save(zoo.build_head("bert", "AutoModelForSequenceClassification", seed=5), saved)
    for _ in range(2):
        with pytest.raises(InputError, match="were changed since the server was started"), models.in_use("a"):
            pass
    saved.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="start the server again") as refused, models.in_use("a"):
        pass
    assert str(tmp_path) not in str(refused.value)
    assert str(tmp_path) in caplog.text
    assert models.identity("a") == before


def test_a_model_in_memory_stays_what_it_is_whatever_becomes_of_its_files(saved):
    models = Models({"a": lambda: ats.Model.from_pretrained(saved)})
    with models.in_use("a") as model:
        weights = saved / "model.safetensors"
        with weights.open("r+b") as file:  # where it lies, as those who save do it
            file.seek(weights.stat().st_size // 2)
            file.write(bytes(weights.stat().st_size // 2))
        assert fingerprint(model) == models.identity("a")[1]


def test_a_model_is_called_by_the_end_of_its_path(saved, monkeypatch):
    monkeypatch.chdir(saved)
    for place in (saved, ".", "../one"):
        models = Models({"a": lambda place=place: ats.Model.from_pretrained(place)})
        with models.in_use("a") as model:
            assert models.identity("a")[0] == model.name == f"{saved.parent.name}/one"
    assert Models({"a": lambda: tiny(name="org/model")}).identity("a")[0] == "org/model"


def test_room_is_a_part_of_the_memory():
    found = room()
    assert found is None or found > 1 << 28


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return zoo.save(zoo.build_head("bert", "AutoModelForSequenceClassification"), tmp_path / "one")


def test_a_model_is_known_wherever_it_is_loaded_from(saved, tmp_path):
    one = ats.Model.from_pretrained(saved)
    before = fingerprint(one)
    ats.analyze(one, "the cat")
    assert fingerprint(one) == before
    assert fingerprint(ats.Model.from_pretrained(saved.rename(tmp_path / "other"))) == before
    assert len(before) == 64


def change_weight(model: ats.Model) -> None:
    with torch.no_grad():
        model.hf_model.bert.encoder.layer[1].output.dense.weight[0, 0] += 1e-6


def change_setting(model: ats.Model) -> None:
    model.hf_model.config.layer_norm_eps *= 2


def change_class(model: ats.Model) -> None:
    model.hf_model.config.id2label = {0: "no", 1: "yes", 2: "perhaps"}


def change_precision(model: ats.Model) -> None:
    model.hf_model.to(torch.bfloat16)


def change_tokenizer(model: ats.Model) -> None:
    model.tokenizer.add_tokens(["catlike"])


def forget_tokenizer(model: ats.Model) -> None:
    model.tokenizer = None


@pytest.mark.parametrize(
    "change", [change_weight, change_setting, change_class, change_precision, change_tokenizer, forget_tokenizer]
)
def test_a_model_that_differs_is_another(change: Callable[[ats.Model], None]):
    model, other = tiny(), tiny()
    assert fingerprint(model) == fingerprint(other)
    change(other)
    assert fingerprint(model) != fingerprint(other)
