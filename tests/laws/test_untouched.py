"""A model in any state is analysed right, and is afterwards as it was."""

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import PreTrainedModel

import attnscope as ats
from benchmarks.reference import materialise
from tests import zoo
from tests.conftest import OF_ATTENTION
from tests.contracts import extraction

ALL = [name for name in OF_ATTENTION if name != "expansion_rate"]
RATE = "expansion_rate"
NAMES = ["bert", "llama", "bart", "bloom"]


def state_of(model: nn.Module) -> dict[str, Any]:
    """Everything an analysis might leave behind."""
    found: dict[str, Any] = {"weights": {name: value.clone() for name, value in model.state_dict().items()}}
    for name, module in model.named_modules():
        found[name] = (
            module.training,
            len(module._forward_hooks),
            len(module._forward_pre_hooks),
            sorted(set(vars(module)) - {"_is_hf_initialized"}),
            getattr(getattr(module, "config", None), "_attn_implementation", None),
            getattr(getattr(module, "config", None), "output_attentions", None),
            getattr(getattr(module, "config", None), "use_cache", None),
        )
    found["gradients"] = {name: (p.requires_grad, p.grad is None) for name, p in model.named_parameters()}
    return found


def assert_same_state(found: dict[str, Any], expected: dict[str, Any]) -> None:
    weights, before = found.pop("weights"), expected.pop("weights")
    assert weights.keys() == before.keys()
    assert all(torch.equal(weights[name], before[name]) for name in before)
    assert found == expected


def assert_same_numbers(found: xr.Dataset, expected: xr.Dataset, tolerance: float = 1e-4) -> None:
    for name in ALL:
        values = expected[name].values
        np.testing.assert_allclose(found[name], values, rtol=tolerance, atol=tolerance * 0.1 * np.max(values))


def measured(model: ats.Model, name: str, **options: Any) -> xr.Dataset:
    return ats.analyze(model, zoo.inputs(name), measures=ALL, **options)


def train_with_dropout(model: PreTrainedModel) -> None:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5
    model.train()
    next(model.children()).eval()  # a mixed state, as when a part is frozen


def use_sdpa(model: PreTrainedModel) -> None:
    model.set_attn_implementation("sdpa")


def collect_attentions(model: PreTrainedModel) -> None:
    """As configurations say that were saved with it; SDPA, which has none to give, is what then runs."""
    if type(model).__name__ != "BloomModel":
        use_sdpa(model)
    model.config._output_attentions = True


STATES: dict[str, Callable[[PreTrainedModel], None]] = {
    "training": train_with_dropout,
    "sdpa": use_sdpa,
    "collecting attentions": collect_attentions,
    "compiled": lambda model: model.compile(backend="eager"),
    "a part compiled": lambda model: next(model.children()).compile(backend="eager"),
    "frozen": lambda model: model.requires_grad_(False),
    "plain": lambda _: None,
}


@pytest.mark.parametrize(
    ("name", "state"), [(name, state) for name in NAMES for state in STATES if (name, state) != ("bloom", "sdpa")]
)
def test_any_state_gives_the_same_numbers_and_stays(name: str, state: str) -> None:
    expected = measured(ats.Model(zoo.build(name)), name)
    changed = zoo.build(name)
    STATES[state](changed)
    before = state_of(changed)
    model = ats.Model(changed)
    assert_same_numbers(measured(model, name), expected)
    model.verify()
    ats.analyze(model, zoo.inputs(name), reduce="keys", layers=[1])
    assert_same_state(state_of(changed), before)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_numbers_are_those_of_the_models_own_precision(name: str) -> None:
    expected = measured(ats.Model(zoo.build(name)), name)
    model = ats.Model(zoo.build(name))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_same_numbers(measured(model, name), expected)
        assert torch.is_autocast_enabled("cpu")


def test_a_compiled_model_is_the_model_inside() -> None:
    hf_model = zoo.build("bert")
    assert ats.Model(torch.compile(hf_model, backend="eager")).hf_model is hf_model


def test_a_model_of_which_only_the_shapes_are_here() -> None:
    with pytest.raises(ats.InputError, match="not in memory"):
        ats.Model(zoo.build("bert").to("meta"))


def test_a_failed_pass_leaves_the_model_as_it_was() -> None:
    hf_model = zoo.build("llama").train()
    hf_model.set_attn_implementation("sdpa")
    model, before = ats.Model(hf_model), state_of(hf_model)

    def fail(_text: int, _record: object) -> None:
        raise ZeroDivisionError("the visitor's own mistake")

    with pytest.raises(ZeroDivisionError, match="own mistake"):
        model.run(model.encode(zoo.inputs("llama")), fail)
    with pytest.raises((ats.AttnscopeError, IndexError)):
        ats.analyze(model, {"input_ids": torch.tensor([[10_000]])})
    assert_same_state(state_of(hf_model), before)


def test_gradients_can_be_taken_afterwards() -> None:
    model = ats.Model(zoo.build("bert"))
    measured(model, "bert")
    model.hf_model(**zoo.inputs("bert")).last_hidden_state.sum().backward()
    assert model.hf_model.encoder.layer[0].attention.self.value.weight.grad is not None


def lora(name: str, targets: list[str], *, seed: int = 3) -> tuple[Any, PreTrainedModel]:
    """A model with unmerged adapters that do something, and the same one merged."""
    base = zoo.build(name)
    wrapped = get_peft_model(
        base, LoraConfig(r=3, target_modules=targets, lora_dropout=0.2, fan_in_fan_out=name == "gpt2")
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter_name, parameter in wrapped.named_parameters():
            if "lora_" in parameter_name:
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    merged = copy.deepcopy(wrapped).merge_and_unload().eval()
    return wrapped, merged


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("bert", ["query", "value", "dense"]),
        ("llama", ["q_proj", "v_proj", "o_proj"]),
        ("gemma2", ["v_proj"]),
        ("gpt2", ["c_attn", "c_proj"]),
    ],
)
def test_an_unmerged_adapter_counts(name: str, targets: list[str]) -> None:
    wrapped, merged = lora(name, targets)
    wrapped.train()
    before = state_of(wrapped)
    plain, expected = measured(ats.Model(zoo.build(name)), name), measured(ats.Model(merged), name)
    found = measured(ats.Model(wrapped), name)
    assert_same_numbers(found, expected, 1e-3)
    assert not np.allclose(found["value_norm"], plain["value_norm"], rtol=1e-2)
    assert_same_state(state_of(wrapped), before)


@pytest.mark.parametrize(("name", "targets"), [("bert", ["value", "dense"]), ("llama", ["v_proj", "o_proj"])])
def test_an_adapter_that_changes_is_read_anew(name: str, targets: list[str]) -> None:
    """Its maps have to be asked what they do; the answer holds as long as they do it."""
    wrapped, merged = lora(name, targets)
    measures = [*ALL, RATE]
    model, inputs = ats.Model(wrapped), zoo.inputs(name)
    ats.analyze(model, inputs, measures=measures)
    with wrapped.disable_adapter():
        found = ats.analyze(model, inputs, measures=measures)
    plain = ats.analyze(ats.Model(zoo.build(name)), inputs, measures=measures)
    assert_same_numbers(found, plain)
    np.testing.assert_allclose(found[RATE], plain[RATE], rtol=1e-4)
    with torch.no_grad():
        for parameter_name, parameter in wrapped.named_parameters():
            if "lora_B" in parameter_name:
                parameter.mul_(-2)
    trained = copy.deepcopy(wrapped).merge_and_unload().eval()
    assert_same_numbers(measured(model, name), measured(ats.Model(trained), name), 1e-3)
    assert not np.allclose(
        measured(model, name)["value_norm"], measured(ats.Model(merged), name)["value_norm"], rtol=1e-2
    )


def test_an_adapter_put_on_later_counts() -> None:
    hf_model = zoo.build("bert")
    model = ats.Model(hf_model)
    measured(model, "bert")
    torch.manual_seed(0)
    wrapped = get_peft_model(hf_model, LoraConfig(r=3, target_modules=["value", "dense"], init_lora_weights=False))
    merged = copy.deepcopy(wrapped).merge_and_unload().eval()
    assert_same_numbers(measured(model, "bert"), measured(ats.Model(merged), "bert"), 1e-3)


@pytest.mark.parametrize("name", ["bert", "llama", "gemma2"])
def test_a_model_that_was_trained_on_is_read_anew(name: str) -> None:
    """The structure is found once; weights that change afterwards (training, merging) must not be remembered."""
    hf_model = zoo.build(name)
    model = ats.Model(hf_model)
    measured(model, name)
    with torch.no_grad():
        for parameter in hf_model.parameters():
            parameter.mul_(1.25)
    assert_same_numbers(measured(model, name), measured(ats.Model(hf_model), name))


CHANGES: dict[str, Callable[[nn.Module], None]] = {
    "in place": lambda value: value.weight.requires_grad_(False).mul_(2),
    "behind autograd's back": lambda value: value.weight.data.mul_(2),  # so do optimisers, and PEFT when it merges
    "by another tensor": lambda value: setattr(value, "weight", nn.Parameter(2 * value.weight.detach())),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["bert", "llama"])
def test_the_expansion_rate_is_of_the_weights_as_they_are(name: str, change: str) -> None:
    hf_model = zoo.build(name)
    model = ats.Model(hf_model)
    ats.analyze(model, zoo.inputs(name), measures=RATE)
    value = next(module for path, module in hf_model.named_modules() if path.endswith((".value", ".v_proj")))
    CHANGES[change](value)
    found, expected = (
        ats.analyze(each, zoo.inputs(name), measures=RATE)[RATE] for each in (model, ats.Model(hf_model))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    reference = [materialise(layer) for layer in extraction.extract(hf_model, zoo.inputs(name), name, "self")]
    np.testing.assert_allclose(found, [layer.measures[RATE] for layer in reference], rtol=1e-5)


def in_threads(tasks: list[Callable[[], Any]]) -> list[Any]:
    found: list[Any] = [None] * len(tasks)

    def run(index: int) -> None:
        torch.set_num_threads(1)
        try:
            found[index] = tasks[index]()
        except BaseException as error:  # noqa: BLE001 (told by the caller)
            found[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in found:
        if isinstance(answer, BaseException):
            raise answer
    return found


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_threads_sharing_a_model_get_their_own_numbers(name: str) -> None:
    model = ats.Model(zoo.build(name))
    inputs = [zoo.inputs(name, length=5 + seed, seed=seed) for seed in range(4)]
    expected = [ats.analyze(model, each, measures=ALL) for each in inputs]
    tasks = [lambda each=each: ats.analyze(model, each, measures=ALL) for each in inputs * 3]
    for index, found in enumerate(in_threads(tasks)):
        assert_same_numbers(found, expected[index % len(inputs)])


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_two_wrappings_of_one_model_do_not_disturb_each_other(name: str) -> None:
    hf_model = zoo.build(name)
    hf_model.set_attn_implementation("sdpa")
    hf_model.train()
    before = state_of(hf_model)
    models = [ats.Model(hf_model) for _ in range(2)]
    inputs = [zoo.inputs(name, length=5 + seed, seed=seed) for seed in range(4)]
    expected = [ats.analyze(models[0], each, measures=ALL) for each in inputs]
    tasks = [
        lambda model=model, each=each: ats.analyze(model, each, measures=ALL) for each in inputs * 3 for model in models
    ]
    for index, found in enumerate(in_threads(tasks)):
        assert_same_numbers(found, expected[index // 2 % len(inputs)])
    assert_same_state(state_of(hf_model), before)


PRECISIONS = [(torch.bfloat16, 5e-2), (torch.float16, 1e-2), (torch.float64, 1e-6)]


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize(
    "name", ["bert", "roberta", "gpt2", "llama", "qwen3", "gemma2", "olmo2", "gpt-neox", "bart", "t5"]
)
def test_every_precision_passes_its_own_tolerance(name: str, dtype: torch.dtype, tolerance: float) -> None:
    model = ats.Model(zoo.build(name).to(dtype))
    verification = model.verify()
    assert model.tolerance == tolerance
    assert verification.worst < tolerance
    exact = measured(ats.Model(zoo.build(name)), name)
    found = measured(model, name)
    rough = 1e-5 if dtype is torch.float64 else tolerance
    for measure in ALL:
        values = exact[measure].values
        scale = np.max(np.abs(values))
        assert np.max(np.abs(found[measure].values - values)) < 5 * rough * scale, measure
        assert found[measure].dtype == np.float32
    assert found.attrs["dtype"] == str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_a_layer_put_in_as_a_copy_is_a_layer_like_any_other(name: str) -> None:
    """Copied by itself, it looks its attention up in a configuration of its own."""
    hf_model = zoo.build(name)
    layers = hf_model.encoder.layer if name == "bert" else hf_model.layers
    expected = measured(ats.Model(hf_model), name)
    layers[1] = copy.deepcopy(layers[1])
    before = state_of(hf_model)
    model = ats.Model(hf_model)
    assert [laws.layer for laws in model.verify().layers] == [1, 2]
    assert_same_numbers(measured(model, name), expected)
    assert ats.decomposed(model, zoo.inputs(name)).sizes["layer"] == 2
    assert_same_state(state_of(hf_model), before)
