"""Every model type of the installed Transformers: works or is refused with a reason, as the documentation says."""

import re

import pytest

from tools.architectures import ATTENTION_ONLY, FAILED, NOT_BUILT, PAGE, REFUSED, WORKS, Verdict, survey

# fmt: off
MUST_WORK = (
    "bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert", "albert", "esm", "gpt_neox", "opt",
    "llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "phi", "phi3", "olmo2", "cohere", "starcoder2",
    "smollm3", "granite", "bart", "mbart", "marian", "pegasus", "t5", "m2m_100", "whisper", "vit", "deit",
    "clip_text_model", "gpt2", "gpt_neo", "gptj", "modernbert", "gemma2", "gemma3_text", "gpt_oss", "falcon",
    "bloom", "deberta-v2", "mpnet", "deepseek_v3", "qwen3_next", "jamba",
)
# fmt: on


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return survey()


@pytest.mark.slow
def test_the_promised_ones_work(verdicts: dict[str, Verdict]) -> None:
    assert {name: verdicts[name] for name in MUST_WORK if verdicts[name].kind != WORKS} == {}


@pytest.mark.slow
def test_all_others_work_or_say_why_not(verdicts: dict[str, Verdict]) -> None:
    assert {name: verdict for name, verdict in verdicts.items() if verdict.kind == FAILED} == {}
    silent = (ATTENTION_ONLY, REFUSED, NOT_BUILT)
    assert {name for name, verdict in verdicts.items() if verdict.kind in silent and not verdict.detail} == set()


@pytest.mark.slow
def test_the_page_says_the_same(verdicts: dict[str, Verdict]) -> None:
    written = dict(re.findall(r"^\| `([^`]+)` \| ([a-z ]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert written == {name: verdict.kind for name, verdict in verdicts.items()}
