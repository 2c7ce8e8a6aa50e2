"""Kinds of tokens, for statistics over a corpus (METHODS 5).

The papers ask how much attention goes to [CLS], to [SEP], to comma and full stop, and to the rest; decoders
have a first token and line ends instead. Any other kinds can be given as predicates or word lists.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnscope.errors import InputError, one_of
from attnscope.text.characters import has_line_break, is_punctuation
from attnscope.text.tokens import Tokens

Predicate = Callable[[Tokens, int], bool]
Scheme = Mapping[str, Predicate | Collection[str]]

AUTO: Final = "auto"
OTHER: Final = "other"
PADDING: Final = -1
# Comma and full stop as other scripts write them count too.
_STOPS = frozenset(",.،۔、。，．।")  # noqa: RUF001


@dataclass(frozen=True, eq=False)
class Categories:
    """The category of every token: an index into `names`, or `PADDING` for what is no token."""

    names: tuple[str, ...]
    index: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def masks(self) -> NDArray[np.bool_]:
        """Whether a token is in a category: [category, token]."""
        return self.index[None, :] == np.arange(len(self))[:, None]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many tokens each category has."""
        return self.masks.sum(axis=1, dtype=np.int64)


def categorise(tokens: Tokens, scheme: str | Scheme = "auto") -> Categories:
    """Put every token in the first category of the scheme that it meets, else in "other".

    A scheme is "encoder", "decoder", "auto" (encoder if the text begins and ends with special tokens), or
    names with either a predicate or a list of words. A word matches as the token string, as the tokenizer
    writes it, or as the whole word that the token is part of.
    """
    rules = {name: _predicate(rule) for name, rule in _rules(tokens, scheme).items()}
    if OTHER in rules:
        raise InputError(f"{OTHER!r} is the category of the tokens that are left; give yours another name")
    index = np.array([_index(tokens, i, rules) for i in range(len(tokens))], dtype=np.int64)
    index.flags.writeable = False
    return Categories((*rules, OTHER), index)


def _index(tokens: Tokens, token: int, rules: Mapping[str, Predicate]) -> int:
    if not tokens.real[token]:
        return PADDING
    return next((i for i, rule in enumerate(rules.values()) if rule(tokens, token)), len(rules))


def _rules(tokens: Tokens, scheme: str | Scheme) -> Scheme:
    if not isinstance(scheme, str):
        return scheme
    check_scheme(scheme)
    return SCHEMES[scheme if scheme != AUTO else "encoder" if _is_enclosed(tokens) else "decoder"]


def check_scheme(scheme: str | Scheme) -> None:
    """Refuse the name of a scheme that there is none of."""
    if isinstance(scheme, str):
        one_of("category scheme", scheme, (AUTO, *SCHEMES))


def _is_enclosed(tokens: Tokens) -> bool:
    """Whether two special tokens stand around the text, as encoders have it."""
    special = [s for s, real in zip(tokens.special, tokens.real, strict=True) if real]
    return len(special) > 1 and special[0] and special[-1]


def _predicate(rule: Predicate | Collection[str]) -> Predicate:
    if callable(rule):
        return rule
    words = frozenset([rule] if isinstance(rule, str) else rule)
    return lambda tokens, i: not words.isdisjoint(_names(tokens, i))


def _names(tokens: Tokens, token: int) -> tuple[str, ...]:
    word = tokens.words[token]
    whole = () if word is None else (tokens.word_strings[word],)
    return (tokens.strings[token], tokens.raw[token], *whole)


def is_first(tokens: Tokens, token: int) -> bool:
    """The first token, which decoders use as a place to rest."""
    return tokens.real[token] and tokens.real.index(True) == token


def is_cls(tokens: Tokens, token: int) -> bool:
    """The special token in front, whatever it is called (<s> in RoBERTa)."""
    return tokens.special[token] and is_first(tokens, token)


def is_sep(tokens: Tokens, token: int) -> bool:
    """A special token elsewhere (</s> in RoBERTa)."""
    return tokens.special[token] and tokens.real[token] and not is_first(tokens, token)


def is_comma_or_full_stop(tokens: Tokens, token: int) -> bool:
    """A comma or a full stop, of any script."""
    return tokens.strings[token] in _STOPS


def is_newline(tokens: Tokens, token: int) -> bool:
    """A token in which a line ends, even if it holds more."""
    return has_line_break(tokens.strings[token])


def is_punctuation_mark(tokens: Tokens, token: int) -> bool:
    """A token of punctuation only."""
    string = tokens.strings[token].strip()
    return not tokens.special[token] and bool(string) and all(map(is_punctuation, string))


SCHEMES: Final[Mapping[str, Scheme]] = MappingProxyType(
    {
        "encoder": {"[CLS]": is_cls, "[SEP]": is_sep, "comma and full stop": is_comma_or_full_stop},
        "decoder": {"first token": is_first, "newline": is_newline, "punctuation": is_punctuation_mark},
    }
)
