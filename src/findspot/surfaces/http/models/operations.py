"""Answers of the operating routes."""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from findspot.surfaces.http.models.json import JsonObject, JsonValue, one_of


class Health(TypedDict):
    status: Literal["ok"]
    version: str


class Readiness(TypedDict):
    status: Literal["ready"]
    database: Annotated[str, one_of("sqlite", "postgresql")]
    engine: str


class OpenApiDocument(TypedDict):
    """An OpenAPI document."""

    openapi: str
    info: JsonObject
    tags: list[JsonValue]
    paths: JsonObject
    components: JsonObject
