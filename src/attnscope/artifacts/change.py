"""What changed from one model to another, on one text."""

from typing import Literal

from attnscope.artifacts.value import Value


class Change(Value):
    """How far the maps of two models lie apart, by layer and head, and which words gained and lost.

    Arrays, each float32, with one head where `heads` is empty:

    jensen_shannon    (layer, head): divergence of the rows, in nats
    total_variation   (layer, head): share of a row that moved to other keys
    cosine            (layer, head): cosine similarity of the rows
    spearman          (layer, head): rank correlation of the rows
    word_change       (word): what a word gets, after less before, in even shares, mean over layers
    """

    kind: Literal["change"] = "change"
    model: str
    """Both."""
    measure: str
    base: str
    tuned: str
    unit: Literal["token", "word"]
    stack: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    layer_match: str
    """How layers and heads of the two were matched: by number where both have as many."""
    words: tuple[str, ...]
    summary: tuple[str, ...]
    """What was found, in sentences."""
    reconstruction_error: float
