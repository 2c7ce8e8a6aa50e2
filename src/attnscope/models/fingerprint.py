"""What a model's results depend on, as one short name: its parameters, its configuration, its tokenizer."""

import hashlib
import json
from typing import Any

import torch

from attnscope.models.model import Model

_BLOCK = 1 << 24
"""Numbers that are copied at a time, where a tensor has to be."""


def fingerprint(model: Model) -> str:
    """The same for models that answer alike, wherever they were loaded from and whatever was merged into them."""
    found = hashlib.sha256()
    found.update(json.dumps([type(model.hf_model).__name__, _settings(model.hf_model.config)], default=str).encode())
    found.update(_reader(model.tokenizer).encode(errors="surrogatepass"))
    tensors = [*model.hf_model.named_parameters(), *model.hf_model.named_buffers()]
    for name, tensor in sorted(tensors, key=lambda named: named[0]):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        for block in tensor.detach().reshape(-1).split(_BLOCK):
            found.update(block.cpu().contiguous().view(torch.uint8).numpy().data)
    return found.hexdigest()


def _settings(config: Any) -> dict[str, Any]:
    """The configuration, less the place it was read from."""
    settings = config.to_dict()
    return {name: settings[name] for name in sorted(settings) if name not in {"_name_or_path", "transformers_version"}}


def _reader(tokenizer: Any) -> str:
    """All that a tokenizer does, where it can say so; else what it knows."""
    if tokenizer is None:
        return "none"
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else json.dumps(tokenizer.get_vocab(), sort_keys=True)
    options = {
        name: value
        for name, value in sorted(tokenizer.init_kwargs.items())
        if isinstance(value, str | int | float) and not name.endswith(("_path", "_file"))
    }
    return f"{type(tokenizer).__name__} {rules} {options}"
