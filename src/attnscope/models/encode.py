"""From what a user has (a text, a pair, an image, ready tensors) to what a model takes, with its tokens."""

import contextlib
import inspect
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from attnscope.errors import InputError, TextTooLong
from attnscope.models.dispatch import call
from attnscope.text.tokens import Tokens
from attnscope.text.windows import windows


@dataclass(frozen=True)
class Encoded:
    """One input of a model. `target` are the tokens of the decoder, in encoder–decoder models."""

    inputs: dict[str, Tensor]
    source: Tokens | None
    """None where the input has no tokens of its own: the model's pass tells how many there are."""
    target: Tokens | None = None
    last: int | None = None
    """The token that ends the target; the decoder writes it, but never reads it."""


def encode_text(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, text: str, pair: str | None
) -> Encoded:
    """A text, or two: a pair in one sequence, or source and target of an encoder–decoder."""
    tokenizer = _needed(tokenizer)
    _check_text("text", text)
    if pair is not None:
        _check_text("pair", pair)
    if pair is not None and is_encoder_decoder(model) and not reads_twice(model):
        return _translation(model, tokenizer, text, pair)
    if pair is not None and not _takes_pairs(tokenizer):
        raise InputError(
            f"a pair was given, but {type(tokenizer).__name__} puts nothing between two texts (no segments and no "
            "separator); join them into one text yourself"
        )
    encoding = tokenizer(text, pair, return_special_tokens_mask=True, verbose=False, **_offsets(tokenizer))
    tokens = _tokens(tokenizer, encoding, text, pair)
    _check_known(tokenizer, tokens)
    _check_vocabulary(model, tokens)
    check_length(len(tokens), model, tokenizer)
    return Encoded(_tensors(encoding, tokenizer, model), tokens)


def encode_windows(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, text: str, stride: int
) -> list[Encoded]:
    """A text longer than the model's positions as overlapping windows, `stride` tokens apart, with special tokens."""
    tokenizer = _needed(tokenizer)
    _check_text("text", text)
    if not isinstance(stride, int) or stride < 1:
        raise InputError(f"stride must be a whole number of tokens from 1, not {stride!r}")
    whole = tokenizer(text, return_special_tokens_mask=True, verbose=False, **_offsets(tokenizer))
    limit = position_limit(model, tokenizer)
    special = [bool(flag) for flag in whole["special_tokens_mask"]]
    if limit is None or len(special) <= limit:
        return [encode_text(model, tokenizer, text, None)]
    first, last = special.index(False), len(special) - special[::-1].index(False)
    before, after = range(first), range(last, len(special))
    size = limit - len(before) - len(after)
    encoded = []
    for window in windows(last - first, size, stride):
        chosen = [*before, *range(first + window.start, first + window.stop), *after]
        part: dict[str, Any] = {name: [whole[name][index] for index in chosen] for name in whole}
        part["word_ids"] = [whole.word_ids()[index] for index in chosen] if tokenizer.is_fast else None
        encoded.append(Encoded(_tensors(part, tokenizer, model), _tokens(tokenizer, part, text, None)))
    return encoded


def encode_image(model: PreTrainedModel, processor: Any, image: Any) -> Encoded:
    """An image, through the model's own image processor."""
    if processor is None:
        raise InputError("the model has no image processor (preprocessor_config.json); pass {'pixel_values': tensor}")
    try:
        image = image.convert("RGB") if hasattr(image, "convert") else image
        pixels = processor(images=image, return_tensors="pt")["pixel_values"]
    except (ValueError, TypeError, RuntimeError, AttributeError, KeyError, IndexError) as error:
        raise InputError(f"this can't be read as an image: {str(error).splitlines()[0]}") from error
    return Encoded({"pixel_values": _one_sequence("pixel_values", pixels).to(model.device, model.dtype)}, None)


def encode_tensors(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, inputs: Mapping[str, Any]
) -> Encoded:
    """Ready tensors, one sequence; they are used as they are, but for padding, which is cut off."""
    tensors = {name: _one_sequence(name, value).to(model.device) for name, value in inputs.items()}
    tensors = {name: t.to(model.dtype) if t.is_floating_point() else t for name, t in tensors.items()}
    _check_ids(model, tensors)
    tensors = _without_padding(_without_padding(tensors, ""), "decoder_")
    source = _named_ids(tokenizer, tensors.get("input_ids"))
    target = _named_ids(tokenizer, tensors.get("decoder_input_ids"))
    if not is_encoder_decoder(model):
        return Encoded(tensors, source)
    return Encoded(tensors, source, target)


def _check_ids(model: PreTrainedModel, tensors: Mapping[str, Tensor]) -> None:
    """Ids that the model has, and masks that fit them and pad on the right."""
    for prefix in ("", "decoder_"):
        ids, mask = tensors.get(f"{prefix}input_ids"), tensors.get(f"{prefix}attention_mask")
        size = getattr(model.config.get_text_config(decoder=bool(prefix)), "vocab_size", None)
        if ids is not None and (int(ids.min()) < 0 or (isinstance(size, int) and int(ids.max()) >= size)):
            raise InputError(f"{prefix}input_ids must lie between 0 and {(size or 0) - 1}")
        if mask is None or mask.ndim != 2:
            continue
        if ids is not None and mask.shape != ids.shape:
            raise InputError(
                f"{prefix}attention_mask has shape {tuple(mask.shape)}, {prefix}input_ids {tuple(ids.shape)}"
            )
        if not bool(mask.any()) or bool((mask[:, 1:] > mask[:, :-1]).any()):
            raise InputError(f"the {prefix}attention_mask must be ones and then, for padding on the right, zeros")


def _without_padding(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors of one side up to the end of its text: what a model decides next, it decides at the last token.

    Sound is left as it is: models read its padding, mask or not.
    """
    mask, embeddings = tensors.get(f"{prefix}attention_mask"), tensors.get(f"{prefix}inputs_embeds")
    ids = tensors.get(f"{prefix}input_ids", embeddings)
    if mask is None or mask.ndim != 2 or ids is None:
        return tensors
    width, length = mask.shape[1], int(mask.count_nonzero())

    def has_tokens(name: str, tensor: Tensor) -> bool:
        if name.startswith("decoder_") != bool(prefix) or tensor.ndim < 2 or tensor.shape[1] != width:
            return False
        return tensor is ids or tensor.ndim == 2 or name == "bbox"

    return {name: tensor[:, :length] if has_tokens(name, tensor) else tensor for name, tensor in tensors.items()}


def is_encoder_decoder(model: PreTrainedModel) -> bool:
    """Whether a model has an encoder and a decoder; the configuration says so of an encoder alone, too."""
    stated = bool(getattr(model.config, "is_encoder_decoder", False))
    return stated and "decoder_input_ids" in inspect.signature(model.forward).parameters


def reads_twice(model: PreTrainedModel) -> bool:
    """Whether an encoder–decoder is a classifier, whose decoder reads the same text again; others write another one."""
    name = type(model).__name__
    return is_encoder_decoder(model) and ("Classification" in name or "QuestionAnswering" in name)


def collate(batch: Sequence[Encoded], pad: int) -> dict[str, Tensor]:
    """Several inputs as one, padded on the right and masked."""
    if len(batch) == 1:
        return batch[0].inputs
    inputs = {name: _padded([item.inputs[name] for item in batch], _filler(name, pad)) for name in batch[0].inputs}
    if "decoder_input_ids" in inputs:
        lengths = [item.inputs["decoder_input_ids"].shape[1] for item in batch]
        inputs["decoder_attention_mask"] = _padded([torch.ones(1, length, dtype=torch.long) for length in lengths], 0)
        inputs["decoder_attention_mask"] = inputs["decoder_attention_mask"].to(inputs["decoder_input_ids"].device)
    return inputs


def _padded(tensors: Sequence[Tensor], filler: int) -> Tensor:
    longest = max(tensor.shape[1] for tensor in tensors)
    return torch.cat([nn.functional.pad(t, (0, longest - t.shape[1]), value=filler) for t in tensors])


def _filler(name: str, pad: int) -> int:
    return pad if name.endswith("input_ids") else 0


def position_limit(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None = None) -> int | None:
    """How many tokens the model has positions for; None where there is no limit."""
    found = [limit for name, module in model.named_modules() if (limit := _table_limit(name, module)) is not None]
    config = model.config.get_text_config()
    stated = getattr(config, "max_position_embeddings", None)
    if not found and isinstance(stated, int) and stated > 0:
        found.append(stated)
    stated = getattr(tokenizer, "model_max_length", None)
    if isinstance(stated, int) and 0 < stated < 1_000_000:
        found.append(stated)
    return min(found, default=None)


def _table_limit(name: str, module: nn.Module) -> int | None:
    """The size of a table of learned positions, less the rows before the first position."""
    last = name.rpartition(".")[2].lower()
    if not isinstance(module, nn.Embedding) or not ("position" in last or last == "wpe") or "relative" in last:
        return None
    if any(part in name for part in ("distance", "token_type", "vision", "rel_")):
        return None
    reserved = getattr(module, "offset", None)
    if not isinstance(reserved, int):
        reserved = 0 if module.padding_idx is None else module.padding_idx + 1
    return module.num_embeddings - reserved


def check_length(length: int, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> None:
    """Refuse a text that the model has no positions for."""
    limit = position_limit(model, tokenizer)
    if limit is not None and length > limit:
        raise TextTooLong(length, limit)


def _needed(tokenizer: PreTrainedTokenizerBase | None) -> PreTrainedTokenizerBase:
    if tokenizer is None:
        raise InputError("the model has no tokenizer, so it can't read a text; pass one: Model(hf_model, tokenizer)")
    return tokenizer


def _check_text(what: str, text: Any) -> None:
    if not isinstance(text, str):
        raise InputError(f"the {what} must be a string, not {type(text).__name__}")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"the {what} has lone surrogates, which are no characters; decode it as UTF-8 first")
    if all(unicodedata.category(letter)[0] in "CZ" for letter in text):  # nothing that could be seen
        raise InputError(f"the {what} is empty; give at least one word")


def _check_known(tokenizer: PreTrainedTokenizerBase, tokens: Tokens) -> None:
    """A text of which the tokenizer knows nothing is not analysed as if it had been read."""
    content = [number for number, special in zip(tokens.ids, tokens.special, strict=True) if not special]
    unknown = tokenizer.unk_token_id
    if unknown is not None and content and all(number == unknown for number in content):
        raise InputError(
            "the tokenizer knows no part of this text: all of it is one unknown token; is it the right one?"
        )


def _check_vocabulary(model: PreTrainedModel, tokens: Tokens) -> None:
    """A tokenizer with more tokens than the model has embeddings is another model's."""
    embeddings = model.get_input_embeddings()
    if type(embeddings) is not nn.Embedding or not tokens.ids or max(tokens.ids) < embeddings.num_embeddings:
        return
    place = max(range(len(tokens)), key=tokens.ids.__getitem__)
    raise InputError(
        f"the tokenizer reads {tokens.strings[place]!r} as token {tokens.ids[place]}, but the model has "
        f"{embeddings.num_embeddings} of them; is it the right tokenizer?"
    )


def _takes_pairs(tokenizer: PreTrainedTokenizerBase) -> bool:
    alone, paired = tokenizer("a"), tokenizer("a", "a")
    return len(paired["input_ids"]) > 2 * len(alone["input_ids"]) - tokenizer.num_special_tokens_to_add() or (
        len(set(paired.get("token_type_ids", [0]))) > 1
    )


def _offsets(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    return {"return_offsets_mapping": True} if tokenizer.is_fast else {}


def _tokens(tokenizer: PreTrainedTokenizerBase, encoding: Any, text: str | None, pair: str | None) -> Tokens:
    ids = list(encoding["input_ids"])
    if isinstance(encoding, BatchEncoding) and tokenizer.is_fast:
        word_ids, segments = encoding.word_ids(), encoding.sequence_ids()  # these tell RoBERTa's two texts apart
    else:
        word_ids, segments = encoding.get("word_ids"), encoding.get("token_type_ids")
    return Tokens.from_encoding(
        ids=ids,
        raw=tokenizer.convert_ids_to_tokens(ids),
        special=encoding["special_tokens_mask"],
        text=text,
        pair=pair,
        offsets=encoding.get("offset_mapping"),
        word_ids=word_ids,
        segments=segments,
    )


def _tensors(encoding: Any, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> dict[str, Tensor]:
    names = [name for name in tokenizer.model_input_names if name in encoding]
    return {name: torch.tensor([encoding[name]], device=model.device) for name in names}


def _translation(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, text: str, target: str) -> Encoded:
    """Teacher forcing: the decoder reads its start token and then the target, all but the last token."""
    source = tokenizer(text, return_special_tokens_mask=True, **_offsets(tokenizer))
    goal = tokenizer(text_target=target, return_special_tokens_mask=True, **_offsets(tokenizer))
    source_tokens = _tokens(tokenizer, source, text, None)
    check_length(len(source_tokens), model, tokenizer)
    labels = torch.tensor([goal["input_ids"]], device=model.device)
    decoder_ids = shifted(model, labels)
    start = int(decoder_ids[0, 0])
    shifted_fields: dict[str, Any] = {
        "input_ids": decoder_ids[0].tolist(),
        "special_tokens_mask": [1, *goal["special_tokens_mask"][:-1]],
        "offset_mapping": [(0, 0), *goal["offset_mapping"][:-1]] if tokenizer.is_fast else None,
        "word_ids": [None, *goal.word_ids()[:-1]] if tokenizer.is_fast else None,
    }
    check_length(len(shifted_fields["input_ids"]), model, tokenizer)
    if shifted_fields["input_ids"][1:] != goal["input_ids"][:-1]:
        raise InputError(f"the decoder does not start with token {start} before the target, so words can't be placed")
    inputs = _tensors(source, tokenizer, model) | {"decoder_input_ids": decoder_ids}
    return Encoded(inputs, source_tokens, _tokens(tokenizer, shifted_fields, target, None), goal["input_ids"][-1])


def with_own_target(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, source: Encoded, longest: int = 128
) -> Encoded:
    """The same source with the target that the model writes for it, greedily."""
    if not model.can_generate():
        raise InputError("the model has no head that writes a target; give one as the pair")
    limit = min(longest, position_limit(model, tokenizer) or longest)
    with torch.no_grad():
        generate: Any = model.generate
        written = generate(**source.inputs, do_sample=False, num_beams=1, max_length=limit)
    if written.shape[1] < 2:
        raise InputError("the model writes no target for this source; give one as the pair")
    ids = written[:, :-1]
    return replace(
        source,
        inputs=source.inputs | {"decoder_input_ids": ids},
        target=_named_ids(tokenizer, ids),
        last=int(written[0, -1]),
    )


class _Reached(Exception):
    """The decoder is about to read."""


def with_second_reading(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, source: Encoded) -> Encoded:
    """The same source with what the decoder of a classifier makes of it: the tokens that it reads, shifted.

    They are named, but left to the model to make: it makes others when tokens of the source are taken away.
    """
    seen: list[Tensor] = []

    def catch(_decoder: nn.Module, _args: Any, keywords: dict[str, Any]) -> None:
        seen.append(keywords["input_ids"])
        raise _Reached

    hook = model.get_decoder().register_forward_pre_hook(catch, with_kwargs=True)
    try:
        with torch.no_grad(), contextlib.suppress(_Reached):
            call(model, source.inputs)
    finally:
        hook.remove()
    return replace(source, target=_named_ids(tokenizer, seen[0]))


def shifted(model: PreTrainedModel, labels: Tensor) -> Tensor:
    """The decoder's input for these labels, as the model was trained."""
    prepare = getattr(model, "prepare_decoder_input_ids_from_labels", None)
    if prepare is not None:
        return prepare(labels=labels)
    start = model.config.decoder_start_token_id
    if start is None:
        raise InputError("the configuration has no decoder_start_token_id, so the decoder's first input is unknown")
    return torch.cat([torch.full_like(labels[:, :1], start), labels[:, :-1]], 1)


def _one_sequence(name: str, value: Any) -> Tensor:
    try:
        tensor = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} must be a tensor or nested numbers, not {type(value).__name__}") from error
    if tensor.ndim == 1 and not tensor.is_floating_point():
        tensor = tensor[None]
    # Models of sound read several ids at a time: (1, length, codebook).
    if name.endswith("input_ids") and (tensor.ndim not in {2, 3} or tensor.is_floating_point() or not tensor.numel()):
        raise InputError(f"{name} must be whole numbers of shape (1, length), not {tensor.dtype} {tuple(tensor.shape)}")
    batched = name.endswith(("ids", "mask")) or (name == "pixel_values" and tensor.ndim == 4)
    if batched and tensor.ndim and tensor.shape[0] != 1:
        raise InputError(f"{name} holds {tensor.shape[0]} sequences; give one at a time")
    return tensor


def _named_ids(tokenizer: PreTrainedTokenizerBase | None, ids: Tensor | None) -> Tokens | None:
    if ids is None:
        return None
    if ids.ndim > 2:
        return Tokens.plain([str(place) for place in range(1, ids.shape[1] + 1)])
    numbers = ids[0].tolist()
    if tokenizer is None:
        return Tokens.plain([str(number) for number in numbers])
    special = set(tokenizer.all_special_ids)
    return Tokens.from_encoding(
        ids=numbers,
        raw=tokenizer.convert_ids_to_tokens(numbers),
        special=[number in special for number in numbers],
    )
