"""An artifact and its arrays, as they travel: typed values and raw numbers in one piece of bytes.

The bytes are of the safetensors format: the arrays as they lie in memory, and the artifact as JSON in the metadata. A
browser reads them without a copy, and numbers are never written out as text.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from attnscope.artifacts.value import Value

Arrays = Mapping[str, NDArray[np.generic]]
_KEY = "artifact"
_LENGTH = 8
"""Bytes that say how long the header is."""


@dataclass(frozen=True)
class Parcel:
    """An artifact, and the arrays that its docstring names."""

    artifact: Value
    arrays: Arrays

    def to_bytes(self) -> bytes:
        """Everything as one piece."""
        contiguous = {name: np.ascontiguousarray(array) for name, array in self.arrays.items()}
        return save(contiguous, metadata={_KEY: self.artifact.model_dump_json()})

    @classmethod
    def from_bytes(cls, data: bytes, read: Callable[[str], Value]) -> "Parcel":
        """What `to_bytes` made; `read` makes the artifact of JSON, such as `Maps.model_validate_json`."""
        size = int.from_bytes(data[:_LENGTH], "little")
        text = json.loads(data[_LENGTH : _LENGTH + size])["__metadata__"][_KEY]
        return cls(read(text), load(data))
