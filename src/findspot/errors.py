"""Every error a caller can meet, in one table: code, HTTP status, whether trying again helps, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table of errors."""

    code: str
    status: int
    retryable: bool
    advice: str


_KINDS = (
    Kind("MALFORMED_REQUEST", 400, False, "Send a valid HTTP request."),
    Kind("INVALID_ARGUMENT", 422, False, "Correct the field that the message names and send the request again."),
    Kind("UNAUTHORIZED", 401, False, "Send a valid key as 'Authorization: Bearer …' or 'X-API-Key'."),
    Kind("FORBIDDEN", 403, False, "Ask an admin of the project for a key with a higher role."),
    Kind("NOT_FOUND", 404, False, "Check the id and the JSON pointer, and that the key belongs to this project."),
    Kind("METHOD_NOT_ALLOWED", 405, False, "See the API reference for the methods of this address."),
    Kind("MISDIRECTED", 421, False, "Use the server's own address, or add this host name to FINDSPOT_ALLOWED_HOSTS."),
    Kind("VERSION_CONFLICT", 409, True, "Read the newest revision, apply the change to it and send it again."),
    Kind("PATCH_CONFLICT", 409, False, "Read the current value; the change does not fit it. Nothing was changed."),
    Kind("TOOL_NAME_CONFLICT", 409, False, "Choose a name that no other tool of the endpoint has."),
    Kind("REPLACE_PREVIEW_STALE", 409, False, "Ask for a new preview and confirm that one."),
    Kind("CONTEXT_RULES_OVERBUDGET", 422, False, "Shorten the rules layer or raise the token budget."),
    Kind("PRECONDITION_FAILED", 412, True, "Read the newest revision, then send its number in If-Match."),
    Kind("CONTENT_TOO_LARGE", 413, False, "Send or ask for less at once, or raise the limit in the settings."),
    Kind("HEADERS_TOO_LARGE", 431, False, "Send fewer and shorter headers, or a shorter address."),
    Kind("SEARCH_BACKPRESSURE", 429, True, "Wait for retryAfterMs, then ask again."),
    Kind("SEARCH_TIMEOUT", 504, True, "Ask again, or narrow the search."),
    Kind("SEARCH_CAPACITY_EXCEEDED", 507, False, "Remove content from the project or split it into several."),
    Kind("EMBEDDING_DIMENSION_MISMATCH", 502, False, "Check the embedder's model and its declared dimensions."),
    Kind("EMBEDDING_UNAVAILABLE", 503, True, "Check that the embedding service can be reached."),
    Kind("ENGINE_UNAVAILABLE", 503, True, "Check that the search engine can be reached, or that its disk has room."),
    Kind("STORE_UNAVAILABLE", 503, True, "Check the database and the disk with 'findspot doctor'."),
    Kind("STORE_REPLACED", 503, False, "Stop the server, put the database file back or restore a backup, start again."),
    Kind(
        "INDEX_ELSEWHERE", 503, False, "Use the data folder and the database that belong together: docs/postgresql.md."
    ),
    Kind("DISK_FULL", 507, True, "Free disk space, or delete content: deleting still works."),
    Kind("INDEX_REBUILDING", 503, True, "Wait for retryAfterMs; the index is being rebuilt."),
    Kind("SERVER_BUSY", 503, True, "Wait for retryAfterMs, then send the request again."),
    Kind("INTERNAL", 500, True, "This is a fault of Findspot; report it with the request id."),
)

KINDS = {kind.code: kind for kind in _KINDS}
STORE_FAILURES = ("STORE_UNAVAILABLE", "STORE_REPLACED", "DISK_FULL")


MAX_QUOTED = 80  # characters of a value that a message may contain
MAX_MESSAGE = 2000


def quoted(value: object) -> str:
    """Return a value as a message may show it: text in quotation marks, and at most 80 characters of it."""
    short = shortened(str(value))
    return repr(short) if isinstance(value, str) else short


def shortened(text: str, limit: int = MAX_QUOTED) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def in_plain_words(message: str) -> str:
    """Return a message of pydantic as a sentence about a field: "Input should be 1" becomes "must be 1"."""
    text = message.removeprefix("Value error, ").replace("Input should be ", "must be ")
    return text[:1].lower() + text[1:]


class FindspotError(Exception):
    """An error with a code from the table, a sentence for people, and fields for machines.

    The message has a maximum length, so that an error never exceeds the token budget of an answer.
    """

    def __init__(self, code: str, message: str, **fields: Any) -> None:
        message = shortened(message, MAX_MESSAGE)
        super().__init__(message)
        self.kind = KINDS[code]
        self.message = message
        self.fields = fields

    @property
    def code(self) -> str:
        return self.kind.code

    def body(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, **self.fields}


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it is written down, for example as the reason why a source is not indexed."""

    code: str
    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        """Return the failure of an error. Of an unexpected one only the type: its text may hold SQL or content."""
        if isinstance(error, FindspotError):
            return cls(error.code, error.message, error.fields)
        return cls("INTERNAL", f"Unexpected error ({type(error).__name__}). The log has the details.")

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def invalid(field: str, message: str, **fields: Any) -> FindspotError:
    return FindspotError("INVALID_ARGUMENT", f"{field}: {message}", field=field, **fields)


def not_found(what: str, **fields: Any) -> FindspotError:
    return FindspotError("NOT_FOUND", f"There is no such {what}, or this key may not see it.", **fields)
