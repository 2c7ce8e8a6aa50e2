"""Which method to trust, as a table for a terminal."""

import numpy as np
import xarray as xr
from rich.table import Table
from rich.text import Text

from attnscope.cli.tables import table, wrapped


def trust_table(found: xr.Dataset) -> Table:
    """One row a method, the highest AOPC first."""
    texts = int(found.attrs["texts"])
    title = f"which method the decision bears out, over {texts} text{'' if texts == 1 else 's'}"
    made = table(title, ["method", "AOPC", "95%", "sufficiency", "behind\nthe best", "verdict"])
    wrapped(made)
    for place in np.argsort(-found["aopc"].to_numpy(), kind="stable"):
        one = found.isel({"method": int(place)})
        aopc, rest, behind = (float(one[name]) for name in ("aopc", "mean_sufficiency", "behind_best"))
        interval = _interval(float(one["aopc_low"]), float(one["aopc_high"]))
        cells = [str(one["method"].item()), f"{aopc:.3f}", interval, f"{rest:.3f}", f"{behind:.3f}"]
        made.add_row(*map(Text, [*cells, str(one["verdict"].item())]))
    return made


def control_line(found: xr.Dataset) -> str:
    """What was done, and what was left out."""
    attributes = found.attrs
    skipped = int(attributes["skipped_texts"])
    left_out = f" {skipped} texts with fewer than two tokens were left out." if skipped else ""
    right = f" The model is right about {attributes['accuracy']:.1%} of them." if "accuracy" in attributes else ""
    done = "masked" if attributes["how"] == "mask" else "left out"
    return (
        f"AOPC is how far the probability falls, on average, with the highest tokens {done}: more is better; "
        f"sufficiency how far with only those left: less is better.{right}{left_out}"
    )


def _interval(low: float, high: float) -> str:
    return "–" if np.isnan(low) else f"{low:.3f} to {high:.3f}"
