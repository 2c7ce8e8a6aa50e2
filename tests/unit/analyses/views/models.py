"""Tiny models of each kind that a view may be asked about."""

import functools

import attnscope as ats
from tests import zoo
from tests.conftest import zoo_model

TEXT = "the cat sat on the mats, not good."


@functools.cache
def with_head(name: str, head: str) -> ats.Model:
    kind = zoo.SPECS[name].tokenizer
    assert kind is not None
    return ats.Model(zoo.build_head(name, head), zoo.tokenizer(kind), name=f"{name} {head}")


def classifier() -> ats.Model:
    return with_head("bert", "AutoModelForSequenceClassification")


def other_classifier() -> ats.Model:
    model = zoo.build_head("bert", "AutoModelForSequenceClassification", seed=1)
    return ats.Model(model, zoo.tokenizer("bert"), name="other")


KINDS = {
    "classifier": classifier,
    "headless": lambda: zoo_model("roberta"),
    "causal": lambda: with_head("gpt2", "AutoModelForCausalLM"),
    "masked": lambda: with_head("bert", "AutoModelForMaskedLM"),
    "questions": lambda: with_head("bert", "AutoModelForQuestionAnswering"),
    "tokens": lambda: with_head("bert", "AutoModelForTokenClassification"),
    "translator": lambda: with_head("marian", "AutoModelForSeq2SeqLM"),
    "translator without a head": lambda: zoo_model("t5"),
}
