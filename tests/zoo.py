"""The model zoo: tiny models of many architectures, built from configurations alone.

Every number in them is random and every optional feature that changes the mathematics is on, so a term that
the engine forgets shows up as an error. Sizes are unequal on purpose (head width × heads ≠ model width, fewer
key heads than query heads): a mix-up of axes fails instead of passing silently.
"""

import string
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from tools.tiny import randomise

Kind = Literal["encoder", "decoder", "encoder-decoder", "vision", "speech"]
TokenizerKind = Literal["bert", "roberta", "gpt"]

VOCABULARY = 128
FIRST_ORDINARY_ID = 5
"""Ids below are special in every tokenizer of the zoo (padding, begin, end, unknown, mask)."""
LABELS = 3


@dataclass(frozen=True)
class Spec:
    """One model: its type in Transformers' registry, what it is, and the options that make it tiny."""

    model_type: str
    kind: Kind
    tokenizer: TokenizerKind | None
    options: dict[str, Any] = field(default_factory=dict)

    def config(self, labels: int = LABELS) -> PreTrainedConfig:
        return AutoConfig.for_model(self.model_type, num_labels=labels, **self.options)


_WORDPIECE = {"pad_token_id": 0}
_BPE = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
_TEXT = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_ENCODER = _TEXT | {"intermediate_size": 48, "max_position_embeddings": 64}
_PLAIN = _ENCODER | _BPE
_DECODER = _PLAIN | {"num_key_value_heads": 2, "head_dim": 12}
_SEQ2SEQ = _BPE | {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
_GPT2 = _BPE | {"vocab_size": VOCABULARY, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4}
_T5 = _BPE | {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 12,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
    "decoder_start_token_id": 1,
}
_IMAGE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 24,
    "patch_size": 8,
    "pooler_output_size": 32,
}
_FALCON = _TEXT | _BPE | {"ffn_hidden_size": 48, "max_position_embeddings": 64}
_BLOOM = _BPE | {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}
_MAMBA = _DECODER | {"mamba_d_state": 8, "mamba_expand": 2}


def _wordpiece(model_type: str, **options: Any) -> Spec:
    return Spec(model_type, "encoder", "bert", _ENCODER | _WORDPIECE | options)


def _roberta(model_type: str, **options: Any) -> Spec:
    return Spec(model_type, "encoder", "roberta", _PLAIN | options)


def _decoder(model_type: str, base: dict[str, Any] = _DECODER, **options: Any) -> Spec:
    return Spec(model_type, "decoder", "gpt", base | options)


def _seq2seq(model_type: str, base: dict[str, Any] = _SEQ2SEQ, **options: Any) -> Spec:
    return Spec(model_type, "encoder-decoder", "roberta", base | options)


_ENCODERS = {
    "bert": _wordpiece("bert"),
    "roberta": _roberta("roberta"),
    "xlm-roberta": _roberta("xlm-roberta"),
    "camembert": _roberta("camembert"),
    "electra": _wordpiece("electra", embedding_size=24),
    "distilbert": _wordpiece("distilbert", hidden_dim=48),
    "albert": _wordpiece("albert", embedding_size=24, num_hidden_layers=3, bos_token_id=2, eos_token_id=3),
    "esm": _roberta(
        "esm",
        mask_token_id=4,
        position_embedding_type="rotary",
        emb_layer_norm_before=True,
        token_dropout=True,
    ),
    "modernbert": _wordpiece(
        "modernbert",
        num_hidden_layers=3,
        layer_types=["full_attention", "sliding_attention", "full_attention"],
        local_attention=4,
        norm_bias=True,
        attention_bias=True,
        mlp_bias=True,
        classifier_bias=True,
        bos_token_id=2,
        cls_token_id=2,
        eos_token_id=3,
        sep_token_id=3,
    ),
    "deberta-v2": _wordpiece(
        "deberta-v2",
        relative_attention=True,
        position_buckets=8,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        pooler_hidden_size=32,
    ),
    "mpnet": _roberta("mpnet"),
    "clip-text": Spec("clip_text_model", "encoder", "roberta", _PLAIN | {"projection_dim": 24}),
}

_DECODERS = {
    "gpt-neox": _decoder("gpt_neox", _PLAIN, attention_bias=True, use_parallel_residual=True),
    "gpt-neox-sequential": _decoder("gpt_neox", _PLAIN, use_parallel_residual=False),
    "opt": _decoder("opt", _TEXT | _BPE, max_position_embeddings=64, ffn_dim=48),
    "opt-post-norm": _decoder(
        "opt",
        _TEXT | _BPE,
        max_position_embeddings=64,
        ffn_dim=48,
        do_layer_norm_before=False,
        word_embed_proj_dim=24,
    ),
    "llama": _decoder("llama"),
    "llama-bias": _decoder("llama", attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "mistral": _decoder("mistral", sliding_window=4),
    "mixtral": _decoder("mixtral", num_local_experts=4, num_experts_per_tok=2),
    "qwen2": _decoder(
        "qwen2",
        use_sliding_window=True,
        sliding_window=4,
        layer_types=["full_attention", "sliding_attention"],
    ),
    "qwen3": _decoder("qwen3", attention_bias=True),
    "gemma": _decoder("gemma", attention_bias=True),
    "gemma2": _decoder(
        "gemma2",
        layer_types=["sliding_attention", "full_attention"],
        sliding_window=4,
        query_pre_attn_scalar=9,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
        attention_bias=True,
    ),
    "gemma3": _decoder(
        "gemma3_text",
        num_hidden_layers=3,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        sliding_window=4,
        query_pre_attn_scalar=9,
        attention_bias=True,
    ),
    "phi": _decoder("phi", head_dim=8, qk_layernorm=True),
    "phi3": _decoder("phi3", original_max_position_embeddings=64, sliding_window=4),
    "olmo2": _decoder("olmo2", attention_bias=True),
    "cohere": _decoder("cohere", use_qk_norm=True, attention_bias=True, logit_scale=0.5),
    "starcoder2": _decoder("starcoder2", use_bias=True, sliding_window=4),
    "smollm3": _decoder("smollm3", no_rope_layers=[1, 0], attention_bias=True, mlp_bias=True),
    "granite": _decoder(
        "granite",
        attention_bias=True,
        mlp_bias=True,
        embedding_multiplier=3.0,
        residual_multiplier=0.4,
        attention_multiplier=0.3,
        logits_scaling=2.0,
    ),
    "gpt2": _decoder("gpt2", _GPT2, n_inner=48, scale_attn_by_inverse_layer_idx=True),
    "gpt-neo": _decoder(
        "gpt_neo",
        _PLAIN,
        num_layers=2,
        num_heads=4,
        attention_types=[[["global", "local"], 1]],
        window_size=4,
    ),
    "gptj": _decoder("gptj", _GPT2, n_inner=48, rotary_dim=4),
    "gpt-oss": _decoder(
        "gpt_oss",
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention"],
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 4.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
            "original_max_position_embeddings": 16,
        },
    ),
    "falcon": _decoder("falcon", _FALCON, multi_query=True, parallel_attn=True),
    "falcon-new": _decoder("falcon", _FALCON, new_decoder_architecture=True, num_kv_heads=2, bias=True),
    "falcon-one-norm": _decoder(
        "falcon", _FALCON, new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1
    ),
    "falcon-alibi": _decoder("falcon", _FALCON, alibi=True, multi_query=False, parallel_attn=False, bias=True),
    "bloom": _decoder("bloom", _BLOOM),
    "bloom-post-residual": _decoder("bloom", _BLOOM, apply_residual_connection_post_layernorm=True),
    "deepseek-v3": _decoder(
        "deepseek_v3",
        _PLAIN,
        num_key_value_heads=4,
        q_lora_rank=16,
        kv_lora_rank=16,
        qk_nope_head_dim=8,
        qk_rope_head_dim=4,
        v_head_dim=12,
        attention_bias=True,
        first_k_dense_replace=1,
        moe_intermediate_size=24,
        n_routed_experts=4,
        n_shared_experts=1,
        n_group=2,
        topk_group=1,
        num_experts_per_tok=2,
    ),
    "qwen3-next": _decoder(
        "qwen3_next",
        num_hidden_layers=3,
        layer_types=["linear_attention", "full_attention", "linear_attention"],
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=8,
        linear_value_head_dim=12,
        attention_bias=True,
        head_dim=16,
        mlp_only_layers=[2],
        moe_intermediate_size=24,
        shared_expert_intermediate_size=24,
        num_experts=4,
        num_experts_per_tok=2,
    ),
    "jamba": _decoder(
        "jamba",
        _MAMBA,
        num_hidden_layers=3,
        attn_layer_period=2,
        attn_layer_offset=1,
        expert_layer_period=2,
        expert_layer_offset=1,
        num_experts=4,
        num_experts_per_tok=2,
        mamba_dt_rank=4,
    ),
    "bamba": _decoder(
        "bamba",
        _MAMBA,
        num_hidden_layers=3,
        attn_layer_indices=[1],
        mamba_n_heads=8,
        mamba_d_head=8,
        mamba_chunk_size=4,
        attention_bias=True,
        mlp_bias=True,
    ),
}

_ENCODER_DECODERS = {
    "bart": _seq2seq("bart"),
    "mbart": _seq2seq("mbart", scale_embedding=True),
    "marian": _seq2seq("marian", scale_embedding=True, decoder_vocab_size=VOCABULARY),
    "pegasus": _seq2seq("pegasus", scale_embedding=True),
    "m2m100": _seq2seq("m2m_100", scale_embedding=True),
    "t5": _seq2seq("t5", _T5, feed_forward_proj="relu"),
    "t5-gated": _seq2seq("t5", _T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
}

_OTHERS = {
    "whisper": Spec(
        "whisper",
        "speech",
        None,
        _SEQ2SEQ
        | {
            "num_mel_bins": 8,
            "max_source_positions": 12,
            "max_target_positions": 32,
            "scale_embedding": True,
            "begin_suppress_tokens": [2],
        },
    ),
    "vit": Spec("vit", "vision", None, _IMAGE),
    "deit": Spec("deit", "vision", None, _IMAGE),
}

SPECS: dict[str, Spec] = _ENCODERS | _DECODERS | _ENCODER_DECODERS | _OTHERS
NAMES: tuple[str, ...] = tuple(SPECS)
KINDS: dict[str, Kind] = {name: spec.kind for name, spec in SPECS.items()}


def build(name: str, *, seed: int = 0) -> PreTrainedModel:
    """The bare model (no head): what Transformers' ``AutoModel`` gives for this configuration."""
    return build_head(name, "AutoModel", seed=seed)


def build_head(name: str, auto_class_name: str, *, seed: int = 0) -> PreTrainedModel:
    """The same model with a task head, e.g. ``AutoModelForCausalLM``; the backbone's numbers are the same.

    A concrete class works too (``DeiTForImageClassification``), for types where the Auto class cannot choose.
    """
    model_class = getattr(transformers, auto_class_name)
    from_config = model_class._from_config if hasattr(model_class, "_from_config") else model_class.from_config
    config = SPECS[name].config(2 if auto_class_name.endswith("QuestionAnswering") else LABELS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = from_config(config, attn_implementation="eager", dtype=torch.float32)
    randomise(model, seed)
    return model.eval()


def kind_of(name_or_model: str | PreTrainedModel) -> Kind:
    """What the model reads and writes, which decides what its inputs look like."""
    if isinstance(name_or_model, str):
        return KINDS[name_or_model]
    return _spec_of(name_or_model).kind


def inputs(
    name_or_model: str | PreTrainedModel, length: int = 7, target_length: int = 5, seed: int = 0
) -> dict[str, Tensor]:
    """One random example. The sizes of images and of sounds are fixed by the model, not by ``length``."""
    named = isinstance(name_or_model, str)
    spec = SPECS[name_or_model] if named else _spec_of(name_or_model)
    config = spec.config() if named else name_or_model.config
    generator = torch.Generator().manual_seed(seed)
    if spec.kind == "vision":
        shape = (1, config.num_channels, config.image_size, config.image_size)
        return {"pixel_values": torch.randn(shape, generator=generator)}
    if spec.kind == "speech":
        shape = (1, config.num_mel_bins, 2 * config.max_source_positions)
        features = {"input_features": torch.randn(shape, generator=generator)}
        return features | {"decoder_input_ids": _ids(target_length, generator)}
    source = _ids(length, generator)
    text = {"input_ids": source, "attention_mask": torch.ones_like(source)}
    if spec.kind == "encoder-decoder":
        text["decoder_input_ids"] = _ids(target_length, generator)
    return text


def tokenizer(kind: TokenizerKind = "bert") -> PreTrainedTokenizerFast:
    """A tokenizer that reads any ASCII text with ids the zoo's models have.

    ``bert``: lower-cased WordPiece, [CLS] a [SEP] b [SEP]. ``gpt``: byte-level BPE, nothing added.
    ``roberta``: the same with <s> a </s> </s> b </s>.
    """
    if kind == "bert":
        return _wordpiece_tokenizer()
    return _byte_tokenizer(framed=kind == "roberta")


def save(model: PreTrainedModel, folder: str | Path) -> Path:
    """Write weights (safetensors), configuration and a fitting tokenizer, as a published checkpoint has."""
    folder = Path(folder)
    model.save_pretrained(folder)
    kind = _spec_of(model).tokenizer
    if kind is not None:
        tokenizer(kind).save_pretrained(folder)
    return folder


def _spec_of(model: PreTrainedModel) -> Spec:
    """The first spec of this type: variants of a type share kind and tokenizer."""
    return next(spec for spec in SPECS.values() if spec.model_type == model.config.model_type)


def _ids(length: int, generator: torch.Generator) -> Tensor:
    return torch.randint(FIRST_ORDINARY_ID, VOCABULARY, (1, length), generator=generator)


_LETTERS_AND_DIGITS = string.ascii_lowercase + string.digits
_WORDS = "the cat sat on mat dog and is good bad movie not was it of to ##ing ##ed ##er"


def _wordpiece_tokenizer() -> PreTrainedTokenizerFast:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*_LETTERS_AND_DIGITS, *(f"##{letter}" for letter in _LETTERS_AND_DIGITS), *string.punctuation]
    ids = {piece: index for index, piece in enumerate([*special, *pieces, *_WORDS.split()])}
    backend = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        model_max_length=64,
    )


_MERGES = "Ġt h·e Ġt·he Ġc a·t Ġc·at Ġs Ġs·at Ġo Ġo·n Ġm Ġm·at Ġa i·n in·g"


def _byte_tokenizer(*, framed: bool) -> PreTrainedTokenizerFast:
    """Byte-level BPE over ASCII only: all 256 bytes would not fit the vocabulary."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    letters = [chr(code) for code in range(33, 127)] + ["Ġ", "Ċ", "ĉ"]
    merges = [tuple(pair.split("·")) if "·" in pair else tuple(pair) for pair in _MERGES.split()]
    ids = {piece: index for index, piece in enumerate([*special, *letters, *map("".join, merges)])}
    backend = Tokenizer(models.BPE(ids, merges, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    if framed:
        backend.post_processor = processors.RobertaProcessing(
            ("</s>", ids["</s>"]), ("<s>", ids["<s>"]), trim_offsets=True, add_prefix_space=False
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>" if framed else None,
        sep_token="</s>" if framed else None,
        mask_token="<mask>",
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=64,
    )
