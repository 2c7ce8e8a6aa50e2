"""What is refused before it is worked on: texts that are empty, too long, or no text."""

from attnscope.analyses.views.registry import TextRequest
from attnscope.artifacts.session import Limits
from attnscope.errors import InputError, TextTooLong
from attnscope.models.model import Model


def check_request(request: TextRequest, limits: Limits) -> None:
    """What can be told without a model."""
    if not request.text.strip():
        raise InputError("the text is empty; type at least one word")
    most = limits.characters
    for name, value in request:
        if isinstance(value, str) and len(value) > most:
            raise InputError(f"the {name} has {len(value):,} characters, {most:,} are the most; shorten it")
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InputError(f"the {name} has lone surrogates, which are no characters; type it again")


def check_length(model: Model, request: TextRequest, limits: Limits) -> None:
    """How many tokens a model makes of the texts."""
    most = limits.tokens
    try:
        inputs = model.encode(request.text, request.pair)
        count = sum(len(tokens) for tokens in (inputs.source, inputs.target) if tokens is not None)
    except TextTooLong as error:
        count, most = error.tokens, min(most, error.most)
    if count > most:
        raise InputError(f"the text has {count} tokens for {model.name}, {most} are the most; shorten it")
