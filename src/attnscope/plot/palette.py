"""The colours of all figures, and nothing else."""

from typing import Final

from matplotlib.colors import LinearSegmentedColormap

PAPER: Final = "#ffffff"
INK: Final = "#1f1b2e"
MUTED: Final = "#6b6778"
RULE: Final = "#d9d6e0"

PURPLE: Final = "#5b2a9d"
TEAL: Final = "#0f7f78"
OCHRE: Final = "#b8761a"
"""Model A, model B, and a third for what is neither; told apart by the colour-blind too."""

AMOUNTS: Final = ("#fcfbfe", "#d4cbe9", "#ac98d6", "#8467be", "#5c3a98", "#35146a")
"""One hue, from paper to deep: lightness falls in even steps, so that twice as much looks twice as deep."""


def amounts() -> LinearSegmentedColormap:
    """The sequential scale for amounts: nothing is paper, the most is deep."""
    return LinearSegmentedColormap.from_list("amounts", AMOUNTS)


FOR: Final = ("#bdd9d6", "#80b4b0", "#478f8b", "#1f6966")
AGAINST: Final = ("#efd9b8", "#dcb477", "#c28a36", "#8f5a10")
"""The two arms of the scale for what speaks for something and against it; they meet in paper."""


def signed() -> LinearSegmentedColormap:
    """The diverging scale: against is ochre, nothing is paper, for is teal."""
    return LinearSegmentedColormap.from_list("signed", (*AGAINST[::-1], PAPER, *FOR))


SERIES: Final = (PURPLE, TEAL, OCHRE, MUTED)
MARKERS: Final = ("o", "s", "^", "D")
"""Series differ in marker as well as in colour."""
