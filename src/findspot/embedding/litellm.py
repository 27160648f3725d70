"""Requests through LiteLLM. These functions run in a process of their own (`runtime/embedders.py`).

Importing LiteLLM takes seconds and 170 MB, and reading an answer of a hundred vectors holds Python's global lock for a
good part of a second. In its own process it delays nothing else. LiteLLM is an extra: `findspot[litellm]`.
"""

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from findspot.embedding.service import NO_VECTORS, TOO_LATE, UNREACHABLE, answered, packed, retry_seconds

ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # no download of prices
    "LITELLM_MODE": "PRODUCTION",  # no .env file of the working directory
    "DEFAULT_MAX_RETRIES": "0",  # ServiceEmbedder retries
    "HF_HUB_OFFLINE": "1",
}


class Request(msgspec.Struct, frozen=True):
    """Texts to embed, and the arguments for `litellm.embedding` that are not None."""

    input: list[str]
    model: str
    timeout: float
    api_base: str | None = None
    api_key: str | None = None
    dimensions: int | None = None


class Reply(msgspec.Struct, frozen=True):
    """Vectors as bytes of float32, each with the index that the service gave it; or what went wrong."""

    vectors: list[tuple[int, bytes]] = []
    problem: str | None = None
    status: int | None = None
    retry_after: float | None = None


def load() -> None:
    """Import LiteLLM."""
    os.environ.update(ENVIRONMENT)
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True


def embed(request: Request) -> Reply:
    """Ask a service for vectors."""
    import litellm

    given = {name: value for name, value in msgspec.structs.asdict(request).items() if value is not None}
    try:
        found: Any = litellm.embedding(**given, drop_params=True, caching=False)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported by its kind
        return Reply([], _problem(error), getattr(error, "status_code", None), _retry_after(error))
    try:
        rows = [(int(each["index"]), packed(each["embedding"])) for each in found.data]
    except (TypeError, ValueError, KeyError, AttributeError):
        return Reply([], NO_VECTORS)
    return Reply(rows)


def _problem(error: Exception) -> str:
    """Return a sentence for an error. LiteLLM also gives a status to errors that were no HTTP answer."""
    kinds = {type(each).__name__ for each in _causes(error)}
    if "HTTPStatusError" in kinds:
        return answered(getattr(error, "status_code", 0))
    if kinds & {"ConnectError", "ConnectionError", "ConnectionRefusedError", "gaierror"}:
        return UNREACHABLE
    if kinds & {"Timeout", "TimeoutError", "APITimeoutError"}:
        return TOO_LATE
    return f"The embedding service gave no answer that can be used ({type(error).__name__})."


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _retry_after(error: Exception) -> float | None:
    """Return the seconds that a service asks us to wait, if it gives a number."""
    ours = getattr(error, "litellm_response_headers", None)
    theirs = getattr(getattr(error, "response", None), "headers", None)
    found = (retry_seconds(headers.get("retry-after")) for headers in (ours, theirs) if headers)
    return next((seconds for seconds in found if seconds is not None), None)
