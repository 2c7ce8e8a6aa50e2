"""What the browser is told when it opens: which models there are, and what can be asked of them."""

from typing import Literal

from attnscope.artifacts.flow import Reading
from attnscope.artifacts.value import Value


class ModelInfo(Value):
    """One of the models."""

    name: str
    architecture: str
    layers: int
    """How many attention layers the default stack has."""
    heads: int
    stacks: tuple[str, ...]
    """The default one first."""
    classes: tuple[str, ...]
    """What it decides between; empty where it is no classifier."""
    has_logits: bool
    causal: bool
    """Whether no token takes anything from a later one."""
    reconstruction_error: float
    tolerance: float
    words_shared: bool
    """Whether the other model, if there is one, cuts texts into the same tokens."""


class Slots(Value):
    """Model A, and model B to compare it with."""

    a: ModelInfo
    b: ModelInfo | None


class Availability(Value):
    """In which of the models something can be had, and why not where it can't."""

    a: bool
    b: bool
    reason: str | None


class MeasureInfo(Value):
    """A map from keys to queries: a measure of each layer, or the whole model's exact parts."""

    name: str
    title: str
    summary: str
    formula: str
    paper: str
    per_head: bool
    readings: tuple[Reading, ...]
    """How maps of it can be read."""
    units: tuple[Literal["token", "word"], ...]
    available: Availability


class MethodInfo(Value):
    """A way of attributing a decision to tokens."""

    name: str
    title: str
    summary: str
    paper: str
    signed: bool
    exact: bool


class Limits(Value):
    """What is too long."""

    characters: int
    """Of a text, and of a pair."""
    tokens: int
    """Of both together."""
    body_bytes: int


class Example(Value):
    """A text to open with."""

    text: str
    pair: str | None


class CorpusInfo(Value):
    """The texts that can be searched."""

    name: str
    texts: int


class Session(Value):
    """Everything the browser needs to know before it asks."""

    version: str
    models: Slots
    measures: tuple[MeasureInfo, ...]
    most_flow: int
    """Tokens, or words, up to which maximum flows are worked out."""
    methods: tuple[MethodInfo, ...]
    limits: Limits
    demo: Example | None
    corpus: CorpusInfo | None
