"""Any JSON value, and strings that are one of some words."""

from typing import Annotated

from pydantic import Field, WithJsonSchema
from typing_extensions import TypeAliasType

JsonValue = TypeAliasType(
    "JsonValue",
    "dict[str, JsonValue] | list[JsonValue] | str | float | bool | None",
)
JsonObject = dict[str, JsonValue]
NoText = Annotated[str, Field(max_length=0)]


def one_of(*words: str) -> WithJsonSchema:
    """Return the schema of a string that has one of these values. For Python it stays a plain string."""
    return WithJsonSchema({"type": "string", "enum": list(words)})
