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


class RunningProcess(TypedDict):
    """A process that has given a heart-beat lately: `silent_s` seconds ago. `serves` is its address, or its work."""

    id: str
    role: Annotated[str, one_of("api", "worker", "all")]
    host: str
    pid: int
    version: str
    serves: str
    started_at: str
    silent_s: float


class Lease(TypedDict):
    """A namespace that the worker in the process `holder` writes. The token grows with every claim."""

    namespace: str
    token: int
    holder: str
    claimed_at: str
    expires_at: str


class Lag(TypedDict):
    """What the index has yet to follow: changed tables and documents (`errors` of them failed and are tried again), and
    chunks to delete. The source that has waited longest was changed `seconds` ago."""

    sources: int
    errors: int
    deletes: int
    seconds: int | None


class Processes(TypedDict):
    """What runs, and how far the index is behind."""

    database: Annotated[str, one_of("sqlite", "postgresql")]
    engine: str
    processes: list[RunningProcess]
    leases: list[Lease]
    lag: Lag


class OpenApiDocument(TypedDict):
    """An OpenAPI document."""

    openapi: str
    info: JsonObject
    tags: list[JsonValue]
    paths: JsonObject
    components: JsonObject
