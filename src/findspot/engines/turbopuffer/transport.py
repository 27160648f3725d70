"""Calls the service with the official SDK: limits, deadlines, retries, and errors that name no secret."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from turbopuffer.types import NamespaceMetadata, NamespaceMultiQueryResponse, NamespaceWriteResponse

import turbopuffer
from findspot.engines.turbopuffer.slots import Slots
from findspot.errors import FindspotError
from findspot.models import Backoff

T = TypeVar("T")

CONNECT_S = 2.0
RETRY_AFTER_S = 5.0  # the longest wait that the service may ask for; the SDK would wait up to 30 minutes
DOWN_S = 2.0  # after a call that failed for good, others are not retried for so long
BACKOFF = Backoff(first_s=0.1, longest_s=2.0, jitter=0.5)
LISTED_AT_ONCE = 1000  # namespaces
_RETRIED = (408, 409, 429)
_SHOWN = 80  # characters of an error of the service, which may quote data


class Missing(Exception):
    """The namespace does not exist in the service."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long calls may take, with their retries and in one attempt. An answer that does not come is asked for again.

    A write that fails is tried again by the index worker, later. One attempt is short enough for a server that stops.
    """

    read_s: float = 5.0  # if the caller names no other time
    read_attempt_s: float = 2.0
    write_s: float = 30.0
    write_attempt_s: float = 8.0


class Transport:
    """One client of the service, for all threads."""

    def __init__(
        self,
        api_key: str,
        *,
        region: str | None = None,
        base_url: str | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
    ) -> None:
        self._client = turbopuffer.Turbopuffer(
            api_key=api_key, region=region, base_url=base_url, max_retries=0, telemetry=False, compression=True
        )
        self._api_key = api_key
        self._patience = patience
        self._down_until = 0.0
        self._slots = Slots()
        self._closing = threading.Event()
        self._namespaces = turbopuffer.resources.NamespacesResource(self._client)

    def query(
        self, name: str, queries: Sequence[dict[str, Any]], weight: int, timeout_s: float | None = None
    ) -> NamespaceMultiQueryResponse:
        """Ask several queries at once, which see the same state. Raises Missing."""

        def ask(attempt_s: float) -> NamespaceMultiQueryResponse:
            with self._slots.take(name, weight, attempt_s) as got:
                if not got:
                    raise _Busy
                return self._namespaces.multi_query(
                    namespace=name, queries=cast(Any, queries), timeout=_timeout(attempt_s)
                )

        return self._read(ask, timeout_s)

    def write(self, name: str, **parameters: Any) -> NamespaceWriteResponse:
        """Write to a namespace. Raises Missing."""
        return self._write(
            lambda attempt_s: self._namespaces.write(namespace=name, timeout=_timeout(attempt_s), **parameters)
        )

    def metadata(self, name: str) -> NamespaceMetadata:
        return self._read(lambda attempt_s: self._namespaces.metadata(namespace=name, timeout=_timeout(attempt_s)))

    def warm(self, name: str) -> None:
        """Have the service load a namespace into its cache."""
        self._read(
            lambda attempt_s: self._namespaces.hint_cache_warm(namespace=name, timeout=_timeout(attempt_s)),
            self._patience.read_attempt_s,
        )

    def delete(self, name: str) -> None:
        """Delete a namespace, if it exists."""
        try:
            self._write(lambda attempt_s: self._namespaces.delete_all(namespace=name, timeout=_timeout(attempt_s)))
        except Missing:  # never written, or an answer was lost and this is the second attempt
            return

    def list(self, prefix: str) -> list[str]:
        """Return the names of the namespaces that begin with `prefix`."""

        def read(attempt_s: float) -> list[str]:
            pages = self._client.namespaces(prefix=prefix, page_size=LISTED_AT_ONCE, timeout=_timeout(attempt_s))
            return [each.id for each in pages]

        return self._read(read)

    def cancel(self) -> None:
        """Have calls that wait for a retry fail."""
        self._closing.set()

    def close(self) -> None:
        self.cancel()
        self._client.close()

    def _read(self, call: Callable[[float], T], timeout_s: float | None = None) -> T:
        return self._retry(
            call, self._patience.read_s if timeout_s is None else timeout_s, self._patience.read_attempt_s
        )

    def _write(self, call: Callable[[float], T]) -> T:
        return self._retry(call, self._patience.write_s, self._patience.write_attempt_s)

    def _retry(self, call: Callable[[float], T], timeout_s: float, attempt_s: float) -> T:
        """Repeat a call until it succeeds, fails for good, or the time is over.

        While the service is down, a call is tried once, so that not every search waits as long as it may.
        """
        until, failures = time.monotonic() + timeout_s, 0
        while True:
            left_s = max(0.05, until - time.monotonic())
            try:
                answer = call(min(left_s, attempt_s))
                self._down_until = 0.0
                return answer
            except turbopuffer.NotFoundError as error:
                raise Missing from error
            except (turbopuffer.APIError, _Busy) as error:
                failure: Exception = error
            failures += 1
            delay_s = max(BACKOFF.delay_s(failures), min(_retry_after_s(failure), RETRY_AFTER_S))
            now = time.monotonic()
            is_over = now + delay_s >= until or now < self._down_until
            if not _is_retryable(failure) or is_over or self._closing.wait(delay_s):
                if is_over and not isinstance(failure, _Busy | turbopuffer.RateLimitError):
                    self._down_until = time.monotonic() + DOWN_S
                raise FindspotError("ENGINE_UNAVAILABLE", self._message(failure)) from failure

    def _message(self, error: Exception) -> str:
        if isinstance(error, _Busy):
            return "Too many queries of this namespace wait for turbopuffer."
        if isinstance(error, turbopuffer.AuthenticationError | turbopuffer.PermissionDeniedError):
            return "turbopuffer refuses the API key. Check TURBOPUFFER_API_KEY."
        if isinstance(error, turbopuffer.RateLimitError):
            return "turbopuffer is busy (429)."
        if isinstance(error, turbopuffer.APIStatusError):
            body = error.body if isinstance(error.body, dict) else {}
            reason = str(body.get("error", "")).replace(self._api_key, "***")[:_SHOWN]
            return f"turbopuffer answered {error.status_code}{f': {reason}' if reason else ''}."
        if isinstance(error, turbopuffer.APITimeoutError):
            return "turbopuffer did not answer in time."
        return "turbopuffer cannot be reached."


class _Busy(Exception):
    """The slots of a namespace were taken for too long."""


def _timeout(seconds: float) -> turbopuffer.Timeout:
    return turbopuffer.Timeout(seconds, connect=min(seconds, CONNECT_S))


def _is_retryable(error: Exception) -> bool:
    if isinstance(error, turbopuffer.APIStatusError):
        return error.status_code in _RETRIED or error.status_code >= 500
    return isinstance(error, turbopuffer.APIConnectionError | _Busy)


def _retry_after_s(error: Exception) -> float:
    if not isinstance(error, turbopuffer.APIStatusError):
        return 0.0
    try:
        return max(0.0, float(error.response.headers.get("retry-after", 0)))
    except ValueError:  # a date, which the service does not send
        return 0.0
