"""The axis glossary: the only place that names axes.

Annotations, einsum letters, dimensions of results, messages and labels all take their names from here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LAYER: Final = "layer"
HEAD: Final = "head"
QUERY: Final = "query"
KEY: Final = "key"
MODEL: Final = "model"
VALUE: Final = "value"
SOURCE: Final = "source"
CATEGORY: Final = "category"
LAG: Final = "lag"
STEP: Final = "step"

GLOSSARY: Final[Mapping[str, str]] = MappingProxyType(
    {
        LAYER: "Transformer layer, counted from 1",
        HEAD: "attention head of a layer, counted from 1",
        QUERY: "the token that looks",
        KEY: "the token that is looked at",
        MODEL: "width of the residual stream",
        VALUE: "width of one head",
        SOURCE: "token before layer 1",
        CATEGORY: "kind of token, such as [SEP] or punctuation",
        STEP: "token for which an output is explained",
        LAG: "position of the key minus position of the query",
    }
)
