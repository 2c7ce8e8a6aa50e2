"""Loading: what can be wrong with a model's files, each said in one sentence."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import BertModel

import attnscope as ats
from attnscope.errors import AttnscopeError, InputError, UnsupportedModel
from tests import zoo


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return zoo.save(zoo.build("bert"), tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_weights(folder: Path, change: Any) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, metadata={"format": "pt"})


def refusal(kind: type[AttnscopeError], *args: Any, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        ats.Model.from_pretrained(*args, **options)
    sentence = str(caught.value)
    assert sentence.strip()
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    assert len(sentence) < 500
    return sentence


@pytest.mark.parametrize("name", ["bert", "llama", "bart", "vit"])
def test_what_was_saved_comes_back(name: str, tmp_path: Path) -> None:
    hf_model = zoo.build(name)
    model = ats.Model.from_pretrained(zoo.save(hf_model, tmp_path / name), device="cpu")
    assert model.hf_model.dtype == torch.float32
    assert not model.hf_model.training
    assert (model.tokenizer is None) == (zoo.SPECS[name].tokenizer is None)
    before = hf_model.state_dict()
    assert all(torch.equal(before[key], value) for key, value in model.hf_model.state_dict().items())
    model.verify()


def test_a_task_head_comes_along(tmp_path: Path) -> None:
    hf_model = zoo.build_head("bert", "AutoModelForSequenceClassification")
    model = ats.Model.from_pretrained(zoo.save(hf_model, tmp_path / "head"))
    assert type(model.hf_model) is type(hf_model)
    assert ats.analyze(model, "the cat sat").attrs["architecture"] == "BertForSequenceClassification"


@pytest.mark.parametrize("dtype", ["bfloat16", torch.bfloat16])
def test_dtype_by_name_and_by_value(saved: Path, dtype: Any) -> None:
    assert ats.Model.from_pretrained(saved, dtype=dtype).hf_model.dtype == torch.bfloat16


def test_missing_path(tmp_path: Path) -> None:
    assert str(tmp_path / "nowhere") in refusal(InputError, tmp_path / "nowhere")


def test_a_name_that_is_neither_folder_nor_on_the_hub() -> None:
    assert "no-such-user/no-such-model" in refusal(InputError, "no-such-user/no-such-model")


def test_folder_without_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    assert "config.json" in refusal(InputError, folder)


def test_folder_with_a_broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{not json")
    assert str(folder) in refusal(InputError, folder)


def test_folder_without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert "no weights" in refusal(InputError, folder)


def test_a_file_in_place_of_a_folder(folder: Path) -> None:
    assert "is a file" in refusal(InputError, folder / "config.json")


def test_pickled_weights_only_if_allowed(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert "allow_pickle=True" in refusal(InputError, folder)
    model = ats.Model.from_pretrained(folder, allow_pickle=True)
    assert all(torch.equal(value, weights[key]) for key, value in model.hf_model.state_dict().items() if key in weights)


def test_safetensors_are_taken_even_where_pickles_are_allowed(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"no pickle at all")
    ats.Model.from_pretrained(folder, allow_pickle=True).verify()


def test_unknown_architecture(folder: Path) -> None:
    change_config(folder, model_type="perceptron9000", architectures=["Perceptron9000"])
    assert "perceptron9000" in refusal(AttnscopeError, folder)


def test_code_that_comes_with_a_model_is_never_run(folder: Path) -> None:
    (folder / "trap.py").write_text("raise SystemExit('ran foreign code')")
    change_config(folder, model_type="trap", auto_map={"AutoConfig": "trap.TrapConfig", "AutoModel": "trap.TrapModel"})
    assert "its own code" in refusal(AttnscopeError, folder)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(folder: Path, bad: float) -> None:
    name = "encoder.layer.1.attention.self.value.weight"

    def spoil(weights: dict[str, torch.Tensor]) -> None:
        weights[name][3, 2] = bad

    change_weights(folder, spoil)
    assert name in refusal(InputError, folder)


def test_missing_weights(folder: Path) -> None:
    name = "encoder.layer.1.attention.output.dense.bias"
    change_weights(folder, lambda weights: weights.pop(name))
    sentence = refusal(InputError, folder)
    assert name in sentence
    assert "random" in sentence


def test_weights_of_another_shape(folder: Path) -> None:
    change_config(folder, intermediate_size=40)
    assert str(folder) in refusal(InputError, folder)


def test_a_cut_off_file(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000])
    assert str(folder) in refusal(InputError, folder)


def test_weights_of_another_shape_are_named_with_both(folder: Path) -> None:
    change_config(folder, vocab_size=99)
    assert "embeddings.word_embeddings.weight (128×32, but 99×32 by its config.json)" in refusal(InputError, folder)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"hidden_size": "big"}, "expected int, got str"),
        ({"hidden_act": "zork"}, "nothing is known by the name 'zork'"),
    ],
)
def test_what_a_configuration_says_wrongly_is_told(folder: Path, change: dict[str, Any], named: str) -> None:
    change_config(folder, **change)
    assert named in refusal(InputError, folder)


@pytest.mark.parametrize("option", ["model", "adapter"])
def test_a_name_too_long_to_be_looked_at(saved: Path, option: str) -> None:
    name = "a" * 5000
    sentence = refusal(InputError, name) if option == "model" else refusal(InputError, saved, adapter=name)
    assert "can't be looked at: File name too long" in sentence


@pytest.mark.parametrize("content", ["{bad", '{"model": {"type": "Zork"}}'])
def test_a_tokenizer_that_is_there_but_broken(folder: Path, content: str) -> None:
    (folder / "tokenizer.json").write_text(content)
    model = ats.Model.from_pretrained(folder)
    model.verify()
    for options in ({}, {"stride": 4}):
        assert f"the tokenizer of {folder} could not be read: " in refused(model, "a text", **options)


def test_a_tokenizer_of_a_larger_model(folder: Path) -> None:
    path = folder / "tokenizer.json"
    settings = json.loads(path.read_text())
    settings["model"]["vocab"]["zebra"] = 5000
    path.write_text(json.dumps(settings))
    sentence = refused(ats.Model.from_pretrained(folder), "the zebra")
    assert "'zebra' as token 5000, but the model has 128" in sentence


OUT_OF_MEMORY: tuple[Exception, ...] = (
    MemoryError("Unable to allocate 99 GiB"),
    torch.OutOfMemoryError("CUDA out of memory."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: not enough memory: you tried to allocate"),
)


@pytest.mark.parametrize("error", OUT_OF_MEMORY)
@pytest.mark.parametrize("place", ["the model", "a layer", "the result"])
def test_too_little_memory_says_what_to_lower(
    bert: ats.Model, place: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attnscope.analyses import analyze
    from attnscope.decompose.parts import Parts

    def fail(*_: Any, **__: Any) -> None:
        raise error

    owner, name = {"the model": (type(bert.hf_model), "forward"), "a layer": (Parts, "rows")}.get(
        place, (analyze, "_dataset")
    )
    bert.structure  # noqa: B018 - found before
    monkeypatch.setattr(owner, name, fail)
    assert "shorten the text, or use reduce=" in refused(bert, "the cat")


@pytest.mark.parametrize("error", OUT_OF_MEMORY)
@pytest.mark.parametrize("owner", [torch.nn.Module, BertModel], ids=["moved", "read"])
def test_a_model_too_large_for_memory(
    saved: Path, owner: Any, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(owner, "to" if owner is torch.nn.Module else "from_pretrained", fail)
    assert "does not fit in memory; load it in half precision" in refusal(InputError, saved)


@pytest.mark.parametrize("dtype", ["float31", "int8", ""])
def test_unknown_dtype(saved: Path, dtype: str) -> None:
    assert "float32" in refusal(InputError, saved, dtype=dtype)


@pytest.mark.parametrize("device", ["abacus", "cuda:x", ""])
def test_unknown_device(saved: Path, device: str) -> None:
    assert "cpu" in refusal(InputError, saved, device=device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_device_that_is_not_here(saved: Path) -> None:
    assert "cpu" in refusal(InputError, saved, device="cuda")


def test_a_missing_gguf_file(tmp_path: Path) -> None:
    assert "model.gguf" in refusal(InputError, tmp_path / "model.gguf")


# --- adapters ---------------------------------------------------------------------------------------------


def adapter_of(name: str, folder: Path, **options: Any) -> tuple[Path, torch.nn.Module]:
    base = zoo.build(name)
    wrapped = get_peft_model(base, LoraConfig(r=2, target_modules=["query", "value"], **options))
    with torch.no_grad():
        for key, parameter in wrapped.named_parameters():
            if "lora_B" in key:
                parameter.normal_(generator=torch.Generator().manual_seed(1))
    wrapped.save_pretrained(folder)
    return folder, wrapped.merge_and_unload()


def test_an_adapter_is_merged(saved: Path, tmp_path: Path) -> None:
    adapter, merged = adapter_of("bert", tmp_path / "adapter")
    model = ats.Model.from_pretrained(saved, adapter=adapter)
    found, expected = model.hf_model.state_dict(), merged.state_dict()
    assert all(torch.allclose(found[key], expected[key], atol=1e-6) for key in expected)
    model.verify()


def test_an_adapter_of_another_base(tmp_path: Path, saved: Path) -> None:
    other = zoo.build("electra")
    wrapped = get_peft_model(other, LoraConfig(r=2, target_modules=["embeddings_project"]))
    wrapped.save_pretrained(tmp_path / "adapter")
    settings = tmp_path / "adapter" / "adapter_config.json"
    stated = json.loads(settings.read_text()) | {"base_model_name_or_path": "someone/a-small-electra"}
    settings.write_text(json.dumps(stated))
    sentence = refusal(InputError, saved, adapter=tmp_path / "adapter")
    assert "made for someone/a-small-electra and does not fit" in sentence
    assert str(saved) in sentence


def test_an_adapter_of_a_base_with_other_weights_of_the_same_shapes(tmp_path: Path) -> None:
    bases = [zoo.save(zoo.build("bert", seed=seed), tmp_path / f"base{seed}") for seed in (0, 1)]
    adapter, _ = adapter_of("bert", tmp_path / "adapter")
    settings = adapter / "adapter_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"base_model_name_or_path": str(bases[0])}))
    sentence = refusal(InputError, bases[1], adapter=adapter)
    assert str(bases[0]) in sentence
    assert str(bases[1]) in sentence
    copied = zoo.save(zoo.build("bert", seed=0), tmp_path / "copied")
    one, other = (ats.Model.from_pretrained(copied, adapter=adapter), ats.Model.from_pretrained(adapter))
    for mine, theirs in zip(one.hf_model.parameters(), other.hf_model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
@pytest.mark.parametrize("kind", [PrefixTuningConfig, PromptTuningConfig])
def test_learned_prompts_are_refused_and_not_left_out(saved: Path, tmp_path: Path, kind: type[PeftConfig]) -> None:
    """The model inside would be run without them, and say something else."""
    wrapped = get_peft_model(zoo.build("bert"), kind(num_virtual_tokens=3, task_type="FEATURE_EXTRACTION"))
    wrapped.save_pretrained(tmp_path / "adapter")
    assert "learned vectors before the text" in refusal(UnsupportedModel, saved, adapter=tmp_path / "adapter")
    with pytest.raises(UnsupportedModel, match="learned vectors before the text"):
        ats.Model(wrapped)


def test_an_adapter_for_a_wider_base(tmp_path: Path, saved: Path) -> None:
    adapter, _ = adapter_of("bert", tmp_path / "adapter")
    weights = load_file(adapter / "adapter_model.safetensors")
    wide = {key: torch.cat([value, value], -1) if "lora_A" in key else value for key, value in weights.items()}
    save_file(wide, adapter / "adapter_model.safetensors", metadata={"format": "pt"})
    assert "does not fit" in refusal(InputError, saved, adapter=adapter)


@pytest.mark.parametrize("missing", ["adapter_config.json", "adapter_model.safetensors"])
def test_an_incomplete_adapter(saved: Path, tmp_path: Path, missing: str) -> None:
    adapter, _ = adapter_of("bert", tmp_path / "adapter")
    (adapter / missing).unlink()
    assert missing in refusal(InputError, saved, adapter=adapter)


def test_no_adapter_at_all(saved: Path, tmp_path: Path) -> None:
    assert str(tmp_path / "none") in refusal(InputError, saved, adapter=tmp_path / "none")


def classifying(folder: Path, names: dict[str, str] | None) -> Path:
    """An adapter with a head of three classes, and a config.json beside it that may name them."""
    head = zoo.build_head("bert", "AutoModelForSequenceClassification")
    settings = LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query"])
    get_peft_model(head, settings).save_pretrained(folder)
    if names is not None:
        (folder / "config.json").write_text(json.dumps({"model_type": "bert", "id2label": names}))
    return folder


def test_an_adapter_brings_its_head_and_the_names_of_its_classes(saved: Path, tmp_path: Path) -> None:
    names = {"0": "bad", "1": "neither", "2": "good"}
    model = ats.Model.from_pretrained(saved, adapter=classifying(tmp_path / "adapter", names))
    assert model.hf_model.config.id2label == {0: "bad", 1: "neither", 2: "good"}
    assert model.hf_model.config.label2id["good"] == 2
    assert ats.attribute(model, "the cat", target="good").attrs["target"] == "good"
    plain = ats.Model.from_pretrained(saved, adapter=classifying(tmp_path / "plain", None))
    assert plain.hf_model.config.id2label[2] == "LABEL_2"


def test_an_adapter_brings_the_layer_before_its_head(tmp_path: Path) -> None:
    """DistilBERT's classifier has two layers of its own, of which the first is as wide as the model."""
    base = zoo.save(zoo.build("distilbert"), tmp_path / "base")
    head = zoo.build_head("distilbert", "AutoModelForSequenceClassification")
    settings = LoraConfig(task_type="SEQ_CLS", target_modules=["q_lin"], modules_to_save=["pre_classifier"])
    get_peft_model(head, settings).save_pretrained(tmp_path / "adapter")
    model: Any = ats.Model.from_pretrained(base, adapter=tmp_path / "adapter").hf_model
    assert model.config.num_labels == zoo.LABELS
    assert torch.equal(model.pre_classifier.weight, head.pre_classifier.modules_to_save["default"].weight)


def test_an_adapter_without_a_task_goes_on_the_class_it_was_made_for(saved: Path, tmp_path: Path) -> None:
    head = zoo.build_head("bert", "AutoModelForSequenceClassification")
    settings = LoraConfig(target_modules=["query"], modules_to_save=["classifier"])
    get_peft_model(head, settings).save_pretrained(tmp_path / "adapter")
    model = ats.Model.from_pretrained(saved, adapter=tmp_path / "adapter")
    assert type(model.hf_model).__name__ == "BertForSequenceClassification"
    assert model.hf_model.config.num_labels == zoo.LABELS


def test_a_folder_with_an_adapter_and_the_names_of_classes_is_an_adapter(saved: Path, tmp_path: Path) -> None:
    adapter = classifying(tmp_path / "adapter", {"0": "bad", "1": "neither", "2": "good"})
    settings = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps(settings | {"base_model_name_or_path": str(saved)}))
    assert ats.Model.from_pretrained(adapter).hf_model.config.id2label[0] == "bad"


@pytest.mark.parametrize("names", [{"0": "bad"}, {"1": "a", "2": "b", "3": "c"}])
def test_names_that_do_not_fit_the_head(saved: Path, tmp_path: Path, names: dict[str, str]) -> None:
    assert "its head has 3" in refusal(InputError, saved, adapter=classifying(tmp_path / "adapter", names))


@pytest.mark.parametrize("content", ["{no json", "[]", '{"id2label": {"one": "bad"}}'])
def test_names_that_can_not_be_read(saved: Path, tmp_path: Path, content: str) -> None:
    adapter = classifying(tmp_path / "adapter", {})
    (adapter / "config.json").write_text(content)
    assert "config.json beside the adapter" in refusal(InputError, saved, adapter=adapter)


# --- texts ------------------------------------------------------------------------------------------------


def refused(model: ats.Model, *args: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        ats.analyze(model, *args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_text(bert: ats.Model, text: str) -> None:
    assert "the text is empty" in refused(bert, text)
    assert "the pair is empty" in refused(bert, "a", text)


def test_a_text_over_the_limit_offers_windows(bert: ats.Model) -> None:
    sentence = refused(bert, "cat " * 100)
    assert "102 tokens" in sentence
    assert "64" in sentence
    assert "stride=" in sentence
    stride = int(sentence.split("stride=")[1].split()[0])
    result = ats.analyze(bert, "cat " * 100, stride=stride)
    assert result.sizes["window"] >= 2


def test_a_pair_for_a_model_that_keeps_two_texts_apart_by_nothing() -> None:
    gpt = ats.Model(zoo.build("llama"), zoo.tokenizer("gpt"))
    assert "pair" in refused(gpt, "a", "b")


def test_a_text_for_a_model_without_tokenizer() -> None:
    assert "tokenizer" in refused(ats.Model(zoo.build("bert")), "a text")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"measures": "wieght"}, "did you mean 'weight'"),
        ({"measures": []}, "no measure"),
        ({"layers": [3]}, "no attention layer 3"),
        ({"layers": [0]}, "no attention layer 0"),
        ({"layers": []}, "no layer"),
        ({"heads": [5]}, "no head 5"),
        ({"heads": [0]}, "no head 0"),
        ({"stack": "decoder"}, "unknown stack"),
        ({"reduce": "topk", "unit": "word"}, "topk"),
        ({"reduce": "topk", "top": 0}, "top"),
        ({"stride": 0}, "stride"),
        ({"stride": 4, "pair": "b"}, "pair"),
    ],
)
def test_a_request_that_cannot_be(bert: ats.Model, options: dict[str, Any], named: str) -> None:
    pair = options.pop("pair", None)
    text = "the cat sat " * 40 if "stride" in options else "the cat"
    assert named in refused(bert, text, pair, **options)


@pytest.mark.parametrize(
    ("inputs", "named"),
    [
        ({"input_ids": torch.ones(2, 3, dtype=torch.long)}, "2 sequences"),
        (
            {"input_ids": torch.ones(1, 3, dtype=torch.long), "attention_mask": torch.tensor([[0, 1, 1]])},
            "padding on the right",
        ),
    ],
)
def test_tensors_that_cannot_be(bert: ats.Model, inputs: dict[str, torch.Tensor], named: str) -> None:
    assert named in refused(bert, inputs)


def test_not_a_model() -> None:
    with pytest.raises(InputError, match="Transformers or PEFT model, not Linear"):
        ats.Model(torch.nn.Linear(2, 2))


def test_a_model_without_softmax_attention() -> None:
    from transformers import MambaConfig, MambaModel

    config = MambaConfig(vocab_size=50, hidden_size=16, state_size=4, num_hidden_layers=2)
    with pytest.raises(UnsupportedModel, match="no softmax attention"):
        ats.Model(MambaModel(config).eval()).verify()
