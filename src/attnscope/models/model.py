"""A model whose attention can be read: the Hugging Face model, its tokenizer, and what was found out about it."""

import contextlib
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from attnscope.decompose.laws import LawErrors, check
from attnscope.errors import AttnscopeError, InputError, UnsupportedModel, one_of
from attnscope.models.attribution import Attribution, Explainer, decompose
from attnscope.models.capture import Capture, NotCaptured, VisitorFailed
from attnscope.models.cuts import refusing_cuts
from attnscope.models.dispatch import call, configs_of, eagerly, listening
from attnscope.models.encode import (
    Encoded,
    collate,
    encode_image,
    encode_tensors,
    encode_text,
    encode_windows,
    is_encoder_decoder,
    reads_twice,
    with_own_target,
    with_second_reading,
)
from attnscope.models.finite import check_finite, check_loaded
from attnscope.models.memory import is_out_of_memory, within_memory
from attnscope.models.plainly import plainly
from attnscope.models.probe import probe_inputs
from attnscope.models.prompts import refuse_prompts
from attnscope.models.replays import whole_layer_errors
from attnscope.models.rerun import Change, rerun
from attnscope.models.structure import Site, Structure, discover
from attnscope.models.targets import Position, Target
from attnscope.models.trace import Tap, Tracer, tensors_in
from attnscope.models.variants import Decisions, Variant, decide
from attnscope.models.verification import TOLERANCE, LayerLaws, Verification
from attnscope.record import LayerRecord

Visitor = Callable[[int, LayerRecord], None]
_EVERYTHING = 1 << 60
_HEADS = ("Classification", "QuestionAnswering", "NextSentencePrediction", "LMHeadModel", "ForCausalLM", "MaskedLM")
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
        check_loaded(self.hf_model, self.name)
        self._example = example
        self._tokenizer_trouble: str | None = None
        """Why there is none, where one is kept beside the model."""
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
        model = cls(loaded.model, loaded.tokenizer, processor=loaded.processor, name=loaded.name)
        model._tokenizer_trouble = loaded.tokenizer_trouble
        return model

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {type(self.hf_model).__name__})"

    @cached_property
    def structure(self) -> Structure:
        """Where the model's attention layers are, and how each reaches the residual stream."""
        with self._lock, plainly(self.hf_model), within_memory(self.name), torch.no_grad():
            tracer = Tracer(self.hf_model)
            try:
                inputs = self._trial()
                with tracer.watching(), listening(self.hf_model, tracer.attend):
                    observed = _seeded(self.hf_model, inputs)
                with eagerly(self.hf_model):
                    plain = _seeded(self.hf_model, inputs)
                if not all(bool(torch.isfinite(tensor).all()) for tensor in plain):
                    check_finite(self.hf_model, self.name)
                used = self._used_attention(inputs, plain)
                structure = discover(self.hf_model, tracer.trace, is_encoder_decoder(self.hf_model))
            except AttnscopeError:
                raise
            except _FROM_MODELS as error:
                if is_out_of_memory(error):
                    raise
                raise UnsupportedModel(
                    self.name, f"a small trial pass failed (example= takes inputs for one): {_first_line(error)}"
                ) from error
        if not _same(observed, plain):
            raise UnsupportedModel(self.name, "observed, it puts out something else than it does by itself")
        if used is not None:
            raise UnsupportedModel(
                self.name,
                f"with the attention it is set to ({used}) it puts out something else than with eager attention, whose "
                "weights are the ones that can be seen; if eager is meant, load it with attn_implementation='eager'",
            )
        if not structure.sites:
            reasons = "; ".join(f"{refusal.module}: {refusal.reason}" for refusal in structure.refusals[:3])
            raise UnsupportedModel(self.name, reasons or "no softmax attention was seen in a trial pass")
        return structure

    def _used_attention(self, inputs: Mapping[str, Any], plain: Sequence[torch.Tensor]) -> str | None:
        """The attention the model is set to, if that gives other numbers than eager attention does.

        It happens where an implementation leaves out a mask or a sink. In half precision rounding alone may send a
        token to another expert, so nothing could be told there; and one that can't run here computes nothing.
        """
        names = {str(config._attn_implementation) for config in configs_of(self.hf_model)} - {"eager", "None"}
        if not names or self.hf_model.dtype not in {torch.float32, torch.float64}:
            return None
        try:
            return None if _same(_seeded(self.hf_model, inputs), plain) else ", ".join(sorted(names))
        except (*_FROM_MODELS, ImportError, StopIteration):  # its package or device is missing, say
            return None

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
        preferred = ["cross"] if pair and self.translates else []
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
        """One input: a text (with a pair or a target), an image, a mapping of ready tensors, or what this has made."""
        if pair is not None and not isinstance(text, str):
            raise InputError("a pair belongs to a text; ready tensors and images have none")
        if isinstance(text, Encoded):
            return text
        self._check_tokenizer(text)
        inputs = self._encode(text, pair)
        if not self._reads_twice or inputs.target is not None:
            return inputs
        with self._running():
            return with_second_reading(self.hf_model, self.tokenizer, inputs)

    def _encode(self, text: Any, pair: str | None) -> Encoded:
        if isinstance(text, Mapping):
            return encode_tensors(self.hf_model, self.tokenizer, text)
        if isinstance(text, str) or self.hf_model.main_input_name != "pixel_values":
            return encode_text(self.hf_model, self.tokenizer, text, pair)
        return encode_image(self.hf_model, self.processor, text)

    def _check_tokenizer(self, text: Any) -> None:
        if isinstance(text, str) and self.tokenizer is None and self._tokenizer_trouble is not None:
            raise InputError(self._tokenizer_trouble)

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether the model has an encoder and a decoder."""
        return is_encoder_decoder(self.hf_model)

    @property
    def translates(self) -> bool:
        """Whether the model reads a source and writes a target, rather than decide on one text that it reads twice."""
        return self.is_encoder_decoder and not self._reads_twice

    @property
    def _reads_twice(self) -> bool:
        return reads_twice(self.hf_model)

    def encode_for_decision(self, text: Any, pair: str | None = None) -> Encoded:
        """An input whose output is to be explained: where the target of an encoder–decoder is not given, its own."""
        inputs = self.encode(text, pair)
        if not self.translates or "decoder_input_ids" in inputs.inputs:
            return inputs
        with self._running():
            return with_own_target(self.hf_model, self.tokenizer, inputs)

    def encode_windows(self, text: str, stride: int) -> list[Encoded]:
        """A long text as overlapping windows, `stride` tokens apart."""
        self._check_tokenizer(text)
        return encode_windows(self.hf_model, self.tokenizer, text, stride)

    def run(
        self,
        inputs: Encoded | Sequence[Encoded],
        visit: Visitor,
        *,
        sites: Sequence[Site] | None = None,
        rows: int | None = None,
        tails: bool = False,
    ) -> None:
        """One forward pass; `visit` gets each layer's record as the layer has finished, one layer in memory.

        The pass calls the visitor rather than handing out an iterator, because the model's own code is what runs
        in between. With `rows`, weights are computed in blocks of that many query rows, again when they are read.
        With `tails`, records reach to the end of their layer, behind the feed-forward block.
        """
        batch = [inputs] if isinstance(inputs, Encoded) else list(inputs)
        wanted = self.sites() if sites is None else tuple(sites)
        wanted = wanted if tails else tuple(site.without_tail() for site in wanted)
        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        lengths = [(_EVERYTHING, _EVERYTHING) if len(batch) == 1 else _lengths(item, wanted[0]) for item in batch]
        capture = Capture(self.hf_model, wanted, visit, lengths=lengths, rows=rows)
        with self._lock, plainly(self.hf_model), within_memory(self.name):
            try:
                capture.forward(collate(batch, pad))
            except VisitorFailed as failure:
                raise (failure.__cause__ or failure) from None
            except NotCaptured as error:
                raise UnsupportedModel(self.name, str(error)) from error
            except _FROM_MODELS as error:
                if is_out_of_memory(error):
                    raise
                raise InputError(f"{self.name} can't be run on this input: {_first_line(error)}") from error
        if capture.missed:
            names = ", ".join(site.module for site in capture.missed[:3])
            raise UnsupportedModel(self.name, f"with this input the pass did not go through {names}")

    def records(
        self, text: Any, pair: str | None = None, *, stack: str | None = None, tails: bool = False
    ) -> list[LayerRecord]:
        """All records of one text at once: for small models, and for looking at things by hand."""
        found: list[LayerRecord] = []
        stack = stack or self.default_stack(pair is not None)
        inputs = self.encode(text, pair)
        self.run(inputs, lambda _, record: found.append(record), sites=self.sites(stack), tails=tails)
        return found

    def sources(self) -> tuple[Tap, ...]:
        """Where the states enter the first layer, of the encoder and of the decoder if there are two."""
        stacks = self.structure.stacks
        if is_encoder_decoder(self.hf_model):
            names = [name for name in ("encoder", "decoder") if name in stacks]
        elif len(stacks) == 1:
            names = [stacks[0]]
        else:
            listed = ", ".join(stacks)
            raise UnsupportedModel(self.name, f"it has several stacks of layers ({listed}) that no decision joins")
        firsts = [self.sites(name)[0] for name in names]
        for site in firsts:
            if site.step is None:
                raise UnsupportedModel(self.name, f"the states before layer 1 were not found: {site.step_reason}")
        return tuple(site.step.residual.tap for site in firsts if site.step is not None)

    def layer_ends(self) -> tuple[tuple[int, Tap], ...]:
        """Where each layer ends, by its number: the decoder's layers, where there are an encoder and a decoder."""
        name = "decoder" if self.is_encoder_decoder else self.default_stack()
        sites = self.sites(name)
        closing = {site.layer: site for site in self.structure.sites if site.stack == "cross"} | {
            site.layer: site for site in sites if site.tail is not None
        }
        ends: list[tuple[int, Tap]] = []
        for site, following in zip(sites, [*sites[1:], None], strict=True):
            last = closing.get(site.layer)
            if last is not None and last.tail is not None:
                ends.append((site.layer, last.tail.output))
            elif following is not None and following.step is not None and following.layer == site.layer + 1:
                ends.append((site.layer, following.step.residual.tap))
            else:
                raise UnsupportedModel(self.name, f"the end of layer {site.layer} was not found: {site.tail_reason}")
        return tuple(ends)

    @property
    def has_logits(self) -> bool:
        """Whether the model has a head whose logits can be explained."""
        return self.hf_model.get_output_embeddings() is not None or any(
            head in type(self.hf_model).__name__ for head in _HEADS
        )

    def attribute(
        self,
        inputs: Encoded,
        choice: Any = None,
        position: Position = None,
        *,
        by: Explainer = decompose,
        taps: Sequence[Tap] | None = None,
    ) -> tuple[list[Attribution], Target]:
        """What each token contributes to one logit or several, by a backward pass each, and what these are called.

        by     how it is worked out: the exact decomposition, or another explainer (`gradients.py`, `attnlrp.py`)
        taps   the states that are asked about; those that enter the first layer if None
        """
        taps = self.sources() if taps is None else taps
        target = Target.of(self, inputs, choice, position)
        with self._running(), refusing_cuts(self.hf_model, self.name):
            return by(self.hf_model, inputs.inputs, taps, target), target

    def decide(self, variants: Sequence[Variant], classes: Sequence[int], *, budget: int = 4096) -> Decisions:
        """The probability of each variant's class, many variants in a pass of at most `budget` tokens."""
        pad = getattr(self.hf_model.config.get_text_config(), "pad_token_id", None)
        pad = getattr(self.tokenizer, "pad_token_id", None) if pad is None else pad
        with self._running():
            return decide(self.hf_model, variants, classes, pad, budget)

    def rerun(
        self,
        inputs: Encoded,
        changes: Mapping[Tap, Sequence[Change]],
        *,
        copies: int = 1,
        frozen: bool = False,
        with_biases: bool = False,
    ) -> Any:
        """One pass over copies of a text in which `changes` may change what passes by: see `rerun.py`."""
        with self._running():
            try:
                return rerun(
                    self.hf_model, inputs.inputs, changes, copies=copies, frozen=frozen, with_biases=with_biases
                )
            except ValueError as error:
                if self.is_encoder_decoder and "decoder_input_ids" not in inputs.inputs:
                    raise InputError(
                        f"{self.name} writes a text, and what was asked runs it to its end; give a second text as what "
                        "it has written so far"
                    ) from error
                raise

    @contextlib.contextmanager
    def _running(self) -> Generator[None]:
        """The model to itself, in evaluation, and what it raises as a sentence."""
        with self._lock, plainly(self.hf_model), within_memory(self.name):
            try:
                yield
            except AttnscopeError:
                raise
            except _FROM_MODELS as error:
                if is_out_of_memory(error):
                    raise
                raise UnsupportedModel(self.name, f"its derivatives can't be had: {_first_line(error)}") from error

    def check_laws(self, text: Any = None, pair: str | None = None) -> Verification:
        """The reconstruction errors of every layer, on a text or on a small synthetic input; none of them is raised."""
        structure = self.structure
        inputs = Encoded(self._trial(), None) if text is None else self.encode(text, pair)
        stacks = structure.stacks
        if text is not None and inputs.target is None and self.is_encoder_decoder:
            stacks = tuple(name for name in stacks if name == "encoder")
        laws: list[LayerLaws] = []
        for stack in stacks:
            laws += self._check_stack(inputs, structure.stack(stack))
        return Verification(self.name, tuple(laws), self.tolerance, structure.refusals, structure.others)

    def _check_stack(self, inputs: Encoded, sites: Sequence[Site]) -> list[LayerLaws]:
        """Laws 1 and 2 as the layers pass by, and Law 3 where their ends are known."""
        found: list[tuple[LayerRecord, LawErrors]] = []
        self.run(inputs, lambda _, record: found.append((record, check(record))), sites=sites, tails=True)
        ends = [(site, record) for site, (record, _) in zip(sites, found, strict=True) if record.tail is not None]
        errors, reason = dict[int, float](), None
        try:
            errors = {
                record.layer: error
                for (_, record), error in zip(ends, whole_layer_errors(self, inputs, ends), strict=True)
            }
        except UnsupportedModel as error:
            reason = error.reason
        return [
            LayerLaws(
                record.stack,
                record.layer,
                replace(laws, layer=errors.get(record.layer)),
                site.step_reason,
                reason or site.tail_reason,
            )
            for site, (record, laws) in zip(sites, found, strict=True)
        ]

    def verify(self, text: Any = None, pair: str | None = None) -> Verification:
        """Prove that the parts add up to what the model computed, or raise `UnsupportedModel` with the reason."""
        verification = self.check_laws(text, pair)
        verification.raise_if_failed()
        return verification


def _inner_model(wrapped: Any) -> PreTrainedModel:
    """The Transformers model inside a PEFT wrapper, whose adapters act in its modules, or inside a compiled one."""
    if isinstance(inner := getattr(wrapped, "_orig_mod", None), PreTrainedModel):
        return inner
    wrapped = wrapped if inner is None else inner
    inner = wrapped.get_base_model() if hasattr(wrapped, "get_base_model") else None
    if not isinstance(inner, PreTrainedModel):
        raise InputError(
            f"Model() takes a Transformers or PEFT model, not {type(wrapped).__name__}; load a path with "
            "Model.from_pretrained"
        )
    refuse_prompts(wrapped, inner.config.name_or_path or type(inner).__name__)
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


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
