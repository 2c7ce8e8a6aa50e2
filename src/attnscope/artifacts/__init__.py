"""What a view receives: frozen, typed values that say by `kind` what they are, and come as JSON or go to it.

Compute ends here and drawing begins: a figure, the web application and a notebook draw the same values. Where an
artifact has arrays, the two travel together as a `Parcel`.
"""

from typing import Annotated

from pydantic import Field

from attnscope.artifacts.answer import Answer
from attnscope.artifacts.change import Change
from attnscope.artifacts.faithfulness import Faithfulness
from attnscope.artifacts.flow import Flow, FlowChange
from attnscope.artifacts.head import Head
from attnscope.artifacts.heads import Heads
from attnscope.artifacts.maps import Maps
from attnscope.artifacts.parcel import Parcel
from attnscope.artifacts.search import Search
from attnscope.artifacts.words import Words

Artifact = Annotated[
    Answer | Change | Faithfulness | Flow | FlowChange | Head | Heads | Maps | Search | Words,
    Field(discriminator="kind"),
]
"""Any of them, told apart by `kind`."""

__all__ = [
    "Answer",
    "Artifact",
    "Change",
    "Faithfulness",
    "Flow",
    "FlowChange",
    "Head",
    "Heads",
    "Maps",
    "Parcel",
    "Search",
    "Words",
]
