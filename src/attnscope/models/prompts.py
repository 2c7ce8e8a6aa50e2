"""Adapters that stand beside a model and not in it: prompts and prefixes that were learned."""

from typing import Any

from attnscope.errors import UnsupportedModel


def refuse_prompts(wrapped: Any, name: str) -> None:
    """Refuse a PEFT model whose adapter reads virtual tokens in: the model inside would be run without them."""
    configs: dict[str, Any] = getattr(wrapped, "peft_config", {})
    learned = [config for config in configs.values() if getattr(config, "is_prompt_learning", False)]
    if learned:
        kind = getattr(learned[0].peft_type, "value", learned[0].peft_type)
        raise UnsupportedModel(
            name,
            f"its adapter ({kind}) puts learned vectors before the text, which are no tokens that could be shown; "
            "an adapter in the weights (LoRA and others) can be read",
        )
