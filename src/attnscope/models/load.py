"""Loading models safely: no pickles and no foreign code unless asked, no weights left random, none that are NaN."""

import contextlib
import functools
import json
import logging
import warnings
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModel,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    modeling_gguf_pytorch_utils,
)
from transformers.utils import logging as transformers_logging

from attnscope.errors import InputError, UnsupportedModel
from attnscope.models.finite import check_finite
from attnscope.models.memory import fitting, is_out_of_memory
from attnscope.models.prompts import refuse_prompts

_DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
}
_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt")
_UNUSED = ("pooler.",)
"""Weights that a checkpoint may lack without any number here depending on them."""
_HEADS = {
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "TOKEN_CLS": "AutoModelForTokenClassification",
    "QUESTION_ANS": "AutoModelForQuestionAnswering",
    "CAUSAL_LM": "AutoModelForCausalLM",
    "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM",
}
"""PEFT's task types, and the class a base model of such an adapter is loaded with."""
_CLASSIFIERS = {"classifier", "score"}
"""What PEFT saves as the head of a classifier, whether it is told to or not."""


@dataclass(frozen=True)
class Loaded:
    """A model with what reads its inputs."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    processor: Any
    name: str
    tokenizer_trouble: str | None
    """Why there is no tokenizer, where one is kept beside the model."""


def load(
    path_or_id: str,
    *,
    adapter: str | Path | None = None,
    device: str | None = None,
    dtype: str | torch.dtype | None = None,
    allow_pickle: bool = False,
) -> Loaded:
    """Load what `path_or_id` names; see `Model.from_pretrained`."""
    precision = _dtype(dtype)
    place = _device(device)
    with _quietly():
        source = _Source.of(path_or_id)
        if is_adapter(path_or_id) and adapter is None:
            source, adapter = _Source.of(_base_of(Path(path_or_id))), path_or_id
        source.check(allow_pickle)
        config = source.config()
        settings = None if adapter is None else _adapter_settings(Path(adapter))
        if settings is not None:
            _check_base(settings.path, source)
        model = _model(source, config, precision, allow_pickle, settings)
        if settings is not None:
            model = _merged(model, settings)
        check_finite(model, source.name)
        tokenizer, trouble = _tokenizer(source)
        processor = _optional(AutoImageProcessor, source)[0] if model.main_input_name == "pixel_values" else None
    with fitting(source.name):
        torch.nn.Module.to(model, place)
    return Loaded(model.eval(), tokenizer, processor, _full_name(source, adapter), trouble)


def _full_name(source: "_Source", adapter: str | Path | None) -> str:
    return source.name if adapter is None else f"{source.name} + {adapter}"


@dataclass(frozen=True)
class _Source:
    """Where a model comes from: a folder or hub name, and a GGUF file in it if that is what was named."""

    name: str
    place: str
    gguf: str | None = None

    @classmethod
    def of(cls, name: str) -> "_Source":
        if not name.strip():
            raise InputError("the model's name is empty; give a model's folder, a .gguf file or a hub name")
        path = Path(name).expanduser()
        _look_at(path)
        if path.suffix == ".gguf":
            if not path.is_file():
                raise InputError(f"no GGUF file at {name}")
            return cls(name, str(path.parent), path.name)
        if path.exists() and not path.is_dir():
            raise InputError(f"{name} is a file; give the model's folder, a .gguf file or a hub name")
        if not path.exists() and (path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1):
            raise InputError(f"no folder at {name}; give a model's folder, a .gguf file or a hub name")
        return cls(name, str(path) if path.is_dir() else name)

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.gguf is None else {"gguf_file": self.gguf}

    @property
    def folder(self) -> Path | None:
        path = Path(self.place)
        return path if path.is_dir() else None

    def check(self, allow_pickle: bool) -> None:
        """What can be told from the file names alone."""
        if self.folder is None or self.gguf is not None:
            return
        if not (self.folder / "config.json").is_file():
            raise InputError(
                f"the folder {self.name} has no config.json, so it holds no Transformers model; give the folder that "
                "has config.json and *.safetensors in it, or a .gguf file"
            )
        if any(self.folder.glob("*.safetensors")):
            return
        pickles = sorted(path.name for pattern in _PICKLES for path in self.folder.glob(pattern))
        if not pickles:
            raise InputError(f"{self.name} has a config.json but no weights (*.safetensors)")
        if not allow_pickle:
            raise InputError(
                f"{self.name} has only pickled weights ({pickles[0]}), which can run code when they are read; convert "
                "them to safetensors, or allow it if you trust them: allow_pickle=True, --allow-pickle"
            )

    def config(self) -> PreTrainedConfig:
        try:
            return AutoConfig.from_pretrained(self.place, trust_remote_code=False, **self.options)
        except KeyError as error:
            raise UnsupportedModel(self.name, f"its architecture is not in Transformers: {error}") from error
        except ImportError as error:
            raise InputError(f"{self.name} needs a package that is not here: {_first_line(error)}") from error
        except Exception as error:  # configurations check themselves, each in its own way
            raise InputError(self._explained(error)) from error

    def _explained(self, error: Exception) -> str:
        text = str(error)
        if "trust_remote_code" in text or "custom code" in text:
            return f"{self.name} brings its own code, which is never run; attnscope reads architectures in Transformers"
        if "model_type" in text or "does not recognize this architecture" in text:
            return (
                f"{self.name} is of an architecture that the installed Transformers does not know: {_first_line(error)}"
            )
        if self.folder is None:
            return f"{self.name} is neither a folder here nor a model that could be fetched: {_first_line(error)}"
        return f"the configuration of {self.name} could not be read: {_first_line(error)}"


def _model(
    source: _Source,
    config: PreTrainedConfig,
    dtype: torch.dtype,
    allow_pickle: bool,
    adapter: "_Adapter | None",
) -> PreTrainedModel:
    kind = _class_for(config, source) if adapter is None else adapter.model_class(config, source)
    options: dict[str, Any] = dict(source.options) if source.gguf else {"use_safetensors": not allow_pickle or None}
    try:
        model, report = kind.from_pretrained(
            source.place,
            config=config,
            dtype=dtype,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused below, by name
            **options,
        )
    except ImportError as error:
        raise InputError(f"{source.name} needs a package that is not here: {_first_line(error)}") from error
    except Exception as error:  # whatever a broken file makes a reader raise
        with fitting(source.name):
            if is_out_of_memory(error):
                raise
        raise InputError(f"the weights of {source.name} could not be read: {_first_line(error)}") from error
    _check_complete(source, report, set() if adapter is None else adapter.own_modules)
    return model


def _class_for(config: PreTrainedConfig, source: _Source) -> Any:
    """The class the checkpoint was saved from, so that its task head comes along; GGUF files are language models."""
    found = next(filter(None, map(_class_named, config.architectures or ())), None)
    return found or (AutoModel if source.gguf is None else AutoModelForCausalLM)


def _class_named(name: Any) -> Any:
    """The model class of that name in Transformers; None if there is none."""
    kind = getattr(transformers, str(name), None)
    return kind if isinstance(kind, type) and issubclass(kind, PreTrainedModel) else None


def _check_complete(source: _Source, report: Mapping[str, Any], supplied: set[str]) -> None:
    """Weights that the checkpoint lacks would be random numbers: refuse them."""

    def counts(key: str) -> bool:
        return not any(part in key for part in _UNUSED) and not any(part in key.split(".") for part in supplied)

    missing = sorted(filter(counts, report["missing_keys"]))
    misshapen = sorted(
        f"{key} ({_shape(found)}, but {_shape(wanted)} by its config.json)"
        for key, found, wanted in report.get("mismatched_keys", ())
        if counts(key)
    )
    if missing or misshapen:
        what = "lacks" if missing else "has the wrong shape for"
        names = ", ".join([*missing, *misshapen][:3])
        raise InputError(
            f"the checkpoint {source.name} {what} {len(missing) + len(misshapen)} of the model's weights, which would "
            f"be left random: {names}"
        )


def _shape(sizes: Iterable[int]) -> str:
    return "×".join(map(str, sizes))


@dataclass(frozen=True)
class _Adapter:
    """A PEFT adapter: its folder, task and the modules it replaces as a whole."""

    path: Path
    kind: Any
    """The class of Transformers that its base is loaded as; None where its settings do not tell."""
    own_modules: set[str]
    labels: int | None
    names: dict[int, str] | None
    """What the classes are called, from a config.json beside the adapter: PEFT's own settings do not say."""

    def model_class(self, config: PreTrainedConfig, source: _Source) -> Any:
        if self.labels is not None:
            config.num_labels = self.labels
        if self.names is not None:
            config.id2label = self.names
            config.label2id = {name: number for number, name in self.names.items()}
        fits = self.kind is not None and isinstance(config, getattr(self.kind, "config_class", None) or object)
        return self.kind if fits else _class_for(config, source)


def is_adapter(path: str) -> bool:
    """Whether a folder holds an adapter and no model of its own."""
    folder = Path(path).expanduser()
    weights = (found for pattern in ("*.safetensors", *_PICKLES) for found in folder.glob(pattern))
    return (folder / "adapter_config.json").is_file() and all(found.name.startswith("adapter_") for found in weights)


def _adapter_config(adapter: Path) -> dict[str, Any]:
    try:
        settings = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the adapter_config.json of {adapter} could not be read: {_first_line(error)}") from error
    if not isinstance(settings, dict):
        raise InputError(f"the adapter_config.json of {adapter} holds no settings")
    return settings


def _base_of(adapter: Path) -> str:
    base = _adapter_config(adapter).get("base_model_name_or_path")
    if not base:
        raise InputError(f"the adapter {adapter} does not say which model it belongs to; pass the model and adapter=")
    return base


def _check_base(adapter: Path, source: _Source) -> None:
    """An adapter that names a folder as its base does not go on other weights, even if they have the same shapes.

    Of a base that is not here nothing can be told; whether the adapter fits is then all that is checked.
    """
    base = Path(str(_adapter_config(adapter).get("base_model_name_or_path") or ""))
    if source.folder is None or not base.name or not base.is_dir() or base.samefile(source.folder):
        return
    odd = _other_weight(base, source.folder)
    if odd is not None:
        raise InputError(
            f"the adapter {adapter} was made for {base}, whose weights are not those of {source.name} ({odd}); put it "
            "on the model that it was made for"
        )


def _other_weight(one: Path, other: Path) -> str | None:
    """The first weight, by name, that two folders both have and that is not the same in both."""
    with contextlib.ExitStack() as opened:
        files = [
            [opened.enter_context(safe_open(path, framework="pt")) for path in sorted(folder.glob("*.safetensors"))]
            for folder in (one, other)
        ]
        first, second = ({name: file for file in found for name in file.keys()} for found in files)  # noqa: SIM118
        for name in sorted(first.keys() & second.keys()):
            if not torch.equal(first[name].get_tensor(name), second[name].get_tensor(name)):
                return name
    return None


def _look_at(path: Path) -> None:
    """Refuse a name that is too long, or a place that may not be looked into."""
    try:
        path.exists()
    except OSError as error:
        raise InputError(f"{str(path)[:99]} can't be looked at: {error.strerror}") from error


def _adapter_settings(path: Path) -> _Adapter:
    _look_at(path)
    if not (path / "adapter_config.json").is_file():
        raise InputError(f"{path} is no PEFT adapter: it has no adapter_config.json")
    if not (path / "adapter_model.safetensors").is_file():
        raise InputError(f"the adapter {path} has no adapter_model.safetensors")
    settings = _adapter_config(path)
    own: set[str] = set(settings.get("modules_to_save") or ())
    task = settings.get("task_type")
    if task in {"SEQ_CLS", "TOKEN_CLS"}:
        own |= _CLASSIFIERS
    count = _label_count(path, own)
    return _Adapter(path, _adapted_class(settings), own, count, _label_names(path, count))


def _adapted_class(settings: Mapping[str, Any]) -> Any:
    """The class that an adapter's task asks for; without a task PEFT writes down the class itself."""
    head = _HEADS.get(str(settings.get("task_type")))
    if head is not None:
        return getattr(transformers, head)
    mapping = settings.get("auto_mapping")
    return _class_named(mapping.get("base_model_class")) if isinstance(mapping, dict) else None


def _label_names(path: Path, count: int | None) -> dict[int, str] | None:
    """The `id2label` of a config.json beside the adapter, if there is one and it names the classes of the head."""
    beside = path / "config.json"
    if count is None or not beside.is_file():
        return None
    try:
        names = json.loads(beside.read_text(encoding="utf-8")).get("id2label")
        found = None if names is None else {int(number): str(name) for number, name in names.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"the config.json beside the adapter {path} can't be read: {_first_line(error)}") from error
    if found is not None and sorted(found) != list(range(count)):
        raise InputError(f"the config.json beside the adapter {path} names {len(found)} classes, its head has {count}")
    return found


def _label_count(path: Path, own: set[str]) -> int | None:
    """How many classes the adapter's own head has: the rows of its last weight.

    Other modules may be saved with it, such as DistilBERT's pre_classifier, which stands before the head.
    """
    try:
        names = _weight_names(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"the weights of the adapter {path} could not be read: {_first_line(error)}") from error
    with safe_open(path / "adapter_model.safetensors", framework="pt") as weights:
        rows = {
            key: weights.get_slice(key).get_shape()[0]
            for key in names
            if key.endswith("weight") and own & set(key.split(".")) and "lora" not in key
        }
    heads = [key for key in rows if _CLASSIFIERS & set(key.split("."))]
    return rows[max(heads or rows)] if rows else None


def _merged(model: PreTrainedModel, adapter: _Adapter) -> PreTrainedModel:
    """The adapter added into the weights: afterwards it is a plain model."""
    try:
        from peft import PeftModel, get_peft_model_state_dict
    except ImportError as error:
        raise InputError("adapters need the package peft: pip install 'attnscope[peft]'") from error
    base = _adapter_config(adapter.path).get("base_model_name_or_path") or "another model"
    misfit = f"the adapter {adapter.path} was made for {base} and does not fit {model.config.name_or_path}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what PEFT warns of is checked right below
            wrapped = PeftModel.from_pretrained(model, str(adapter.path))
            refuse_prompts(wrapped, str(adapter.path))
            needed, given = set(get_peft_model_state_dict(wrapped)), _weight_names(adapter.path)
            merged = wrapped.merge_and_unload()
    except UnsupportedModel:
        raise
    except Exception as error:  # whatever an adapter of another model makes PEFT raise
        raise InputError(f"{misfit}: {_first_line(error)}") from error
    if needed != given:
        odd = sorted(needed ^ given)
        raise InputError(
            f"{misfit}: {len(needed - given)} of its weights are missing and {len(given - needed)} have no "
            f"place ({odd[0]})"
        )
    return merged


def _weight_names(adapter: Path) -> set[str]:
    with safe_open(adapter / "adapter_model.safetensors", framework="pt") as weights:
        return set(weights.keys())


_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.*",
    "*.spm",
    "spiece.model",
    "sentencepiece*",
    "*.tiktoken",
)


def _tokenizer(source: _Source) -> tuple[PreTrainedTokenizerBase | None, str | None]:
    """The model's tokenizer, or why there is none. From a folder without its files an empty one would be made up."""
    folder = source.folder
    if folder is not None and source.gguf is None and not any(any(folder.glob(name)) for name in _TOKENIZER_FILES):
        return None, None
    tokenizer, trouble = _optional(AutoTokenizer, source)
    return tokenizer, None if trouble is None else f"the tokenizer of {source.name} could not be read: {trouble}"


def _optional(kind: Any, source: _Source) -> tuple[Any, str | None]:
    """A tokenizer or processor, or what was wrong with it: without one ready tensors can still be analysed."""
    try:
        return kind.from_pretrained(source.place, trust_remote_code=False, **source.options), None
    except Exception as error:  # noqa: BLE001 - whatever a broken file makes a reader raise
        return None, _first_line(error)


def _dtype(dtype: str | torch.dtype | None) -> torch.dtype:
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype or torch.float32
    if dtype not in _DTYPES:
        raise InputError(f"unknown dtype {dtype!r}; known: {', '.join(_DTYPES)}")
    return _DTYPES[dtype]


def _device(device: str | None) -> torch.device:
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise InputError(f"unknown device {device!r}; say cpu, cuda or cuda:0") from error
    try:
        torch.ones(1, device=place).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"device {device!r} was asked for, but PyTorch can't use one here; say cpu") from error
    return place


@contextlib.contextmanager
def _quietly() -> Generator[None]:
    """Loading reports and progress bars are Transformers' business; what matters is checked and said here."""
    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.CRITICAL)
    transformers_logging.disable_progress_bar()
    reader: Any = modeling_gguf_pytorch_utils
    bar = reader.tqdm  # this reader draws its own, whatever the library is told
    reader.tqdm = functools.partial(bar, disable=True)
    try:
        yield
    finally:
        reader.tqdm = bar
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    """What an error says first: a line, or two where the first one announces the second."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    if isinstance(error, KeyError):
        return f"nothing is known by the name {lines[0]}"
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
