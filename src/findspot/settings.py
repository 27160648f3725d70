"""Settings: read from the environment at start, validated, then frozen. docs/settings.md is generated from here."""

import difflib
import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MiB = 1024 * 1024


MIN_TOKEN = 16  # characters; a shorter one could be guessed
PREFIX = "FINDSPOT_"
CLIENT_VARIABLES = ("FINDSPOT_URL", "FINDSPOT_MCP_URL", "FINDSPOT_KEY")  # options of commands
CHUNK_THRESHOLD = 10_000  # characters; a search tool indexes strings of at least this length


class Settings(BaseSettings):
    """All settings. Each has a default."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True, populate_by_name=True)

    # ── server ──
    data: Path = Field(Path(".findspot"), alias="FINDSPOT_DATA", description="Folder of all data.")
    host: str = Field("127.0.0.1", alias="FINDSPOT_HOST", description="Address to listen on.")
    port: int = Field(8321, ge=0, le=65535, alias="FINDSPOT_PORT", description="Port to listen on; 0 picks a free one.")
    allowed_hosts: str = Field(
        "",
        alias="FINDSPOT_ALLOWED_HOSTS",
        description="More host names of this server, separated by commas.",
    )
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s/?#]+$",
        alias="FINDSPOT_PUBLIC_URL",
        description="Address of this server in links, without a path; default: the address it listens on.",
    )
    token: SecretStr | None = Field(
        None,
        alias="FINDSPOT_TOKEN",
        description="The owner's token, 16 characters or more; if unset, one is generated and kept in the data folder.",
    )
    database_url: SecretStr | None = Field(
        None,
        alias="FINDSPOT_DATABASE_URL",
        description="postgresql://… stores data in PostgreSQL instead of SQLite.",
    )
    replica_url: SecretStr | None = Field(
        None,
        alias="FINDSPOT_REPLICA_URL",
        description="postgresql://… of a read replica of that database, for exports and metrics.",
    )
    engine: Literal["embedded", "turbopuffer"] = Field(
        "embedded", alias="FINDSPOT_ENGINE", description="The search engine."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", alias="FINDSPOT_LOG_LEVEL", description="Least severe level that is logged."
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", alias="FINDSPOT_LOG_FORMAT", description="JSON or readable log lines; auto: readable on a terminal."
    )

    # ── limits ──
    max_connections: int = Field(
        10_000, ge=1, alias="FINDSPOT_MAX_CONNECTIONS",
        description="Most open connections of one process, if its limit on open files allows as many.",
    )  # fmt: skip
    max_connections_per_address: int = Field(
        1_000, ge=1, alias="FINDSPOT_MAX_CONNECTIONS_PER_ADDRESS",
        description="Most open connections from one address, at most three quarters of all; raise it behind a proxy.",
    )  # fmt: skip
    max_body: int = Field(
        64 * MiB, ge=1024, alias="FINDSPOT_MAX_BODY", description="Largest request body in bytes; larger ones get 413."
    )
    body_memory: int = Field(
        256 * MiB,
        ge=1024,
        alias="FINDSPOT_BODY_MEMORY",
        description="Memory in bytes for all large requests at once, half for bodies, half for tables and documents "
        "being read or answered; past it, large requests wait or get 503.",
    )
    helper_seconds: float = Field(
        10.0, gt=0, alias="FINDSPOT_HELPER_SECONDS",
        description="Processor time of one operation on content, such as a patch or a query; past it, it gets 413.",
    )  # fmt: skip
    helper_memory: int = Field(
        512 * MiB, ge=64 * MiB, alias="FINDSPOT_HELPER_MEMORY",
        description="Memory in bytes of one operation on content, beyond twice the content; past it, it gets 413.",
    )  # fmt: skip
    max_table: int = Field(
        256 * MiB, ge=1024, le=900 * MiB, alias="FINDSPOT_MAX_TABLE",
        description="Largest JSON text of one table in bytes, also after edits.",
    )  # fmt: skip
    max_document: int = Field(
        16 * MiB,
        ge=1024,
        le=256 * MiB,
        alias="FINDSPOT_MAX_DOCUMENT",
        description="Largest content of one document in bytes.",
    )
    max_chunks: int = Field(
        5_000_000, ge=1, alias="FINDSPOT_MAX_CHUNKS",
        description="Most chunks of one project; content above it is stored, but not searched.",
    )  # fmt: skip
    max_vectors: int = Field(
        20_000_000_000, ge=1, alias="FINDSPOT_MAX_VECTORS",
        description="Most bytes of a project's vectors, one per dimension; more evict the least recently hit ones.",
    )  # fmt: skip
    answer_tokens: int = Field(
        20_000, ge=500, alias="FINDSPOT_ANSWER_TOKENS", description="Token budget of one answer to an agent."
    )

    # ── embedder and engine services ──
    embedder: str = Field(
        "offline", pattern=r"^(offline|(openai|litellm)/.+)$", alias="FINDSPOT_EMBEDDER",
        description="Text to vector: offline, openai/<model> (any OpenAI-compatible API), or litellm/<model>.",
    )  # fmt: skip
    embedder_base_url: str | None = Field(
        None,
        pattern=r"^https?://\S+$",
        alias="FINDSPOT_EMBEDDER_BASE_URL",
        description="Address of the embedding API; default: the one of OpenAI, or LiteLLM's.",
    )
    embedder_api_key: SecretStr | None = Field(
        None, alias="FINDSPOT_EMBEDDER_API_KEY", description="Key of the embedding API."
    )
    embedder_dimensions: int | None = Field(
        None,
        ge=1,
        alias="FINDSPOT_EMBEDDER_DIMENSIONS",
        description="Declared dimensions, checked against each answer.",
    )
    embedder_timeout_s: float = Field(
        5.0, gt=0, alias="FINDSPOT_EMBEDDER_TIMEOUT_S", description="Seconds that embedding a query may take."
    )
    embedder_batch_timeout_s: float = Field(
        60.0,
        gt=0,
        alias="FINDSPOT_EMBEDDER_BATCH_TIMEOUT_S",
        description="Seconds that one batch of texts may take, before it is tried again.",
    )
    embedder_calibration: str | None = Field(
        None,
        alias="FINDSPOT_EMBEDDER_CALIBRATION",
        description="From cosine to score, as 'a,b'; 'findspot calibrate' fits it. Default: the embedder's own.",
    )
    turbopuffer_api_key: SecretStr | None = Field(None, alias="TURBOPUFFER_API_KEY", description="Key of turbopuffer.")
    turbopuffer_region: str | None = Field(None, alias="TURBOPUFFER_REGION", description="Region of turbopuffer.")
    turbopuffer_base_url: str | None = Field(
        None, alias="TURBOPUFFER_BASE_URL", description="Address of turbopuffer, instead of a region."
    )

    # ── search ──
    chunk_size: int = Field(
        1000, ge=100, le=8000, alias="SEARCH_DEFAULT_CHUNK_SIZE", description="Most characters in a chunk."
    )
    chunk_overlap: int = Field(
        100,
        ge=0,
        alias="SEARCH_DEFAULT_CHUNK_OVERLAP",
        description="Most characters that two neighbouring chunks share.",
    )
    max_chunks_per_node: int = Field(
        60_000,
        ge=1,
        alias="SEARCH_MAX_CHUNKS_PER_NODE",
        description="Most chunks of one string; longer strings are not indexed.",
    )
    max_content_size: int = Field(
        50_000_000,
        ge=1,
        alias="SEARCH_MAX_CONTENT_SIZE",
        description="Most characters of one string; longer strings are not indexed.",
    )
    top_k: int = Field(
        5, ge=1, alias="SEARCH_DEFAULT_TOP_K", description="Hits of a search tool if the call names no number."
    )
    max_top_k: int = Field(20, ge=1, alias="SEARCH_MAX_TOP_K", description="Most hits of a search tool.")
    vector_weight: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        alias="SEARCH_DEFAULT_VECTOR_WEIGHT",
        description="Weight of vectors; default: the embedder's measured best.",
    )
    bm25_weight: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        alias="SEARCH_DEFAULT_BM25_WEIGHT",
        description="Weight of keywords; default: the embedder's measured best.",
    )
    embedding_batch_size: int = Field(
        100, ge=1, alias="SEARCH_EMBEDDING_BATCH_SIZE", description="Texts in one call of an embedding API."
    )
    turbopuffer_batch_size: int = Field(
        1000, ge=1, alias="SEARCH_TURBOPUFFER_BATCH_SIZE", description="Chunks in one write to turbopuffer."
    )
    enable_embedding_cache: bool = Field(
        True, alias="SEARCH_ENABLE_EMBEDDING_CACHE", description="Keep the vectors of recent queries in memory."
    )
    embedding_cache_ttl: int = Field(
        3600, ge=0, alias="SEARCH_EMBEDDING_CACHE_TTL", description="Seconds a query's vector stays in memory."
    )
    tool_config_cache_ttl: int = Field(
        300,
        ge=0,
        alias="SEARCH_TOOL_CONFIG_CACHE_TTL",
        description="Accepted and ignored: the configuration of a tool is not cached, and a change applies at once.",
    )

    @field_validator("token")
    @classmethod
    def _strong_token(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(rf"[!-~]{{{MIN_TOKEN},}}", value.get_secret_value()):
            raise ValueError(f"must have {MIN_TOKEN} characters or more, of ASCII letters, digits and punctuation")
        return value

    @field_validator("database_url", "replica_url")
    @classmethod
    def _known_database(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("must start with postgresql://; leave it unset for SQLite")
        return value

    @field_validator("embedder")
    @classmethod
    def _installed(cls, value: str) -> str:
        if value.startswith("litellm/") and importlib.util.find_spec("litellm") is None:
            raise ValueError(
                "needs LiteLLM, which is not installed. Install it with: pip install 'findspot[litellm]' "
                "(in a checkout: make install-litellm). OpenAI-compatible services work without it: openai/<model>"
            )
        return value

    @field_validator("embedder_calibration")
    @classmethod
    def _two_numbers(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"\s*\d+(\.\d+)?\s*,\s*-?\d+(\.\d+)?\s*", value):
            raise ValueError("must be two numbers a,b with a above zero, as 'findspot calibrate' prints them")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.chunk_overlap * 2 >= self.chunk_size:
            raise ValueError("SEARCH_DEFAULT_CHUNK_OVERLAP must be less than half of SEARCH_DEFAULT_CHUNK_SIZE")
        if self.top_k > self.max_top_k:
            raise ValueError("SEARCH_DEFAULT_TOP_K must not be above SEARCH_MAX_TOP_K")
        return self

    def tool_chunking(self, size: int | None, overlap: int | None, threshold: int | None) -> tuple[int, int, int]:
        """Return chunk size, overlap and threshold of a search tool that sets these, or leaves them out (None)."""
        size = self.chunk_size if size is None else size
        overlap = min(self.chunk_overlap, (size - 1) // 2) if overlap is None else overlap
        return size, overlap, CHUNK_THRESHOLD if threshold is None else threshold

    @property
    def shared(self) -> bool:
        """Whether several processes may serve the same data: the data folder then holds nothing with a single owner."""
        return self.database_url is not None and self.engine == "turbopuffer"

    @property
    def address(self) -> str:
        """The address of this server in links: the public one, else the one it listens on."""
        return self.public_url or self.url(self.port)

    def url(self, port: int) -> str:
        """Return the address of a server of this machine that listens on `port`."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def unknown_variables(names: Iterable[str]) -> dict[str, str | None]:
    """Return the names of environment variables that look like settings but are none, each with the nearest setting."""
    known = [field.alias for field in Settings.model_fields.values() if field.alias] + list(CLIENT_VARIABLES)
    ours = {name.removeprefix(PREFIX): name for name in known if name.startswith(PREFIX)}
    found: dict[str, str | None] = {}
    for name in sorted(names):
        rest = name.upper().removeprefix(PREFIX)
        if name.upper().startswith(PREFIX) and rest not in ours:
            nearest = difflib.get_close_matches(rest, ours, 1)
            found[name] = ours[nearest[0]] if nearest else None
    return found
