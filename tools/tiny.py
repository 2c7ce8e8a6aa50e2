"""Tiny, fully random models of every architecture Transformers knows."""

import dataclasses
import importlib
import inspect
import itertools
import re
import resource
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import CONFIG_MAPPING, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

SPREAD = 0.3
"""How far biases, gains and other vectors scatter; weights scatter by their fan-in, at most this far."""


def is_constant(value: Tensor) -> bool:
    """Whether all entries are one number, which would hide a factor or a term from every test."""
    return value.numel() > 1 and bool((value == value.flatten()[0]).all())


def _noise(like: Tensor, name: str, seed: int) -> Tensor:
    """Noise that depends on the name, not on the order: a head's backbone equals the bare backbone."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()) ^ seed)
    return torch.randn(like.shape, generator=generator).clamp(-2.5, 2.5).to(like)


def _vector(value: Tensor, noise: Tensor, *, gain: bool) -> Tensor:
    """A vector scattered about what it stood for: a gain, an offset, a scale, or a structured value.

    Gains of Gemma-like norms are stored minus one, so the current mean says what the centre is. Values that
    already spread (Mamba's decays, say) keep their structure: they are only stable near it.
    """
    mean, deviation = float(value.mean()), float(value.std(correction=0))
    if not gain and deviation > 0.1:
        return value + 0.1 * deviation * noise
    centre = 0.0 if abs(mean) < (0.5 if gain else 1e-8) or (not gain and deviation > 0) else 1.0
    return centre + SPREAD * noise


def _matrix(value: Tensor, noise: Tensor) -> Tensor:
    """A weight, scaled by its fan-in so that activations keep their size through the layers."""
    fan_in = value[0].numel() if value.dim() != 3 else value.shape[-1]
    return noise * min(SPREAD, max(0.1, fan_in**-0.5))


def _drawn(owner: nn.Module, name: str, value: Tensor, seed: int) -> Tensor:
    """New values for one parameter, by what its present values, its shape and its name say it is."""
    noise = _noise(value, name, seed)
    leaf = name.rpartition(".")[-1]
    if not value.isfinite().all():  # never initialised
        return SPREAD * noise
    if value.numel() == 1:
        return value + SPREAD * noise.abs().clamp(min=0.1)
    if max(value.shape) == value.numel() or "norm" in type(owner).__name__.lower():
        if leaf.endswith("bias") and "dt" not in name:
            return SPREAD * noise
        return _vector(value, noise, gain="norm" in type(owner).__name__.lower())
    if isinstance(owner, nn.Embedding):
        return SPREAD * noise
    return _matrix(value, noise)


def _buffer(name: str, value: Tensor, seed: int) -> Tensor:
    """New values for a saved buffer: means scatter about 0, variances and such stay positive."""
    noise = _noise(value, name, seed)
    return value + SPREAD * (noise if float(value.flatten()[0]) == 0 else noise.abs())


def _owners(model: nn.Module) -> dict[nn.Parameter, tuple[nn.Module, str]]:
    """Each parameter's module and name; one that serves twice counts as the embedding it is."""
    owners: dict[nn.Parameter, tuple[nn.Module, str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        owner = model.get_submodule(name.rpartition(".")[0])
        if parameter not in owners or isinstance(owner, nn.Embedding):
            owners[parameter] = owner, name
    return owners


@torch.no_grad()
def randomise(model: nn.Module, seed: int = 0) -> None:
    """Leave no parameter at a value, such as 0 or 1, that would hide an error in how it is used.

    Frozen embeddings are sinusoidal positions, which the model recomputes when it is loaded: they stay.
    Buffers change only if they are saved and constant (router corrections, running statistics).
    """
    prefix = f"{getattr(model, 'base_model_prefix', '')}."
    for parameter, (owner, name) in _owners(model).items():
        redraw = parameter.requires_grad or not isinstance(owner, nn.Embedding)
        if redraw and parameter.is_floating_point():
            parameter.copy_(_drawn(owner, name.removeprefix(prefix), parameter, seed))
    saved = model.state_dict(keep_vars=True)
    for name, buffer in model.named_buffers():
        if name in saved and buffer.is_floating_point() and is_constant(buffer):
            buffer.copy_(_buffer(name.removeprefix(prefix), buffer, seed))
    constant = [name for name, parameter in model.named_parameters() if is_constant(parameter)]
    assert not constant, f"still constant after randomising: {constant}"


# --- configurations ---------------------------------------------------------------------------------------

WIDTH, HEADS, KEY_HEADS, HEAD_WIDTH = 64, 4, 2, 16
HIDDEN, EXPERTS, VOCABULARY, POSITIONS = 96, 4, 128, 64
MOST_LAYERS = 4

_SIZES: tuple[tuple[str, int], ...] = (
    (r"type_vocab_size|.*downsample_rate|.*compression_rate", 0),
    (r".*vocab_size(_.*)?|codebook_size|num_embeddings", VOCABULARY),
    (r".*(num_key_value_heads|num_kv_heads|num_query_groups)", KEY_HEADS),
    (r"linear_num_key_heads", KEY_HEADS),
    (r"mamba_(n|num)_heads|n_mamba_heads", 2 * WIDTH // HEAD_WIDTH),
    (r"qk_rope_head_dim|rotary_dim", HEAD_WIDTH // 2),
    (r"qk_head_dim", HEAD_WIDTH + HEAD_WIDTH // 2),
    (r".*(head_dim|head_size|headdim)|d_kv|d_head|mamba_d_head|kv_channels|dim_head", HEAD_WIDTH),
    (r".*(attention_heads|num_heads|n_heads?|_heads|head)", HEADS),
    (r"num_(feat_extract|conv|adapter)_layers|.*feature_layers?", 0),
    (r".*(layers|n_layer|depth|num_blocks)", 2),
    (r".*(experts|num_experts)_per_tok(en)?|moe_(topk|k|top_k)|top_k_experts", 2),
    (r"n_shared_experts|num_shared_experts|moe_num_shared_experts", 1),
    (r".*(num|local|routed)_experts|zero_expert_num", EXPERTS),
    (r"n_group|num_expert_group", 2),
    (r"topk_group|first_k_dense_replace|moe_layer_start_index", 1),
    (r".*(intermediate_size|intermediate_dim|ffn_dim|mlp_dim|feedforward(_dim)?|ffn_hidden_size)", HIDDEN),
    (r".*(d_ff|dff|dim_ff|linear_units|mlp_hidden_size|intermediate_size_mlp)", HIDDEN),
    (r"d_inner|n_inner|feed_forward_size", HIDDEN),
    (r".*(lora_rank|_rank)", 32),
    (r".*(hidden_size|d_model|n_embd|embedding_size|output_size|projection_size|_dim)|dim", WIDTH),
    (r".*(hidden_channels|latents|width)", WIDTH),
    (r"sliding_window(_size)?|local_attention|attention_window_size|attention_chunk_size|index_topk", 4),
    (r".*(image_size|img_size|resolution)", 32),
    (r"patch_size", 8),
    (r"max_position_embeddings|n_positions|n_ctx|max_seq_len", POSITIONS),
    (r"max_(source|target|text|speech)_positions", POSITIONS),
    (r".*(d_state|state_size)", 16),
    (r"mamba_chunk_size", 8),
    (r"(attn|expert)_layer_period", 2),
    (r"(attn|expert)_layer_offset", 1),
    (r"conv_dim|tdnn_dim", 32),
    (r"num_conv_pos_embeddings", 16),
    (r"num_conv_pos_embedding_groups", 4),
    (r"depths", 2),
    (r"num_queries", 8),
    (r"upsample_groups", WIDTH),
    (r"num_pos_feats", WIDTH // 2),
    (r"base_channels", 32),
    (r"output_channels", WIDTH),
)  # fmt: skip
"""Largest value of an option, by its name: the first pattern that matches; 0 leaves it as it is."""
_RULES = tuple((re.compile(pattern), limit) for pattern, limit in _SIZES)

_TOKEN = re.compile(r".*token_(id|index|ids)|.*_(bos|eos|pad|start|end)_id|.*_(bos|eos|pad)_index")
_FIRST_TOKEN = 64
"""Special ids outside the small vocabulary move to this and above; the inputs stay below."""

_HYBRID = {"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]}
_RESNET = {
    "model_type": "resnet",
    "embedding_size": 8,
    "hidden_sizes": [8, 16, 32, 64],
    "depths": [1, 1, 1, 1],
    "out_features": ["stage2", "stage3", "stage4"],
}
_DETR = {"backbone_config": _RESNET | {"out_features": ["stage4"]}}
_SHIFTED = {
    "image_size": 128,
    "embed_dim": 16,
    "depths": [1, 2, 1, 1],
    "num_heads": [2, 4, 8, 16],
    "window_size": 4,
}

OVERRIDES: dict[str, dict[str, Any]] = {
    "audio-spectrogram-transformer": {"max_length": 64, "num_mel_bins": 32},
    "bamba": {"attn_layer_indices": [1]},
    "chameleon": {"vocabulary_map": {"<image>": 60}},
    "clvp_encoder": {"projection_dim": 8 * 32, "hidden_size": 4 * 32, "num_attention_heads": 4},
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e4}}},
    "conditional_detr": _DETR,
    "dab-detr": _DETR,
    "deepseek_ocr2_text": {
        "mlp_layer_types": ["dense", "sparse"],
        "num_experts_per_tok": 2,
        "n_group": 2,
        "topk_group": 1,
    },
    "deepseek_v2": {"num_experts_per_tok": 2, "topk_group": 1},
    "deformable_detr": {"backbone_config": _RESNET, "num_feature_levels": 3},
    "detr": _DETR,
    "diffusion_gemma_text": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 32},
    "donut-swin": _SHIFTED,
    "dots1": {
        "n_shared_experts": 1,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 2,
        "topk_group": 1,
    },
    "emu3": {"vocabulary_map": {"<image>": 60, "<|extra_200|>": 61}},
    "esm": {
        "vocab_size": VOCABULARY,
        "pad_token_id": 1,
        "mask_token_id": 4,
        "position_embedding_type": "rotary",
    },
    "esmc": {"num_key_value_heads": HEADS},
    "falcon_h1": {"mamba_d_ssm": 2 * WIDTH, "mamba_d_head": HEAD_WIDTH},
    "glm5_next_text": {"index_topk": 16},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 4},
    "granitemoehybrid": _HYBRID,
    "layoutlmv3": {"coordinate_size": 11, "shape_size": 10, "hidden_size": 64},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "lilt": {"channel_shrink_ratio": 4, "hidden_size": 96},
    "mamba2": {"num_heads": 8, "head_dim": HEAD_WIDTH},
    "mistral_large4_text": {"kv_source_layers": [0, 1, 2, 3]},
    "mistral4": {"qk_nope_head_dim": HEAD_WIDTH // 2, "head_dim": HEAD_WIDTH, "qk_head_dim": HEAD_WIDTH},
    "llama4_vision_model": {"intermediate_size": 4 * WIDTH},
    "molmo2_adapter": {"vision_feature_layer": [1, 0]},
    "nemotron": {"num_key_value_heads": KEY_HEADS},
    "nemotron3_diarization_audio": {"num_key_value_heads": HEADS},
    "nemotron3_5_transcribe_asr_audio": {"num_key_value_heads": HEADS},
    "nemotron3_5_transcribe_word_timestamp": {"num_key_value_heads": HEADS},
    "pix2struct_text_model": {"initializer_range": 0.02},
    "qwen4_exp_text": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": HEAD_WIDTH,
        "indexer_budget": 4,
        "indexer_compress_ratio": 2,
    },
    "recurrent_gemma": {"num_hidden_layers": 3},
    "reformer": {
        "axial_pos_embds_dim": (32, 32),
        "axial_pos_shape": (8, 8),
        "attn_layers": ["local", "lsh"],
        "num_buckets": 4,
        "local_attn_chunk_length": 4,
        "lsh_attn_chunk_length": 4,
    },
    "sapiens2": {"num_key_value_heads_per_layer": [4, 2], "num_hidden_layers": 2},
    "shieldgemma2": {"yes_token_index": 10, "no_token_index": 11},
    "step3p5": {
        "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "default", "rope_theta": 1e6},
        },
    },
    "swin": _SHIFTED,
    "t5gemma2_text": {"dropout_rate": 0.0},
    "table-transformer": _DETR,
    "unlimited_ocr_text": {"num_key_value_heads": HEADS},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 3, "layers_block_type": ["linear_attention", "hybrid", "hybrid"]},
}
"""Options of a type (alone or inside another) that follow from no rule about names."""


def _limit(name: str) -> int:
    return next((limit for rule, limit in _RULES if rule.fullmatch(name)), 0)


def _shrunk(name: str, value: Any, tokens: dict[str, int]) -> Any:
    """One option's value made small: numbers, lists of numbers, special ids."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(_shrunk(name, entry, tokens) for entry in value)
    if isinstance(value, int) and _TOKEN.fullmatch(name):
        return value if value < _FIRST_TOKEN else tokens.setdefault(name, _FIRST_TOKEN + len(tokens) % 64)
    limit = _limit(name) if isinstance(value, int) else 0
    return min(value, limit) if limit else value


def _count(config: PreTrainedConfig) -> int:
    """The number of layers; 0 where there is no single one."""
    count = getattr(config, "num_hidden_layers", 0)
    return count if isinstance(count, int) else 0


def _layers(config: PreTrainedConfig) -> list[int]:
    """The first layer of every kind (sliding or full, dense or sparse, …), and at least two layers."""
    count = _count(config)
    lists = [value for value in vars(config).values() if isinstance(value, (list, tuple)) and len(value) == count]
    kinds: dict[str, int] = {}
    for layer in range(count):
        kinds.setdefault(repr([values[layer] for values in lists]), layer)
    chosen = list(kinds.values())[:MOST_LAYERS]
    return sorted(chosen if len(chosen) > 1 else range(min(count, 2)))


def _modeling(config: PreTrainedConfig) -> ModuleType | None:
    """The file with the models of this configuration, if it has one of its own."""
    try:
        return importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    except ModuleNotFoundError:
        return None


def _rope(config: PreTrainedConfig, parameters: dict[str, Any]) -> dict[str, Any]:
    """Rotary options whose lengths follow the head's width; image models split it in three sections."""
    partial = parameters.get("partial_rotary_factor") or getattr(config, "partial_rotary_factor", None) or 1.0
    half = int(HEAD_WIDTH * partial) // 2
    fitted = dict(parameters)
    modeling = _modeling(config)
    if "rope_theta" in parameters and modeling and "mrope_section" in inspect.getsource(modeling):
        third = (half + 1) // 3
        fitted["mrope_section"] = [third, third, half - 2 * third]
    for name in ("short_factor", "long_factor"):
        if name in parameters:
            fitted[name] = parameters[name][:half]
    return fitted


def _values(config: PreTrainedConfig, tokens: dict[str, int]) -> dict[str, Any]:
    """The small values of all options; what the type derives by itself from others is left to it."""
    layers, count = _layers(config), _count(config)
    values: dict[str, Any] = {}
    for option in dataclasses.fields(config):
        name = option.name
        # Read past the attribute access, which refuses an option that differs from layer to layer.
        value = vars(config).get(config.attribute_map.get(name, name))
        if isinstance(value, PreTrainedConfig):
            values[name] = _shrunk_config(value, tokens)
        elif isinstance(value, (list, tuple)) and count and len(value) == count:
            values[name] = type(value)(_shrunk(name, value[layer], tokens) for layer in layers)
        elif isinstance(value, dict) and "rope" in name:
            values[name] = _rope(config, value)
        elif option.default is not None or name == "num_key_value_heads":
            values[name] = _shrunk(name, value, tokens)
    return values | _agreed(values, config, len(layers))


def _agreed(values: dict[str, Any], config: PreTrainedConfig, layers: int) -> dict[str, Any]:
    """Options that must agree with others."""
    agreed: dict[str, Any] = {}
    if _count(config) and "num_hidden_layers" in values:
        agreed["num_hidden_layers"] = layers
    if "head_dim" in {option.name for option in dataclasses.fields(config)}:
        agreed["head_dim"] = HEAD_WIDTH
    if "kv_lora_rank" in values and "num_key_value_heads" in values:  # one latent serves all heads
        agreed["num_key_value_heads"] = values["num_attention_heads"]
        agreed["head_dim"] = values["qk_rope_head_dim"]  # where the type reads it, it means the rotary part
    if isinstance(values.get("num_heads"), (list, tuple)) and isinstance(values.get("embed_dim"), int):
        agreed["embed_dim"] = HEAD_WIDTH * values["num_heads"][0]
    return agreed


def _shrunk_config(config: PreTrainedConfig, tokens: dict[str, int]) -> PreTrainedConfig:
    values = _values(config, tokens) | OVERRIDES.get(config.model_type, {})
    return type(config)(**values)


def tiny_config(model_type: str) -> PreTrainedConfig:
    """The type's default configuration made small, with every kind of layer still in it."""
    return _shrunk_config(CONFIG_MAPPING[model_type](), {})


# --- models and inputs ------------------------------------------------------------------------------------

MOST_PARAMETERS = 20_000_000


class Refused(Exception):
    """This type cannot be made tiny, or not within the limits."""


def model_classes(config: PreTrainedConfig) -> list[type[PreTrainedModel]]:
    """What ``AutoModel`` would build, then the models of the same file made for this configuration."""
    names = MODEL_MAPPING_NAMES.get(config.model_type, ())
    mapped = [getattr(transformers, name, None) for name in ([names] if isinstance(names, str) else names)]
    modeling = _modeling(config)
    candidates = vars(modeling).values() if modeling else ()
    found = [value for value in candidates if _is_model_for(value, type(config))]
    found.sort(key=lambda value: ("For" in value.__name__, not value.__name__.endswith("Model")))
    classes = mapped + [value for value in found if value not in mapped]
    return [value for value in classes if value and "_forward_unimplemented" not in value.forward.__name__]


def _is_model_for(value: object, config_class: type[PreTrainedConfig]) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, PreTrainedModel)
        and value.config_class is config_class
        and not value.__name__.endswith(("PreTrainedModel", "PretrainedModel"))
    )


def _laid_out(config: PreTrainedConfig) -> type[PreTrainedModel]:
    """The first class that accepts the configuration and stays tiny; laying out takes no memory."""
    reasons: list[Exception] = []
    for candidate in model_classes(config):
        try:
            with torch.device("meta"):
                size = sum(parameter.numel() for parameter in candidate(config).parameters())
            if size <= MOST_PARAMETERS:
                return candidate
            reasons.append(Refused(f"{size / 1e6:.0f} M parameters even when shrunk"))
        except Exception as error:  # noqa: BLE001 (any failure only means: try the next class)
            reasons.append(error)
    raise reasons[0] if reasons else Refused(f"no model class for {type(config).__name__}")


def tiny_model(model_type: str, seed: int = 0) -> PreTrainedModel:
    """A random tiny model of a type."""
    config = tiny_config(model_type)
    make = _laid_out(config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # Not every class is reached by AutoModel, and only AutoModel has a public door.
        model = make._from_config(config, attn_implementation="eager", dtype=torch.float32)  # noqa: SLF001
    randomise(model, seed)
    return model.eval()


TOKENS, FRAMES, GRID = 8, 4, 4


def _size(config: PreTrainedConfig, *names: str, default: int) -> int:
    """A size by any of its names, here or in a part of the configuration (its first entry, if a list)."""
    parts = [config, *(value for value in vars(config).values() if isinstance(value, PreTrainedConfig))]
    for name in names:
        for part in parts:
            value = getattr(part, name, None)
            value = value[0] if isinstance(value, (list, tuple)) and value else value
            if isinstance(value, int):
                return value
    return default


def _tokens(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    return [(1, TOKENS), (1, TOKENS, _size(config, "num_codebooks", "num_channels", default=4))]


def _image(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    channels = _size(config, "num_channels", "in_channels", "in_chans", default=3)
    side = _size(config, "image_size", "img_size", default=64)
    frames = _size(config, "num_frames", "frames_per_clip", default=FRAMES)
    return [(1, channels, side, side), (1, frames, channels, side, side), (1, channels, 64, 64)]


def _spectrum(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    bands = _size(config, "num_mel_bins", "feature_size", "input_feat_size", "input_dim", default=80)
    steps = 2 * _size(config, "max_source_positions", default=POSITIONS)
    wide = _size(config, "feature_projection_input_dim", default=bands)
    return [(1, bands, steps), (1, steps, bands), (1, steps, wide)]


def _wave(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    bands = _size(config, "num_mel_bins", "mel_dim", default=80)
    return [(1, 4000), (1, 1, 4000), (1, POSITIONS, bands), (1, 1, POSITIONS, bands)]


def _patches(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    """Flattened patches of one image, as models that take images of any shape want them."""
    side = _size(config, "patch_size", default=8)
    channels = _size(config, "num_channels", "in_channels", "in_chans", default=3)
    temporal = _size(config, "temporal_patch_size", "patch_temporal", default=1)
    pixels = _size(config, "patch_embed_hidden_size", default=channels * side * side)
    count = GRID * GRID
    return [(count, pixels * temporal), (count, pixels), (1, count, pixels), (count, channels, side, side)]


def _vectors(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    return [(1, TOKENS, _size(config, "hidden_size", "d_model", default=WIDTH))]


def _series(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    length = _size(config, "context_length", default=32)
    return [(1, length, _size(config, "num_input_channels", default=1)), (1, length)]


_FLOATS: dict[str, Callable[[PreTrainedConfig], list[tuple[int, ...]]]] = {
    "pixel_values": _image,
    "image": _image,
    "pixel_values_videos": lambda config: _image(config)[1:2],
    "input_features": _spectrum,
    "input_values": _wave,
    "hidden_states": lambda config: _patches(config) + _vectors(config),
    "inputs_embeds": _vectors,
    "query_embeds": _vectors,
    "context": _vectors,
    "past_values": _series,
    "inputs": _vectors,
}
_IDS = {"input_ids", "decoder_input_ids", "qformer_input_ids", "audio_input_ids"}
_FIXED: dict[str, list[Any]] = {
    "grid_thw": [[1, GRID, GRID]],
    "image_grid_thw": [[1, GRID, GRID]],
    "spatial_shapes": [[GRID, GRID]],
    "pixel_attention_mask": [[1] * (GRID * GRID)],
    "attention_mask": [[1] * TOKENS],
    "merge_sizes": [1],
    "freq": [[0]],
    "bbox": [[[1, 2, 3, 4]] * TOKENS],
}
_SHAPED = {"grid_thw", "image_grid_thw", "spatial_shapes"}
"""Beside one of these, an image comes as flattened patches."""


def _flattened_patches(config: PreTrainedConfig) -> Tensor:
    """Pix2Struct's: each patch headed by its row and column, from 1."""
    place = torch.cartesian_prod(torch.arange(1, GRID + 1), torch.arange(1, GRID + 1))
    return torch.cat([place, torch.ones(GRID * GRID, _patches(config)[1][1])], dim=1)[None]


def _variants(name: str, names: tuple[str, ...], config: PreTrainedConfig, dice: torch.Generator) -> list[Tensor]:
    """The forms an input of this name takes among the architectures."""
    if name in _IDS:
        most = min(_FIRST_TOKEN, _size(config, "vocab_size", default=_FIRST_TOKEN))
        return [torch.randint(5, most, shape, generator=dice) for shape in _tokens(config)]
    if name in _FIXED:
        return [torch.tensor(_FIXED[name])]
    if name == "flattened_patches":
        return [_flattened_patches(config)]
    if name not in _FLOATS:
        raise Refused(f"needs an input {name!r}")
    shapes = _patches(config) if name == "pixel_values" and _SHAPED & {*names} else _FLOATS[name](config)
    return [torch.randn(shape, generator=dice) for shape in shapes]


def _input_names(model: PreTrainedModel) -> list[tuple[str, ...]]:
    """Sets of inputs to offer: what the signature demands, then more and more of what it allows."""
    signature = inspect.signature(model.forward).parameters.values()
    allowed = [parameter.name for parameter in signature]
    needed = [p.name for p in signature if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    main = [model.main_input_name] if isinstance(model.main_input_name, str) else []
    first = list(dict.fromkeys([*needed, *main]))
    usual = ("decoder_input_ids", "pixel_values", "input_ids", "bbox", "grid_thw", "flattened_patches")
    extra = [name for name in usual if name in allowed]
    offers = [first, *([*first, name] for name in extra), [*first, *extra], needed, ["input_ids"]]
    return list(dict.fromkeys(tuple(dict.fromkeys(offer)) for offer in offers if offer))


def _offers(model: PreTrainedModel, seed: int) -> Iterator[dict[str, Tensor]]:
    dice = torch.Generator().manual_seed(seed)
    for names in _input_names(model):
        forms = [_variants(name, names, model.config, dice) for name in names]
        for values in itertools.islice(itertools.product(*forms), 6):
            yield dict(zip(names, values, strict=True))


@torch.no_grad()
def tiny_inputs(model: PreTrainedModel, seed: int = 0) -> dict[str, Tensor]:
    """Random inputs of the shapes this model accepts, found by offering the usual ones."""
    first: Exception | None = None
    for offer in _offers(model, seed):
        try:
            output = model(**offer)
        except Exception as error:  # noqa: BLE001 (a refusal only means: offer something else)
            first = first or error
            continue
        _check_finite(output)
        return offer
    raise first or Refused("no input to offer")


def _check_finite(output: Any) -> None:
    values = output.to_tuple() if hasattr(output, "to_tuple") else (output,)
    tensors = [value for value in values if isinstance(value, Tensor) and value.is_floating_point()]
    if tensors and not bool(tensors[0].isfinite().all()):
        raise Refused("output is not finite")


# --- the sweep --------------------------------------------------------------------------------------------

SECONDS, BYTES = 60, 4 * 2**30


class OutOfTime(BaseException):
    """Not an ``Exception``, so that no model's own error handling swallows it."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Whether a type was built and run, or why not."""

    model_type: str
    built: bool
    reason: str = ""


@contextmanager
def _limits(seconds: float, memory: int) -> Generator[None]:
    """Stop after a time of computing (in the main thread, where signals arrive), and refuse to take much more memory.

    The time is the processor's, so that the outcome is the same on a busy machine.
    """

    def stop(_signal: int, _frame: object) -> None:
        raise OutOfTime(f"took longer than {seconds:g} s")

    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    handler = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (taken + memory, before[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


Check = Callable[[PreTrainedModel, dict[str, Tensor]], None]


def attempt(model_type: str, seed: int = 0, check: Check | None = None) -> Outcome:
    """Build a type, run it once and put it to the caller's own check; a failure is a reason, never raised."""
    try:
        with _limits(SECONDS, BYTES):
            model = tiny_model(model_type, seed)
            offer = tiny_inputs(model, seed)
            if check is not None:
                check(model, offer)
    except (Exception, OutOfTime) as error:  # noqa: BLE001 (whatever a model raises is the answer)
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Outcome(model_type, built=False, reason=reason)
    return Outcome(model_type, built=True)


def sweep(model_types: Iterable[str] = CONFIG_MAPPING_NAMES, check: Check | None = None) -> Iterator[Outcome]:
    """Every type in Transformers' registry, one model in memory at a time."""
    for model_type in model_types:
        yield attempt(model_type, check=check)


def main() -> None:
    """Try every type, or those named, and say what runs."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    outcomes = list(sweep(sys.argv[1:] or CONFIG_MAPPING_NAMES))
    for outcome in outcomes:
        if not outcome.built:
            print(f"{outcome.model_type}: {outcome.reason[:200]}")
    built = sum(outcome.built for outcome in outcomes)
    print(f"{built} of {len(outcomes)} run, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
