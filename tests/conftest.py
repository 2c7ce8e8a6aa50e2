"""What holds for every test: one thread for each process, no network, no noise from the model library."""

import os

os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import functools

import pytest
import torch
import transformers
from hypothesis import HealthCheck, settings

import attnscope as ats
from attnscope.measures import MEASURES
from tests import zoo

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


OF_ATTENTION = [name for name, measure in MEASURES.items() if not measure.needs_tail and not measure.self_only]
"""The measures that every attention layer has: of the attention and its block."""


@functools.cache
def zoo_model(name: str) -> ats.Model:
    """A model of the zoo with its tokenizer. Shared between tests: nobody may change it for good."""
    kind = zoo.SPECS[name].tokenizer
    return ats.Model(zoo.build(name), None if kind is None else zoo.tokenizer(kind), name=name)


@pytest.fixture
def bert() -> ats.Model:
    return zoo_model("bert")
