"""Whether a model's decision depends on the tokens that a method names."""

from typing import Literal

from attnscope.artifacts.value import Value


class Faithfulness(Value):
    """How far the probability falls as the tokens a method ranks highest are taken away, and how far if only they stay.

    Arrays, each float32:

    comprehensiveness   (method, fraction): the fall without the tokens
    sufficiency         (method, fraction): the fall with nothing but the tokens
    aopc                (method): the mean of the comprehensiveness over the fractions
    """

    kind: Literal["faithfulness"] = "faithfulness"
    model: str
    methods: tuple[str, ...]
    """The control, "random", is always among them."""
    percent: tuple[float, ...]
    probability: float
    """Of the decision, for the whole text."""
    verdicts: tuple[str, ...]
    """For each method."""
    verdict: str
