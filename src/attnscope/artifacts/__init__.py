"""What a view receives: frozen, typed values that say by `kind` what they are, and come as JSON or go to it.

Compute ends here and drawing begins: a figure, the web application and a notebook draw the same values. Where an
artifact has arrays, the two travel together as a `Parcel`.
"""

from typing import Annotated

from pydantic import Field

from attnscope.artifacts.answer import Answer
from attnscope.artifacts.flow import Flow, FlowChange
from attnscope.artifacts.parcel import Parcel

Artifact = Annotated[Answer | Flow | FlowChange, Field(discriminator="kind")]
"""Any of them, told apart by `kind`."""

__all__ = ["Answer", "Artifact", "Flow", "FlowChange", "Parcel"]
