"""The traced graph: which words reach a target, through which tokens and heads (METHODS 7).

Levels are counted as layers are: level l holds the tokens behind layer l, level 0 the words before layer 1. An edge of
layer l leads from a token at level l, the query, down to one at level l − 1, the key. Tokens are numbered from 0 in
the order of the text, layers and heads from 1.
"""

from typing import Literal

from attnscope.artifacts.value import Value

Reading = Literal["direct", "cumulative", "flow"]
Scale = Literal["share", "value"]
Where = Literal["base", "tuned", "both"]


class FlowTarget(Value):
    """What was traced: a token behind the top layer, or a logit."""

    kind: Literal["token", "logit"]
    label: str
    token: int | None = None
    """None for a logit."""
    value: float | None = None
    """The logit's value; None for a token."""


class FlowNode(Value):
    """A token at a level that the target draws on, or the target itself."""

    layer: int
    token: int | None
    """None for a logit, which stands above all tokens."""
    influence: float
    """How many (head, query) pairs lead here, and `decay` times the influence of those queries; 0 for the target."""
    share: float
    """The influence as a share of its level's; 1 for the target."""


class FlowEdge(Value):
    """A query that draws on a key with at least the threshold."""

    layer: int
    query: int | None
    """None for a logit."""
    key: int
    heads: tuple[int, ...]
    """The heads that pass the threshold; empty where the measure is of all heads together."""
    strength: float
    """The largest value over the heads, on the scale of the threshold."""


class Histogram(Value):
    """How the values lie that a threshold is compared with: `counts[i]` of them from `edges[i]` to `edges[i + 1]`."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


class Flow(Value):
    """The traced graph of one text in one model."""

    kind: Literal["flow"] = "flow"
    model: str
    text: str | None
    pair: str | None
    measure: str
    reading: Reading
    stack: str
    unit: Literal["token", "word"]
    tokens: tuple[str, ...]
    """Labels, all different."""
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    """The heads that were looked at; empty where the measure is of all heads together."""
    target: FlowTarget
    threshold: float
    by: Scale
    decay: float
    nodes: tuple[FlowNode, ...]
    edges: tuple[FlowEdge, ...]
    values: Histogram
    reconstruction_error: float


class NodeChange(Value):
    """A token at a level, in the graphs of two models; a share is None in a model whose target does not draw on it."""

    layer: int
    token: int | None
    where: Where
    base_share: float | None
    tuned_share: float | None


class EdgeChange(Value):
    """An edge of either graph, or of both; a strength is None in a graph without it."""

    layer: int
    query: int | None
    key: int
    where: Where
    base_heads: tuple[int, ...]
    tuned_heads: tuple[int, ...]
    base_strength: float | None
    tuned_strength: float | None


class FlowChange(Value):
    """The traced graphs of one text in two models, laid over each other."""

    kind: Literal["flow_change"] = "flow_change"
    base: Flow
    tuned: Flow
    nodes: tuple[NodeChange, ...]
    edges: tuple[EdgeChange, ...]
