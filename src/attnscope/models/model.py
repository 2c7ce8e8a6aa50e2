"""A model whose attention can be read: the Hugging Face model, its tokenizer, and what was found out about it."""

import contextlib
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from attnscope.decompose.laws import check
from attnscope.errors import AttnscopeError, InputError, UnsupportedModel, one_of
from attnscope.models.attribution import Attribution, decompose
from attnscope.models.capture import Capture, NotCaptured, VisitorFailed
from attnscope.models.dispatch import call, eagerly, listening
from attnscope.models.encode import (
    Encoded,
    collate,
    encode_image,
    encode_tensors,
    encode_text,
    encode_windows,
    is_encoder_decoder,
)
from attnscope.models.probe import probe_inputs
from attnscope.models.structure import Site, Structure, discover
from attnscope.models.targets import Target
from attnscope.models.trace import Tracer, tensors_in
from attnscope.models.verification import TOLERANCE, LayerLaws, Verification
from attnscope.record import LayerRecord

Visitor = Callable[[int, LayerRecord], None]
_EVERYTHING = 1 << 60
_FROM_MODELS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError, NotImplementedError)
"""What models raise when they are given something they can't read."""
_locks: WeakKeyDictionary[PreTrainedModel, threading.RLock] = WeakKeyDictionary()
"""One for each model, however often it is wrapped: hooks of two passes must not meet in it."""


class Model:
    """A Transformer and its tokenizer, ready to be analysed.

    Nothing of the model is changed for good: attention is redirected, and dropout switched off, only while a pass
    runs. Passes of one model run one after the other, also from several threads.
    """

    def __init__(
        self,
        hf_model: Any,
        tokenizer: PreTrainedTokenizerBase | None = None,
        *,
        processor: Any = None,
        name: str | None = None,
        example: Mapping[str, Any] | None = None,
    ) -> None:
        """`hf_model` is a Transformers model, or a PEFT model around one.

        `example` are inputs for the trial pass, for models whose inputs can't be made up.
        """
        self.hf_model: PreTrainedModel = hf_model if isinstance(hf_model, PreTrainedModel) else _inner_model(hf_model)
        self.tokenizer = tokenizer
        self.processor = processor
        self.name = name or self.hf_model.config.name_or_path or type(self.hf_model).__name__
        self._example = example
        self._lock = _locks.setdefault(self.hf_model, threading.RLock())

    @classmethod
    def from_pretrained(
        cls,
        path_or_id: str | Path,
        *,
        adapter: str | Path | None = None,
        device: str | None = None,
        dtype: str | torch.dtype | None = None,
        allow_pickle: bool = False,
    ) -> "Model":
        """Load a model from a folder, a GGUF file or the hub, with a PEFT adapter merged in if one is given.

        float32 unless `dtype` says otherwise, on CUDA where there is one unless `device` says otherwise. Weights
        must be safetensors (or GGUF) unless `allow_pickle`; code that comes with a model is never run.
        """
        from attnscope.models.load import load

        loaded = load(str(path_or_id), adapter=adapter, device=device, dtype=dtype, allow_pickle=allow_pickle)
        return cls(loaded.model, loaded.tokenizer, processor=loaded.processor, name=loaded.name)

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {type(self.hf_model).__name__})"

    @cached_property
    def structure(self) -> Structure:
        """Where the model's attention layers are, and how each reaches the residual stream."""
        with self._lock, self._evaluating(), torch.no_grad():
            tracer = Tracer(self.hf_model)
            try:
                inputs = self._trial()
                with tracer.watching(), listening(self.hf_model, tracer.attend):
                    observed = _seeded(self.hf_model, inputs)
                with eagerly(self.hf_model):
                    plain = _seeded(self.hf_model, inputs)
                structure = discover(self.hf_model, tracer.trace, is_encoder_decoder(self.hf_model))
            except _FROM_MODELS as error:
                raise UnsupportedModel(
                    self.name, f"a small trial pass failed (example= takes inputs for one): {_first_line(error)}"
                ) from error
        if not _same(observed, plain):
            raise UnsupportedModel(self.name, "observed, it puts out something else than it does by itself")
        if not structure.sites:
            reasons = "; ".join(f"{refusal.module}: {refusal.reason}" for refusal in structure.refusals[:3])
            raise UnsupportedModel(self.name, reasons or "no softmax attention was seen in a trial pass")
        return structure

    def _trial(self) -> dict[str, torch.Tensor]:
        if self._example is not None:
            return encode_tensors(self.hf_model, None, self._example).inputs
        return probe_inputs(self.hf_model)

    @property
    def tolerance(self) -> float:
        """The largest reconstruction error that is rounding, at the model's precision."""
        return TOLERANCE.get(self.hf_model.dtype, TOLERANCE[torch.float16])

    def default_stack(self, pair: bool = False) -> str:
        """Which attentions a question is about if nobody says: the encoder's, across a pair, or the only ones."""
        stacks = self.structure.stacks
        preferred = ["cross"] if pair and is_encoder_decoder(self.hf_model) else []
        preferred += ["self", "encoder", "decoder"]
        return next((name for name in preferred if name in stacks), stacks[0])

    def sites(self, stack: str | None = None, layers: Collection[int] | None = None) -> tuple[Site, ...]:
        """The attention layers of a stack, or some of them by number."""
        structure = self.structure
        stack = one_of("stack", stack or self.default_stack(), structure.stacks)
        self._refuse_gaps(stack)
        sites = structure.stack(stack)
        if layers is None:
            return sites
        layers = set(layers)
        known = [site.layer for site in sites]
        for layer in layers:
            if layer not in known:
                others = f"; without softmax attention: {', '.join(structure.others)}" if structure.others else ""
                raise InputError(f"there is no attention layer {layer} in {self.name}; its layers: {known}{others}")
        return tuple(site for site in sites if site.layer in layers)

    def _refuse_gaps(self, stack: str) -> None:
        """A stack of which only some layers could be followed is not analysed as if it were whole."""
        parents = {site.parent for site in self.structure.stack(stack)}
        refusals = [refusal for refusal in self.structure.refusals if refusal.parent in parents]
        if refusals:
            first = refusals[0]
            raise UnsupportedModel(
                self.name,
                f"{len(refusals)} attention layers could not be followed; {first.module}: {first.reason}",
            )

    def encode(self, text: Any, pair: str | None = None) -> Encoded:
        """One input: a text (with a pair or a target), an image, or a mapping of ready tensors."""
        if pair is not None and not isinstance(text, str):
            raise InputError("a pair belongs to a text; ready tensors and images have none")
        if isinstance(text, Mapping):
            return encode_tensors(self.hf_model, self.tokenizer, text)
        if isinstance(text, str) or self.hf_model.main_input_name != "pixel_values":
            return encode_text(self.hf_model, self.tokenizer, text, pair)
        return encode_image(self.hf_model, self.processor, text)

    def encode_windows(self, text: str, stride: int) -> list[Encoded]:
        """A long text as overlapping windows, `stride` tokens apart."""
        return encode_windows(self.hf_model, self.tokenizer, text, stride)

    def run(
        self,
        inputs: Encoded | Sequence[Encoded],
        visit: Visitor,
        *,
        sites: Sequence[Site] | None = None,
        rows: int | None = None,
    ) -> None:
        """One forward pass; `visit` gets each layer's record as the layer has finished, one layer in memory.

        The pass calls the visitor rather than handing out an iterator, because the model's own code is what runs
        in between. With `rows`, weights are computed in blocks of that many query rows, again when they are read.
        """
        batch = [inputs] if isinstance(inputs, Encoded) else list(inputs)
        wanted = self.sites() if sites is None else tuple(sites)
        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        whole = len(batch) == 1 and not _is_padded(batch[0])
        lengths = [(_EVERYTHING, _EVERYTHING) if whole else _lengths(item, wanted[0]) for item in batch]
        capture = Capture(self.hf_model, wanted, visit, lengths=lengths, rows=rows)
        with self._lock, self._evaluating():
            try:
                capture.forward(collate(batch, pad))
            except VisitorFailed as failure:
                raise (failure.__cause__ or failure) from None
            except NotCaptured as error:
                raise UnsupportedModel(self.name, str(error)) from error
            except (torch.OutOfMemoryError, MemoryError) as error:
                raise InputError(_out_of_memory(self)) from error
            except _FROM_MODELS as error:
                if "not enough memory" in str(error) or "can't allocate memory" in str(error):
                    raise InputError(_out_of_memory(self)) from error
                raise InputError(f"{self.name} can't be run on this input: {_first_line(error)}") from error
        if capture.missed:
            names = ", ".join(site.module for site in capture.missed[:3])
            raise UnsupportedModel(self.name, f"with this input the pass did not go through {names}")

    def records(self, text: Any, pair: str | None = None, *, stack: str | None = None) -> list[LayerRecord]:
        """All records of one text at once: for small models, and for looking at things by hand."""
        found: list[LayerRecord] = []
        stack = stack or self.default_stack(pair is not None)
        self.run(self.encode(text, pair), lambda _, record: found.append(record), sites=self.sites(stack))
        return found

    def attribute(
        self, inputs: Encoded, choice: Any = None, position: int | None = None, layer: int | None = None
    ) -> tuple[Attribution, str]:
        """What each token contributes to a logit, by one backward pass, and what that logit is called.

        The tokens are those that enter a layer: the first, or another if its number is given.
        """
        if is_encoder_decoder(self.hf_model) or len(self.structure.stacks) > 1:
            raise UnsupportedModel(self.name, "a logit is decomposed in models with one stack of layers alone")
        site = self.sites(layers=None if layer is None else [layer])[0]
        if site.step is None:
            raise UnsupportedModel(
                self.name, f"the states before layer {site.layer} were not found: {site.step_reason}"
            )
        target = Target(self.name, self.hf_model, self.tokenizer, inputs, choice, position)
        with self._lock, self._evaluating():
            try:
                return decompose(self.hf_model, inputs.inputs, site, target), target.name
            except (torch.OutOfMemoryError, MemoryError) as error:
                raise InputError(_out_of_memory(self)) from error
            except AttnscopeError:
                raise
            except _FROM_MODELS as error:
                raise UnsupportedModel(self.name, f"its gradients can't be had: {_first_line(error)}") from error

    def check_laws(self, text: Any = None, pair: str | None = None) -> Verification:
        """The reconstruction errors of every layer, on a text or on a small synthetic input; none of them is raised."""
        structure = self.structure
        inputs = Encoded(self._trial(), None) if text is None else self.encode(text, pair)
        stacks = structure.stacks
        if text is not None and inputs.target is None and is_encoder_decoder(self.hf_model):
            stacks = tuple(name for name in stacks if name == "encoder")
        laws: list[LayerLaws] = []
        for stack in stacks:
            sites = structure.stack(stack)
            reasons = {site.layer: site.step_reason for site in sites}

            def visit(_: int, record: LayerRecord, reasons: dict[int, str | None] = reasons) -> None:
                laws.append(LayerLaws(record.stack, record.layer, check(record), reasons[record.layer]))

            self.run(inputs, visit, sites=sites)
        return Verification(self.name, tuple(laws), self.tolerance, structure.refusals, structure.others)

    def verify(self, text: Any = None, pair: str | None = None) -> Verification:
        """Prove that the parts add up to what the model computed, or raise `UnsupportedModel` with the reason."""
        verification = self.check_laws(text, pair)
        verification.raise_if_failed()
        return verification

    @contextlib.contextmanager
    def _evaluating(self) -> Generator[None]:
        """Dropout off while a pass runs."""
        training = [module for module in self.hf_model.modules() if module.training]
        for module in training:
            module.training = False
        try:
            yield
        finally:
            for module in training:
                module.training = True


def _inner_model(wrapped: Any) -> PreTrainedModel:
    """The Transformers model inside a PEFT wrapper, whose adapters act in its modules."""
    inner = wrapped.get_base_model() if hasattr(wrapped, "get_base_model") else None
    if not isinstance(inner, PreTrainedModel):
        raise InputError(
            f"Model() takes a Transformers or PEFT model, not {type(wrapped).__name__}; load a path with "
            "Model.from_pretrained"
        )
    return inner


def _seeded(model: PreTrainedModel, inputs: Mapping[str, Any]) -> list[torch.Tensor]:
    """The tensors a model puts out; models that draw random numbers (masked autoencoders) draw the same each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return [tensor for _, tensor in tensors_in(call(model, inputs)) if tensor.is_floating_point()]


def _same(found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> bool:
    """Whether two passes put out the same, to rounding."""
    tolerance = 1e-4 if all(tensor.dtype in {torch.float32, torch.float64} for tensor in expected) else 5e-2
    return len(found) == len(expected) and all(
        one.shape == other.shape
        and torch.allclose(one, other, rtol=tolerance, atol=tolerance * _size(other), equal_nan=True)
        for one, other in zip(found, expected, strict=True)
    )


def _size(tensor: torch.Tensor) -> float:
    return float(torch.nan_to_num(tensor).abs().max()) if tensor.numel() else 0.0


def _lengths(item: Encoded, site: Site) -> tuple[int, int]:
    """The real (query, key) lengths of a text; everything the model has made of it where that can't be told."""
    source = _EVERYTHING if item.source is None else sum(item.source.real)
    target = _EVERYTHING if item.target is None else sum(item.target.real)
    return {"decoder": (target, target), "cross": (target, source)}.get(site.stack, (source, source))


def _is_padded(item: Encoded) -> bool:
    masks = (item.inputs.get("attention_mask"), item.inputs.get("decoder_attention_mask"))
    return any(mask is not None and mask.ndim == 2 and not bool(mask.all()) for mask in masks)


def _out_of_memory(model: Model) -> str:
    return (
        f"out of memory while analysing with {model.name}; ask for fewer layers or measures, shorten the text, or use "
        "reduce= so that long texts are done in blocks"
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
