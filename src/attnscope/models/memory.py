"""Running out of memory, on any device, told as what to lower."""

import contextlib
from collections.abc import Generator

import torch

from attnscope.errors import InputError

_SIGNS = ("out of memory", "not enough memory", "can't allocate memory", "ALLOC_FAILED")
"""What torch writes where it has no error of its own for it."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error is one of memory, and so neither the model's nor the input's."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def within_memory(name: str) -> contextlib.AbstractContextManager[None]:
    """Work on a model, of any kind: what it asks for may be too much."""
    return _told(
        f"out of memory while analysing with {name}; ask for fewer layers or measures, shorten the text, or use "
        "reduce= so that long texts are done in blocks"
    )


def fitting(name: str) -> contextlib.AbstractContextManager[None]:
    """A model on its way into memory, which may be too small for it."""
    return _told(f"{name} does not fit in memory; load it in half precision (dtype bfloat16) or on another device")


@contextlib.contextmanager
def _told(sentence: str) -> Generator[None]:
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(sentence) from error
