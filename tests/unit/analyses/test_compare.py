"""Two models compared: what is known of the pair must come out, and be told from chance."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.spatial import distance

import attnscope as ats
from attnscope.analyses import compare as analysis
from attnscope.analyses.compare import Tally
from attnscope.analyses.findings import sentences, word_noise, words_that_moved
from attnscope.methods.comparison import DIFFERENCES
from attnscope.models import model as model_module
from attnscope.models.quantise import quantised, rounded
from tests import zoo
from tests.conftest import zoo_model
from tools.tiny import randomise

TEXTS = ["the cat sat on the mat.", "a dog and 2 cats, sitting", "it was not good", "the movie is bad, bad"]


def perturbed(model: ats.Model, part: str, size: float = 0.3) -> ats.Model:
    """The model with other numbers in the parameters whose name holds `part`."""
    hf_model = copy.deepcopy(model.hf_model)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in hf_model.named_parameters():
            if part in name:
                parameter.add_(size * torch.randn(parameter.shape, generator=generator))
    return ats.Model(hf_model, model.tokenizer, name="perturbed")


@pytest.fixture(scope="module")
def other() -> ats.Model:
    return ats.Model(zoo.build("bert", seed=1), zoo.tokenizer("bert"), name="other")


@pytest.mark.parametrize("measure", ["weight", "attention_norm", "block_norm", "head_norm"])
def test_a_model_does_not_differ_from_itself(bert: ats.Model, measure: str) -> None:
    found = ats.compare(bert, bert, TEXTS, measure=measure, noise=bert)
    for name in ("jensen_shannon", "total_variation", "noise_jensen_shannon", "above_noise"):
        assert not found[name].to_numpy().any()
    for name in ("cosine", "spearman", "kernel_alignment"):
        np.testing.assert_allclose(found[name], 1)
    assert not found["edges"].sel(where=["base", "tuned"]).to_numpy().any()
    assert not found["word_change"].to_numpy().any()
    assert not found["role_change"].to_numpy().any()
    np.testing.assert_array_equal(found["role_change_q"], 1)
    assert "Nothing changed" in found.attrs["summary"]


def test_every_number_by_hand(bert: ats.Model, other: ats.Model) -> None:
    text = TEXTS[0]
    found = ats.compare(bert, other, text, threshold=0.15)
    p, q = (ats.analyze(model, text, measures="weight")["weight"].to_numpy() for model in (bert, other))
    for layer, head in np.ndindex(2, 4):
        at = {"layer": layer + 1, "head": head + 1}
        rows = list(zip(p[layer, head].astype(float), q[layer, head].astype(float), strict=True))
        by_hand = {
            "jensen_shannon": np.mean([distance.jensenshannon(a, b) ** 2 for a, b in rows]),
            "total_variation": np.mean([distance.cityblock(a, b) / 2 for a, b in rows]),
            "cosine": np.mean([1 - distance.cosine(a, b) for a, b in rows]),
            "spearman": np.mean([stats.spearmanr(a, b).statistic for a, b in rows]),
        }
        for name, expected in by_hand.items():
            assert float(found[name].sel(at)) == pytest.approx(expected, rel=1e-5)
        assert float(found["entropy"].sel(at | {"model": "base"})) == pytest.approx(
            np.mean([stats.entropy(a) for a, _ in rows]), rel=1e-5
        )
        masses = found["role_mass"].sel(at | {"model": "tuned"})
        assert float(masses.sel(role="previous")) == pytest.approx(np.diagonal(q[layer, head], -1).mean(), rel=1e-5)
        assert float(masses.sel(role="[SEP]")) == pytest.approx(q[layer, head][:, -1].mean(), rel=1e-5)
        assert float(masses.sel(role="punctuation")) == pytest.approx(q[layer, head][:, -2].mean(), rel=1e-5)
        edges = found["edges"].sel(at)
        only = ((p[layer, head] >= 0.15) & (q[layer, head] < 0.15)).sum(-1).mean()
        assert float(edges.sel(where="base")) == pytest.approx(only)
    gained = (q - p).mean((1, 2)) * p.shape[-1]
    np.testing.assert_allclose(found["word_change"], gained, atol=1e-5)
    assert found["word"].to_numpy().tolist()[-4:] == ["the (2)", "mat", ".", "[SEP]"]
    assert found.attrs["text"] == text


def test_a_frozen_layer_does_not_change_and_a_changed_one_does(bert: ats.Model) -> None:
    changed = perturbed(bert, "layer.1.attention")
    found = ats.compare(bert, changed, TEXTS)
    assert not found["jensen_shannon"].sel(layer=1).to_numpy().any()
    assert (found["jensen_shannon"].sel(layer=2) > 1e-4).all()
    lower = ats.compare(bert, perturbed(bert, "layer.0.attention"), TEXTS)
    assert (lower["total_variation"] > 0).all()
    assert "Layer 2 moved most" in found.attrs["summary"]


def with_other_queries(model: ats.Model, layer: int, head: int) -> ats.Model:
    """The model with other queries in one head."""
    hf_model = copy.deepcopy(model.hf_model)
    width = hf_model.config.hidden_size // hf_model.config.num_attention_heads
    with torch.no_grad():
        rows = hf_model.encoder.layer[layer - 1].attention.self.query.weight[(head - 1) * width : head * width]
        rows.add_(torch.randn(rows.shape, generator=torch.Generator().manual_seed(0)))
    return ats.Model(hf_model, model.tokenizer, name="changed")


def test_the_one_head_that_changed_is_named(bert: ats.Model) -> None:
    """Nothing else of its layer changes, and all of the next does."""
    low = ats.compare(bert, with_other_queries(bert, 1, 3), TEXTS)
    moved = low["jensen_shannon"]
    np.testing.assert_array_equal(moved.sel(layer=1) > 0, [False, False, True, False])
    assert (moved.sel(layer=2) > 0).all()
    second = float(moved.sel(layer=2).max())
    assert float(moved.sel(layer=1, head=3)) > second
    said = low.attrs["summary"]
    assert f"In layer 1 only head 3 changed. Heads that moved most: 1-3 ({float(moved[0, 2]):.3f} nats), 2-" in said
    assert f"({second:.3f} nats)" in said
    high = ats.compare(bert, with_other_queries(bert, 2, 3), TEXTS * 2, noise="int8").attrs["summary"].splitlines()
    assert high[0].startswith("Layer 1 did not change at all. Layer 2 moved most")
    assert high[1].startswith("In layer 2 only head 3 changed. Head that moved most: 2-3 (")
    assert high[2].endswith("1 of 8 heads changed more than it (false discovery rate 0.05): 2-3.")


def test_what_hardly_changed_is_said_to_hardly_change(bert: ats.Model) -> None:
    """Not that a share rose from 20.0% to 20.0%, or that a change is 0.0 times the noise."""
    hf_model = copy.deepcopy(bert.hf_model)
    with torch.no_grad():
        hf_model.encoder.layer[1].attention.self.query.weight[0, 0] += 1e-4
    said = ats.compare(bert, ats.Model(hf_model, bert.tokenizer, name="near"), TEXTS * 2, noise="int8").attrs["summary"]
    assert "On average the change is less than 0.1 times that of bert (int8)" in said
    assert "The share of [CLS], [SEP] and comma and full stop changed by less than 0.1 points, over all layers." in said


def test_a_change_too_small_for_a_divergence_is_a_change(bert: ats.Model) -> None:
    found = ats.compare(bert, perturbed(bert, "layer.1.attention"), TEXTS)
    found["jensen_shannon"][:] = 0  # of shares that differ in the last digit, all of it may be lost in rounding
    said = sentences(found)
    assert (
        said[0] == "Layer 1 did not change at all. Layer 2 moved most: Jensen–Shannon divergence 0.000 nats on average."
    )


def test_few_texts_are_said_to_be_few(bert: ats.Model, other: ats.Model) -> None:
    said = {count: ats.compare(bert, other, (TEXTS * 2)[:count]).attrs["summary"] for count in (1, 2, 5)}
    assert said[1].endswith("One text does not tell a change from chance.")
    assert "No word stands in 5 texts, which it takes to tell its change from chance." in said[2]
    assert said[2].endswith("Intervals over 2 texts are too narrow, being few to draw from; take 5 or more.")
    assert "too narrow" not in said[5]
    near = perturbed(bert, "attention", 1e-4)
    assert "beyond 0.005 even shares." in ats.compare(bert, near, TEXTS[0]).attrs["summary"]
    assert "beyond noise." in ats.compare(bert, near, TEXTS[0], noise="int8").attrs["summary"]
    assert "beyond chance." in ats.compare(bert, near, TEXTS * 2).attrs["summary"]


@pytest.mark.parametrize(("part", "weights", "norms"), [("1.output.dense", 3, 3), ("1.attention.self.value", 3, 2)])
@pytest.mark.parametrize("measure", ["weight", "attention_norm"])
def test_what_changes_begins_with_the_first_layer_that_was_changed(
    bert: ats.Model, measure: str, part: str, weights: int, norms: int
) -> None:
    """Four layers: a changed feed-forward shows from the next layer on, changed values at once, but not in weights."""
    config = copy.deepcopy(bert.hf_model.config)
    config.num_hidden_layers = 4
    deep = type(bert.hf_model)(config).eval()
    randomise(deep, seed=3)
    base = ats.Model(deep, bert.tokenizer, name="base")
    found = ats.compare(base, perturbed(base, f"layer.{part}"), TEXTS[:2], measure=measure, noise="int8")
    changed = found["total_variation"].max([dim for dim in found["total_variation"].dims if dim != "layer"]).to_numpy()
    first = weights if measure == "weight" else norms
    assert not changed[: first - 1].any()
    assert (changed[first - 1 :] > 1e-4).all()
    assert f"Layers 1–{first - 1} did not change at all" in found.attrs["summary"] or first == 2
    assert "Layer 1 did not change at all" in found.attrs["summary"] or first == 3


def test_what_is_said_of_noise_and_words(bert: ats.Model, other: ats.Model) -> None:
    """Of a change no larger than the noise, no word is named; of a larger one, those beyond the noise."""
    noisy = quantised(bert)
    silent = ats.compare(bert, noisy, TEXTS * 3, noise="int8")
    np.testing.assert_array_equal(silent["noise_word_mean_change"], silent["word_mean_change"])
    assert "0 of 8 heads changed more than it" in silent.attrs["summary"]
    assert "No word gained or lost attention beyond chance and noise." in silent.attrs["summary"]
    loud = ats.compare(bert, other, TEXTS * 3, noise="int8")
    assert "Words that gained most" in loud.attrs["summary"] or "Words that lost most" in loud.attrs["summary"]
    gained, lost = words_that_moved(loud, 50)
    floor = np.quantile(np.abs(loud["noise_word_mean_change"][loud["word_texts"] >= 5]), 0.95)
    assert word_noise(loud) == pytest.approx(floor)
    for place in (*gained, *lost):
        assert abs(float(loud["word_mean_change"][place])) > floor
        assert float(loud["word_q"][place]) < 0.05
        assert int(loud["word_texts"][place]) >= 5
    with pytest.raises(ats.InputError, match='noise is "int8" or an attnscope Model'):
        analysis._check(bert, other, 0.1, "token", 100, 0, 3)


def test_quantised_copies_differ_a_little_and_less_than_a_change(bert: ats.Model) -> None:
    noisy = quantised(bert)
    found = ats.compare(bert, noisy, TEXTS)
    assert (found["total_variation"] > 0).all()
    assert float(found["total_variation"].max()) < 0.02
    change = ats.compare(bert, perturbed(bert, "attention"), TEXTS * 3, noise="int8")
    np.testing.assert_allclose(
        change["noise_total_variation"], ats.compare(bert, noisy, TEXTS * 3)["total_variation"], rtol=1e-6
    )
    assert change.attrs["noise"] == "bert (int8)"
    assert (change["above_noise_q"] < 0.05).all()
    assert "8 of 8 heads changed more than it" in change.attrs["summary"]
    silent = ats.compare(bert, noisy, TEXTS, noise=perturbed(bert, "attention"))
    assert "0 of 8 heads" in silent.attrs["summary"]
    assert torch.equal(
        bert.hf_model.state_dict()["embeddings.word_embeddings.weight"],
        noisy.hf_model.state_dict()["embeddings.word_embeddings.weight"],
    )


def test_rounding_is_to_a_grid_of_each_output_channel() -> None:
    weight = torch.randn(3, 40, generator=torch.Generator().manual_seed(0))
    weight[1] = 0
    for tensor, inputs in ((weight, 1), (weight.T.contiguous(), 0)):
        found = rounded(tensor, inputs)
        step = tensor.abs().amax(inputs, keepdim=True) / 127
        assert ((found - tensor).abs() <= step / 2 + 1e-7).all()
        levels = found / step.where(step > 0, 1)
        torch.testing.assert_close(levels, levels.round(), atol=1e-3, rtol=0)
        assert torch.equal(found == 0, (tensor / step.where(step > 0, 1)).round() == 0)
    gpt2 = quantised(zoo_model("gpt2"))
    before, after = (
        model.state_dict()["h.0.attn.c_attn.weight"] for model in (zoo_model("gpt2").hf_model, gpt2.hf_model)
    )
    torch.testing.assert_close(after, rounded(before, 0))


def test_intervals_and_tests_are_over_texts(bert: ats.Model, other: ats.Model) -> None:
    found = ats.compare(bert, other, TEXTS * 2, draws=500)
    single = [ats.compare(bert, other, text) for text in TEXTS]
    for name in (*DIFFERENCES, "entropy_change", "role_change", "edges"):
        expected = np.mean([one[name].to_numpy() for one in single], 0)
        np.testing.assert_allclose(found[name], expected, rtol=1e-10, atol=1e-12)
    low, high = found["jensen_shannon_interval"].to_numpy()
    assert ((low < found["jensen_shannon"]) & (found["jensen_shannon"] < high)).all()
    changes = np.array([one["role_change"].to_numpy() for one in single * 2])
    p = stats.ttest_1samp(changes, 0).pvalue
    np.testing.assert_allclose(
        found["role_change_q"].to_numpy().ravel(), stats.false_discovery_control(p.ravel()), rtol=1e-6
    )
    np.testing.assert_allclose(found["role_change_effect"], changes.mean(0) / changes.std(0, ddof=1), rtol=1e-6)
    assert "jensen_shannon_interval" not in single[0]


def test_words_over_texts(bert: ats.Model, other: ats.Model) -> None:
    found = ats.compare(bert, other, TEXTS)
    counts = dict(zip(found["word"].to_numpy().tolist(), found["word_count"].to_numpy().tolist(), strict=True))
    assert counts["the"] == 3
    assert counts["bad"] == 2
    assert counts["[CLS]"] == 4
    each = [ats.compare(bert, other, text) for text in TEXTS]
    the = np.array(
        [
            one["word_change"].sel(layer=1).to_numpy()[list(one["word"].to_numpy()).index(word)]
            for one, word in ((each[0], "the"), (each[0], "the (2)"), (each[3], "the"))
        ]
    )
    place = list(counts).index("the")
    assert float(found["word_change"].sel(layer=1)[place]) == pytest.approx(the.mean())
    # Two of the three stand in one text, which is one draw.
    residuals = np.array([the[:2].sum() - 2 * the.mean(), the[2] - the.mean()])
    error = np.sqrt(2 / (2 - 1) * (residuals**2).sum()) / 3
    assert float(found["word_error"].sel(layer=1)[place]) == pytest.approx(error)
    assert int(found["word_texts"][place]) == 2
    t = stats.t.sf(abs(found["word_mean_change"] / found["word_mean_error"]), found["word_texts"] - 1) * 2
    known = found["word_texts"].to_numpy() > 1
    np.testing.assert_allclose(found["word_q"].to_numpy()[known], stats.false_discovery_control(t[known]), rtol=1e-6)
    assert np.isnan(found["word_q"].to_numpy()[~known]).all()
    spread = found["word_mean_error"] * np.sqrt(found["word_texts"])
    np.testing.assert_allclose(found["word_effect"], found["word_mean_change"] / spread)
    np.testing.assert_allclose(found["word_mean_change"], found["word_change"].mean("layer"))


def test_tallies_add_up(bert: ats.Model, other: ats.Model) -> None:
    def tally(*texts: str) -> Tally:
        whole = Tally()
        parts = analysis._parts(reader(bert), reader(other), found, None, texts, 0.1)
        for part in parts:
            whole.add(part)
        return whole

    def reader(model: ats.Model) -> Any:
        return analysis.Reader(model, analysis.map_measure("weight"), "self", by_word=False, categories="auto")

    found = analysis.match(reader(bert), reader(other), TEXTS)
    whole, half = tally(*TEXTS), tally(*TEXTS[:2])
    half.add(tally(*TEXTS[2:]))
    assert list(whole.words) == list(half.words)
    for name in whole.summaries[0]:
        np.testing.assert_array_equal(whole.stacked(name), half.stacked(name))
    for word, one in whole.words.items():
        np.testing.assert_allclose(one.total, half.words[word].total, atol=1e-12)
        assert one.count == half.words[word].count


def test_a_text_is_read_once_by_each_model(bert: ats.Model, other: ats.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    encode = model_module.encode_text

    def counted(hf_model: Any, tokenizer: Any, text: str, pair: str | None) -> Any:
        read.append(text)
        return encode(hf_model, tokenizer, text, pair)

    monkeypatch.setattr(model_module, "encode_text", counted)
    ats.compare(bert, other, TEXTS)
    assert sorted(read) == sorted(TEXTS * 2)


def test_another_tokenizer_is_compared_by_words(bert: ats.Model) -> None:
    found = ats.compare(bert, zoo_model("roberta"), TEXTS)
    assert found.attrs["aligned"] == "words"
    assert "cats" in found["word"].to_numpy()
    assert ats.compare(bert, zoo_model("roberta"), "the cat sat")["word"].to_numpy().tolist()[0] == "[CLS]"
    causal = ats.compare(bert, zoo_model("llama"), "the cat sat")
    assert causal["word"].to_numpy().tolist() == ["the", "cat", "sat"]


def test_another_depth_is_matched_by_likeness(bert: ats.Model) -> None:
    albert = ats.Model(zoo.build("albert"), zoo.tokenizer("bert"), name="albert")
    found = ats.compare(bert, albert, TEXTS)
    assert found.attrs["layer_match"] == "kernel alignment over 4 texts"
    assert set(found["tuned_layer"].to_numpy()) <= {1, 2, 3}
    assert found["tuned_head"].shape == (2, 4)
    back = ats.compare(albert, bert, TEXTS, measure="block_norm")
    assert back.sizes["layer"] == 3
    assert "tuned_head" not in back


def test_a_matched_layer_is_the_one_it_was_copied_from(bert: ats.Model) -> None:
    """A model of three layers whose second and third are the first and second of another."""
    small = zoo.build("bert")
    config = copy.deepcopy(small.config)
    config.num_hidden_layers = 1
    cut = type(small)(config)
    cut.load_state_dict({key: value for key, value in small.state_dict().items() if "layer.1." not in key})
    found = ats.compare(ats.Model(cut.eval(), bert.tokenizer, name="cut"), bert, TEXTS)
    assert found["tuned_layer"].to_numpy().tolist() == [1]
    np.testing.assert_array_equal(found["tuned_head"], [[1, 2, 3, 4]])
    np.testing.assert_allclose(found["total_variation"], 0, atol=1e-6)


def test_measures_without_heads_have_no_head_axis(bert: ats.Model, other: ats.Model) -> None:
    found = ats.compare(bert, other, TEXTS, measure="block_norm")
    assert found["jensen_shannon"].dims == ("layer",)
    assert found["jensen_shannon_interval"].dims == ("bound", "layer")
    assert found["role_mass"].dims == ("model", "layer", "role")
    assert found["head_role"].dims == ("model", "layer")
    assert "head" not in found.dims


def test_encoder_decoders_are_compared_on_pairs() -> None:
    bart = zoo_model("bart")
    other = ats.Model(zoo.build("bart", seed=1), bart.tokenizer, name="other")
    pairs = [("the cat sat", "a dog"), ("it was", "not good")]
    assert ats.compare(bart, other, pairs, stack="decoder")["jensen_shannon"].sizes == {"layer": 2, "head": 2}
    assert ats.compare(bart, other, "the cat").attrs["stack"] == "encoder"
    with pytest.raises(ats.InputError, match="reads a target"):
        ats.compare(bart, other, "the cat", stack="decoder")
    with pytest.raises(ats.InputError, match="encoder or decoder"):
        ats.compare(bart, other, pairs, stack="cross")


def test_results_go_to_files_and_come_back(bert: ats.Model, other: ats.Model, tmp_path: Path) -> None:
    found = ats.compare(bert, other, TEXTS, noise="int8")
    for name in ("a.zarr", "a.nc"):
        back = ats.load(ats.save(found, tmp_path / name))
        assert back.identical(found)


def test_texts_from_a_file(bert: ats.Model, other: ats.Model, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes(("\ufeff" + " \r\n\r\n".join(TEXTS)).replace("2 cats", "2\u2028cats").encode())
    told: list[tuple[int, int]] = []
    found = ats.compare(bert, other, path, progress=lambda done, total: told.append((done, total)))
    assert found.identical(ats.compare(bert, other, [text.replace("2 cats", "2\u2028cats") for text in TEXTS]))
    assert found.attrs["texts"] == 4
    assert told == [(number, 4) for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"texts": []}, "no text"),
        ({"texts": ["the cat", ("a", "b")]}, "all pairs"),
        ({"texts": ["the cat", " "]}, "text 2: the text is empty"),
        ({"texts": Path("nowhere.txt")}, "nowhere.txt"),
        ({"threshold": 2}, "from 0 to 1"),
        ({"draws": 3}, "from 100"),
        ({"measure": "value_norm"}, "unknown map"),
        ({"stack": "decoder"}, "no decoder stack"),
    ],
)
def test_mistakes_are_one_sentence(bert: ats.Model, other: ats.Model, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ats.AttnscopeError, match=said) as caught:
        ats.compare(bert, other, **({"texts": TEXTS} | options))
    assert "\n" not in str(caught.value)


def test_models_that_cannot_be_compared(bert: ats.Model) -> None:
    with pytest.raises(ats.InputError, match="vit has no tokenizer"):
        ats.compare(bert, zoo_model("vit"), TEXTS)
    with pytest.raises(ats.InputError, match="bart has no self stack"):
        ats.compare(bert, zoo_model("bart"), TEXTS)
