"""Small synthetic inputs, with which a model's structure is found before any text has been given."""

from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnscope.models.encode import is_encoder_decoder, position_limit, reads_twice

SOURCE, TARGET = 9, 6
"""Different lengths, so that cross-attention shows in the shapes."""


def probe_inputs(model: PreTrainedModel) -> dict[str, Tensor]:
    """Inputs of the kind the model takes as its main one."""
    generator = torch.Generator().manual_seed(0)
    name = model.main_input_name
    make = {"pixel_values": _pixels, "input_features": _features, "input_values": _samples}.get(name, _ids)
    inputs = make(model, generator)
    if reads_twice(model):
        return _ended(model, inputs)
    if is_encoder_decoder(model):
        inputs["decoder_input_ids"] = _random_ids(model, TARGET, generator)
    return {name: tensor.to(model.device) for name, tensor in inputs.items()}


def _ended(model: PreTrainedModel, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """With the end token, at which classifiers that read a text twice decide."""
    end = model.config.eos_token_id
    if end is not None:
        inputs["input_ids"][0, -1] = end[0] if isinstance(end, list) else end
    return {name: tensor.to(model.device) for name, tensor in inputs.items()}


def _ids(model: PreTrainedModel, generator: torch.Generator) -> dict[str, Tensor]:
    length = min(SOURCE, position_limit(model) or SOURCE)
    ids = _random_ids(model, length, generator)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def _random_ids(model: PreTrainedModel, length: int, generator: torch.Generator) -> Tensor:
    """Ids that are no special tokens (padding changes positions, an end token may end more than a sentence)."""
    config = model.config.get_text_config()
    vocabulary = getattr(config, "vocab_size", None) or _rows(model.get_input_embeddings())
    avoided = {v for name, v in vars(config).items() if name.endswith("_token_id") and isinstance(v, int)}
    allowed = torch.tensor([i for i in range(vocabulary) if i not in avoided])
    return allowed[torch.randint(len(allowed), (1, length), generator=generator)]


def _rows(embeddings: Any) -> int:
    return embeddings.weight.shape[0]


def _pixels(model: PreTrainedModel, generator: torch.Generator) -> dict[str, Tensor]:
    config: Any = getattr(model.config, "vision_config", model.config)
    size = config.image_size
    height, width = size if isinstance(size, list | tuple) else (size, size)
    pixels = torch.randn(1, getattr(config, "num_channels", 3), height, width, generator=generator)
    return {"pixel_values": pixels.to(model.dtype)}


def _features(model: PreTrainedModel, generator: torch.Generator) -> dict[str, Tensor]:
    config = model.config
    if not hasattr(config, "num_mel_bins"):
        raise LookupError("no probe is known for its input_features")
    frames = 2 * getattr(config, "max_source_positions", 50)
    features = torch.randn(1, config.num_mel_bins, frames, generator=generator)
    return {"input_features": features.to(model.dtype)}


def _samples(model: PreTrainedModel, generator: torch.Generator) -> dict[str, Tensor]:
    return {"input_values": torch.randn(1, 4000, generator=generator).to(model.dtype)}
