"""What heads are named for (Clark et al. 2019): the kinds of keys and the neighbours that a head may look at."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnscope.text.categories import is_cls, is_punctuation_mark, is_sep
from attnscope.text.tokens import Tokens

SELF: Final = "self"
PREVIOUS: Final = "previous"
NEXT: Final = "next"
BROAD: Final = "broad"
MIXED: Final = "mixed"
KINDS: Final = {"[CLS]": is_cls, "[SEP]": is_sep, "punctuation": is_punctuation_mark}
ROLES: Final = (SELF, PREVIOUS, NEXT, *KINDS)
LEAST: Final = {SELF: 0.5, PREVIOUS: 0.5, NEXT: 0.5} | dict.fromkeys(KINDS, 0.6)
"""Clark's thresholds on the mean mass; theirs has none for the token itself, which gets that of its neighbours."""
BROAD_ENTROPY: Final = 3.8
"""Nats; about even over 45 keys, so that no head is broad on short texts."""


def kind_masks(tokens: Tokens) -> NDArray[np.bool_]:
    """Which tokens are of which kind: (kind, token)."""
    return np.array([[kind(tokens, place) for place in range(len(tokens))] for kind in KINDS.values()])


def role_of(masses: NDArray[np.floating], entropy: float) -> str:
    """The role whose threshold a head exceeds by most, or "broad", or "mixed" where it has none.

    masses   in the order of `ROLES`
    """
    excess = {name: float(mass) - LEAST[name] for name, mass in zip(ROLES, masses, strict=True)}
    best = max(excess, key=excess.__getitem__)
    if excess[best] > 0:
        return best
    return BROAD if entropy > BROAD_ENTROPY else MIXED
