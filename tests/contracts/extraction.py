"""What each architecture computes, taken from Transformers' own modules by hand.

Nothing here goes through `attnscope`: weights come from `output_attentions=True` with eager attention, everything
else from hooks and parameters whose names are written out for each architecture.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.reference import Layer, Norm
from tests import zoo


@dataclass
class Seen:
    """What went into a module and what came out, at its latest call."""

    given: Tensor
    out: Tensor


@contextmanager
def watching(*modules: nn.Module) -> Iterator[dict[nn.Module, list[Seen]]]:
    """The calls of these modules, each copied (some models add to a tensor in place later)."""
    seen: dict[nn.Module, list[Seen]] = {module: [] for module in modules}

    def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        given = args[0] if args else kwargs.get("hidden_states")
        out = output[0] if isinstance(output, tuple) else output
        seen[module].append(Seen(given[0].clone(), out[0].clone()))

    handles = [module.register_forward_hook(keep, with_kwargs=True) for module in modules]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@dataclass(frozen=True)
class Places:
    """Where one layer of an architecture keeps what the formulas speak of."""

    heads: int
    values: Callable[[Tensor], Tensor]
    """From what the value projection gave (key, ...) to (key, value head, value)."""
    value: nn.Module
    output: nn.Module
    residual: Callable[["Calls"], Tensor]
    block_output: Callable[["Calls"], Tensor]
    watch: tuple[nn.Module, ...] = ()
    norm: Norm | None = None
    place: str = "none"
    scale: float = 1.0
    extra: Callable[["Calls"], Tensor] | None = None
    cross: bool = False
    call: int = 0
    """Which call of the modules: a shared layer is called once for each place it stands at."""


@dataclass(frozen=True)
class Calls:
    """The calls of this layer's modules."""

    seen: dict[nn.Module, list[Seen]]
    call: int

    def given(self, module: nn.Module) -> Tensor:
        return self.seen[module][self.call].given

    def out(self, module: nn.Module) -> Tensor:
        return self.seen[module][self.call].out


def _matrix(module: nn.Module) -> tuple[Tensor, Tensor | None]:
    """(in, out) weight and bias; GPT-2's Conv1D stores it that way, Linear stores it transposed."""
    weight = module.weight.detach()
    weight = weight.T if isinstance(module, nn.Linear) else weight
    return weight, None if module.bias is None else module.bias.detach()


def _layer(places: Places, seen: dict[nn.Module, list[Seen]], alpha: Tensor) -> Layer:
    calls = Calls(seen, places.call)
    group = lambda values: values.repeat_interleave(places.heads // values.shape[1], 1)  # noqa: E731
    value = group(places.values(calls.out(places.value)))
    W_O, b_O = _matrix(places.output)
    W_V, b_V = _matrix(places.value)
    return Layer(
        alpha=alpha,
        value=value.transpose(0, 1),
        W_O=W_O.view(places.heads, -1, W_O.shape[1]),
        b_O=b_O,
        residual=places.residual(calls),
        attention_output=calls.out(places.output),
        block_output=places.block_output(calls),
        W_V=group(places.values(W_V)),
        b_V=None if b_V is None else group(places.values(b_V[None]))[0],
        norm=places.norm,
        place=places.place,
        scale=places.scale,
        extra=None if places.extra is None else places.extra(calls),
        cross=places.cross,
    )


# --- how values come out of a projection ------------------------------------------------------------------


def _split(width: int) -> Callable[[Tensor], Tensor]:
    """Heads one after another."""
    return lambda out: out.reshape(len(out), -1, width)


def _fused_thirds(heads: int) -> Callable[[Tensor], Tensor]:
    """q of all heads, k of all heads, v of all heads (GPT-2)."""
    return lambda out: out.reshape(len(out), 3, heads, -1)[:, 2]


def _fused_per_head(heads: int) -> Callable[[Tensor], Tensor]:
    """q, k, v of one head after another (GPT-NeoX, Bloom, the first Falcon with ALiBi)."""
    return lambda out: out.reshape(len(out), heads, 3, -1)[:, :, 2]


def _fused_one_key(heads: int) -> Callable[[Tensor], Tensor]:
    """All queries, then one key and one value for all heads (Falcon-7B)."""
    return lambda out: out.reshape(len(out), heads + 2, -1)[:, -1:]


def _fused_groups(groups: int, heads: int) -> Callable[[Tensor], Tensor]:
    """In each group its queries, its key and its value (Falcon-40B)."""
    return lambda out: out.reshape(len(out), groups, heads // groups + 2, -1)[:, :, -1]


# --- norms ------------------------------------------------------------------------------------------------


def _layer_norm(module: nn.LayerNorm) -> Norm:
    return Norm(module.weight.detach(), module.bias.detach(), module.eps, centred=True)


def _rms_norm(module: nn.Module, plus: float = 0.0) -> Norm:
    eps = module.eps if hasattr(module, "eps") else module.variance_epsilon
    gamma = module.weight.detach() + plus
    return Norm(gamma, torch.zeros_like(gamma), eps, centred=False)


# --- one function for each architecture -------------------------------------------------------------------


def _bert(model: nn.Module) -> list[Places]:
    heads = model.config.num_attention_heads
    return [
        Places(
            heads,
            _split(model.config.hidden_size // heads),
            value=layer.attention.self.value,
            output=layer.attention.output.dense,
            residual=lambda calls, layer=layer: calls.given(layer),
            block_output=lambda calls, layer=layer: calls.out(layer.attention.output.LayerNorm),
            watch=(layer, layer.attention.output.LayerNorm),
            norm=_layer_norm(layer.attention.output.LayerNorm),
            place="post",
        )
        for layer in model.encoder.layer
    ]


def _albert(model: nn.Module) -> list[Places]:
    heads = model.config.num_attention_heads
    layer = model.encoder.albert_layer_groups[0].albert_layers[0]
    attention = layer.attention
    return [
        Places(
            heads,
            _split(model.config.hidden_size // heads),
            value=attention.value,
            output=attention.dense,
            residual=lambda calls: calls.given(layer),
            block_output=lambda calls: calls.out(attention.LayerNorm),
            watch=(layer, attention.LayerNorm),
            norm=_layer_norm(attention.LayerNorm),
            place="post",
            call=index,
        )
        for index in range(model.config.num_hidden_layers)
    ]


def _gpt2(model: nn.Module) -> list[Places]:
    heads = model.config.n_head
    return [
        Places(
            heads,
            _fused_thirds(heads),
            value=block.attn.c_attn,
            output=block.attn.c_proj,
            residual=lambda calls, block=block: calls.given(block),
            block_output=lambda calls, block=block: calls.given(block.ln_2),
            watch=(block, block.ln_2),
        )
        for block in model.h
    ]


def _llama(model: nn.Module) -> list[Places]:
    """Also Qwen2, Mistral and gpt-oss; Granite with its multiplier."""
    config = model.config
    return [
        Places(
            config.num_attention_heads,
            _split(layer.self_attn.head_dim),
            value=layer.self_attn.v_proj,
            output=layer.self_attn.o_proj,
            residual=lambda calls, layer=layer: calls.given(layer),
            block_output=lambda calls, layer=layer: calls.given(layer.post_attention_layernorm),
            watch=(layer, layer.post_attention_layernorm),
            scale=config.residual_multiplier if config.model_type == "granite" else 1.0,
        )
        for layer in model.layers
    ]


def _gemma2(model: nn.Module) -> list[Places]:
    return [
        Places(
            model.config.num_attention_heads,
            _split(layer.self_attn.head_dim),
            value=layer.self_attn.v_proj,
            output=layer.self_attn.o_proj,
            residual=lambda calls, layer=layer: calls.given(layer),
            block_output=lambda calls, layer=layer: calls.given(layer.pre_feedforward_layernorm),
            watch=(layer, layer.pre_feedforward_layernorm),
            norm=_rms_norm(layer.post_attention_layernorm, plus=1.0),
            place="branch",
        )
        for layer in model.layers
    ]


def _olmo2(model: nn.Module) -> list[Places]:
    return [
        Places(
            model.config.num_attention_heads,
            _split(layer.self_attn.head_dim),
            value=layer.self_attn.v_proj,
            output=layer.self_attn.o_proj,
            residual=lambda calls, layer=layer: calls.given(layer),
            block_output=lambda calls, layer=layer: calls.given(layer.mlp),
            watch=(layer, layer.mlp),
            norm=_rms_norm(layer.post_attention_layernorm),
            place="branch",
        )
        for layer in model.layers
    ]


def _gpt_neox(model: nn.Module) -> list[Places]:
    """Parallel: the layer's output is the stream, the attention and the feed-forward together."""
    heads = model.config.num_attention_heads
    return [
        Places(
            heads,
            _fused_per_head(heads),
            value=layer.attention.query_key_value,
            output=layer.attention.dense,
            residual=lambda calls, layer=layer: calls.given(layer),
            block_output=lambda calls, layer=layer: calls.out(layer),
            watch=(layer, layer.mlp),
            extra=lambda calls, layer=layer: calls.out(layer.mlp),
        )
        for layer in model.layers
    ]


def _opt(model: nn.Module) -> list[Places]:
    config = model.config
    return [
        Places(
            config.num_attention_heads,
            _split(config.hidden_size // config.num_attention_heads),
            value=layer.self_attn.v_proj,
            output=layer.self_attn.out_proj,
            residual=lambda calls, layer=layer: calls.given(layer),
            block_output=lambda calls, layer=layer: calls.out(layer.self_attn_layer_norm),
            watch=(layer, layer.self_attn_layer_norm),
            norm=_layer_norm(layer.self_attn_layer_norm),
            place="post",
        )
        for layer in model.decoder.layers
    ]


def _bart_layers(layers: nn.ModuleList, heads: int, width: int, *, cross: bool = False) -> list[Places]:
    """Post-norm; the residual of the cross-attention is what the self-attention's norm gave."""
    found = []
    for layer in layers:
        attention = layer.encoder_attn if cross else layer.self_attn
        norm = layer.encoder_attn_layer_norm if cross else layer.self_attn_layer_norm
        before = (lambda calls, layer=layer: calls.out(layer.self_attn_layer_norm)) if cross else None
        found.append(
            Places(
                heads,
                _split(width // heads),
                value=attention.v_proj,
                output=attention.out_proj,
                residual=before or (lambda calls, layer=layer: calls.given(layer)),
                block_output=lambda calls, norm=norm: calls.out(norm),
                watch=(layer, layer.self_attn_layer_norm, norm),
                norm=_layer_norm(norm),
                place="post",
                cross=cross,
            )
        )
    return found


def _bart_encoder(model: nn.Module) -> list[Places]:
    return _bart_layers(model.encoder.layers, model.config.encoder_attention_heads, model.config.d_model)


def _bart_decoder(model: nn.Module) -> list[Places]:
    return _bart_layers(model.decoder.layers, model.config.decoder_attention_heads, model.config.d_model)


def _bart_cross(model: nn.Module) -> list[Places]:
    return _bart_layers(model.decoder.layers, model.config.decoder_attention_heads, model.config.d_model, cross=True)


def _t5_layers(stack: nn.Module, place: int, heads: int, width: int) -> list[Places]:
    """Pre-norm: the sub-layer's input is the stream, its output is the stream with the attention added."""
    found = []
    for block in stack.block:
        sublayer = block.layer[place]
        attention = sublayer.EncDecAttention if place == 1 else sublayer.SelfAttention
        found.append(
            Places(
                heads,
                _split(width),
                value=attention.v,
                output=attention.o,
                residual=lambda calls, sublayer=sublayer: calls.given(sublayer),
                block_output=lambda calls, sublayer=sublayer: calls.out(sublayer),
                watch=(sublayer,),
                cross=place == 1,
            )
        )
    return found


def _t5_encoder(model: nn.Module) -> list[Places]:
    return _t5_layers(model.encoder, 0, model.config.num_heads, model.config.d_kv)


def _t5_decoder(model: nn.Module) -> list[Places]:
    return _t5_layers(model.decoder, 0, model.config.num_heads, model.config.d_kv)


def _t5_cross(model: nn.Module) -> list[Places]:
    return _t5_layers(model.decoder, 1, model.config.num_heads, model.config.d_kv)


def _falcon(model: nn.Module) -> list[Places]:
    config = model.config
    heads = config.num_attention_heads
    if config.new_decoder_architecture:
        values = _fused_groups(config.num_kv_heads, heads)
    else:
        values = _fused_one_key(heads) if config.multi_query else _fused_per_head(heads)
    parallel = config.new_decoder_architecture or config.parallel_attn
    found = []
    for layer in model.h:
        after = layer.mlp if parallel else layer.post_attention_layernorm
        found.append(
            Places(
                heads,
                values,
                value=layer.self_attention.query_key_value,
                output=layer.self_attention.dense,
                residual=lambda calls, layer=layer: calls.given(layer),
                block_output=(lambda calls, layer=layer: calls.out(layer))
                if parallel
                else (lambda calls, after=after: calls.given(after)),
                watch=(layer, after),
                extra=(lambda calls, after=after: calls.out(after)) if parallel else None,
            )
        )
    return found


def _bloom(model: nn.Module) -> list[Places]:
    return [
        Places(
            model.config.n_head,
            _fused_per_head(model.config.n_head),
            value=layer.self_attention.query_key_value,
            output=layer.self_attention.dense,
            residual=lambda calls, layer=layer: calls.given(layer),
            block_output=lambda calls, layer=layer: calls.given(layer.post_attention_layernorm),
            watch=(layer, layer.post_attention_layernorm),
        )
        for layer in model.h
    ]


def _bloom_post_residual(model: nn.Module) -> list[Places]:
    """Both residuals leave after a norm: the stream goes on from the second norm, which therefore closes the block."""
    return [
        Places(
            model.config.n_head,
            _fused_per_head(model.config.n_head),
            value=layer.self_attention.query_key_value,
            output=layer.self_attention.dense,
            residual=lambda calls, layer=layer: calls.out(layer.input_layernorm),
            block_output=lambda calls, layer=layer: calls.out(layer.post_attention_layernorm),
            watch=(layer.input_layernorm, layer.post_attention_layernorm),
            norm=_layer_norm(layer.post_attention_layernorm),
            place="post",
        )
        for layer in model.h
    ]


ARCHITECTURES: dict[tuple[str, str], tuple[Callable[[nn.Module], list[Places]], str]] = {
    ("bert", "self"): (_bert, "attentions"),
    ("roberta", "self"): (_bert, "attentions"),
    ("electra", "self"): (_bert, "attentions"),
    ("albert", "self"): (_albert, "attentions"),
    ("gpt2", "self"): (_gpt2, "attentions"),
    ("llama", "self"): (_llama, "attentions"),
    ("llama-bias", "self"): (_llama, "attentions"),
    ("qwen2", "self"): (_llama, "attentions"),
    ("granite", "self"): (_llama, "attentions"),
    ("gpt-oss", "self"): (_llama, "attentions"),
    ("gemma2", "self"): (_gemma2, "attentions"),
    ("olmo2", "self"): (_olmo2, "attentions"),
    ("gpt-neox", "self"): (_gpt_neox, "attentions"),
    ("opt-post-norm", "self"): (_opt, "attentions"),
    ("bart", "encoder"): (_bart_encoder, "encoder_attentions"),
    ("bart", "decoder"): (_bart_decoder, "decoder_attentions"),
    ("bart", "cross"): (_bart_cross, "cross_attentions"),
    ("t5", "encoder"): (_t5_encoder, "encoder_attentions"),
    ("t5", "decoder"): (_t5_decoder, "decoder_attentions"),
    ("t5", "cross"): (_t5_cross, "cross_attentions"),
    ("falcon", "self"): (_falcon, "attentions"),
    ("falcon-new", "self"): (_falcon, "attentions"),
    ("falcon-alibi", "self"): (_falcon, "attentions"),
    ("bloom", "self"): (_bloom, "attentions"),
    ("bloom-post-residual", "self"): (_bloom_post_residual, "attentions"),
}
"""(zoo name, stack) to how it is read and where Transformers puts its weights."""


@torch.no_grad()
def extract(model: nn.Module, inputs: dict[str, Tensor], name: str, stack: str) -> list[Layer]:
    """The layers of one stack, computed by Transformers alone."""
    describe, attentions = ARCHITECTURES[name, stack]
    places = describe(model)
    modules = {module for place in places for module in (place.value, place.output, *place.watch)}
    with watching(*modules) as seen:
        output = model(**inputs, output_attentions=True, return_dict=True)
    return [_layer(place, seen, alpha[0]) for place, alpha in zip(places, output[attentions], strict=True)]


def zoo_layers(name: str, stack: str) -> list[Layer]:
    """The same for a model of the zoo and its example."""
    return extract(zoo.build(name), zoo.inputs(name), name, stack)
