"""What each word has to do with a decision, and how much attention it gets."""

from typing import Literal

from attnscope.artifacts.tokens import TokenList
from attnscope.artifacts.value import Value


class Words(Value):
    """What each token, or word, contributes to a logit, beside the attention it receives.

    Arrays:

    contribution   float32 (token): what it adds to the target, in logits; only where there is a decision
    last           float32 (token): the same of the states that enter the last layer, where that is known
    weight         float32 (token): share that the deciding token gives it in the last layer, by weight, mean over heads
    norm           float32 (token): the same by attention_norm
    layer_weight   float32 (layer, token): share it receives by weight, mean over heads and queries
    layer_norm     float32 (layer, token): the same by attention_norm
    """

    kind: Literal["words"] = "words"
    model: str
    measure: Literal["contribution"] = "contribution"
    tokens: TokenList
    unit: Literal["token", "word"]
    stack: str
    layers: tuple[int, ...]
    query: int
    """The token from which `weight` and `norm` look: the one that decides."""
    target: str | None
    """None where the model decides nothing on this text."""
    classes: tuple[str, ...]
    """What can be asked for as a target: the classes, or the likeliest tokens."""
    target_value: float | None
    probability: float | None
    bias: float | None
    """What the bias parameters add; None for methods that only rank."""
    completeness_error: float | None
    method: str
    signed: bool
    reason: str | None
    """Why there is no contribution; None where there is."""
    reconstruction_error: float
