"""What all artifacts are: frozen values with nothing in them that is not declared."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """Frozen, and with nothing in it that is not declared."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_serialization_defaults_required=True,  # what has a default is there all the same
    )
