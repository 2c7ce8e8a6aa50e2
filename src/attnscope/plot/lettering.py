"""Words in figures: fonts that have the letters, labels that fit, and no letter drawn as an error."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.ft2font import FT2Font

from attnscope.text.labels import visible

BASE: Final = "DejaVu Sans"
"""Comes with matplotlib, so it is everywhere."""
WIDER: Final = (
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "Source Han Sans JP",
    "IPAexGothic",
    "IPAGothic",
    "IPAPGothic",
    "TakaoPGothic",
    "VL PGothic",
    "Hiragino Sans",
    "Yu Gothic",
    "Meiryo",
    "MS Gothic",
    "Noto Sans CJK SC",
    "WenQuanYi Micro Hei",
    "PingFang SC",
    "Microsoft YaHei",
    "Noto Sans CJK KR",
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Arial Unicode MS",
    "Unifont",
)
"""Fonts for other scripts, the Japanese ones first; those that are installed are used."""
UNKNOWN: Final = "▯"
LONGEST: Final = 18


@cache
def families() -> tuple[str, ...]:
    """The fonts to write with, in the order in which a letter is looked up."""
    installed = {font.name for font in fontManager.ttflist}
    return (BASE, *(name for name in WIDER if name in installed))


def tick_label(token: str) -> str:
    """A token as a label: nothing invisible, not too long, only letters that a font here has."""
    return shortened(drawable(visible(token)), LONGEST)


def drawable(text: str) -> str:
    """The text with a box for each letter that no font here has."""
    known = _letters()
    return "".join(letter if ord(letter) in known else UNKNOWN for letter in text)


def lost(texts: Iterable[str]) -> bool:
    """Whether some of the texts can't be written here."""
    known = _letters()
    return any(ord(letter) not in known for text in texts for letter in visible(text))


def shortened(text: str, longest: int) -> str:
    """The text, or its beginning with an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def numbered(labels: Sequence[str]) -> list[str]:
    """Labels of which nothing is left but boxes, with their position instead, so that they can be told apart."""
    return [f"{number} {UNKNOWN}" if set(label) == {UNKNOWN} else label for number, label in enumerate(labels, start=1)]


def every(count: int, spacing: float, size: float) -> int:
    """Write one label of so many that those `spacing` points apart do not touch at this size."""
    return max(1, -(-int(size * 1.15 * 100) // max(1, int(spacing * 100)))) if count else 1


def style(size: float, colour: str, **more: Any) -> dict[str, Any]:
    """The keywords of a text: our fonts, and no dollar sign taken for a formula."""
    return {"fontfamily": list(families()), "fontsize": size, "color": colour, "parse_math": False, **more}


@cache
def _letters() -> frozenset[int]:
    """Every code point that one of the fonts has; paths come from matplotlib's own list."""
    return frozenset(
        point
        for family in families()
        for point in FT2Font(str(fontManager.findfont(FontProperties(family=[family])))).get_charmap()
    )
