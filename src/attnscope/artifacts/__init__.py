"""What a view receives: frozen, typed values that say by `kind` what they are, and come as JSON or go to it.

Compute ends here and drawing begins: a figure, the web application and a notebook draw the same values.
"""

from typing import Annotated

from pydantic import Field

from attnscope.artifacts.flow import Flow, FlowChange

Artifact = Annotated[Flow | FlowChange, Field(discriminator="kind")]
"""Any of them, told apart by `kind`."""

__all__ = ["Artifact", "Flow", "FlowChange"]
