"""The errors that the stand-in answers."""

from __future__ import annotations


class ApiError(Exception):
    """An answer with an error status: `{"status": "error", "error": message}`."""

    def __init__(self, status: int, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after_s = status, message, retry_after_s


def bad_request(message: str) -> ApiError:
    return ApiError(400, message)


def require(condition: object, message: str) -> None:
    """Refuse a request that breaks a rule."""
    if not condition:
        raise bad_request(message)


def only_fields(given: object, allowed: set[str], where: str) -> dict[str, object]:
    """Return an object of a request, or refuse it because of an unknown field."""
    if not isinstance(given, dict):
        raise bad_request(f"{where} must be an object")
    if unknown := given.keys() - allowed:
        raise bad_request(f"{where}: unknown field {sorted(unknown)[0]!r}")
    return given
