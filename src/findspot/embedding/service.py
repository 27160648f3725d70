"""Embedders behind an API: batches, timeouts, retries, and a check of every answer.

A `Transport` sends one request. There are two: `openai` and LiteLLM (`runtime/embedders.py`).
"""

import hashlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, TypeAlias

import numpy as np

from findspot.embedding.calibration import Calibration
from findspot.embedding.protocol import Vector, Vectors, refused
from findspot.errors import FindspotError
from findspot.models import Backoff

# Cosines of two models are not comparable; `findspot calibrate` fits this to a model. Until then, a middle value.
UNFITTED = Calibration(12.0, -5.4)
RETRIES = Backoff(first_s=0.5, longest_s=60.0, jitter=0.5)
ATTEMPTS, ATTEMPTS_SOON = 6, 2  # the second for calls that a user waits for

UNREACHABLE = "The embedding service cannot be reached."
TOO_LATE = "The embedding service does not answer in time."
NO_VECTORS = "The answer holds no vectors."

_VERSION = "1"  # change it together with anything that changes a vector
_TEMPORARY = {408, 409, 425, 429}  # and 500 and above
_TEXT_REFUSED = {400, 413, 422}

Answer: TypeAlias = Sequence[tuple[int, bytes]]  # index of the text, and its vector as bytes of float32


class Problem(Exception):
    """The service gave no vectors. `status` is None if there was no HTTP answer.

    The message is always ours: the words of the service may repeat what it was sent.
    """

    def __init__(self, message: str, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class Transport(Protocol):
    """Sends texts to a service. Any number of threads may use it."""

    def embed(self, texts: Sequence[str], timeout_s: float) -> Answer:
        """Return a vector for every text, or raise Problem, at the latest after `timeout_s`."""

    def close(self) -> None:
        """End the requests that are in progress."""


@dataclass(frozen=True, slots=True)
class Service:
    """The address of a model, and the limits for its use."""

    model: str
    base_url: str | None = None
    api_key: str | None = None
    dimensions: int | None = None
    batch: int = 100
    query_timeout_s: float = 5.0
    batch_timeout_s: float = 60.0


class ServiceEmbedder:
    """A model behind an API. While the service is down, calls fail with EMBEDDING_UNAVAILABLE."""

    vector_weight = 0.4  # these models are stronger than the offline one; `search_config` can change it
    is_quick = False
    word_table = None  # only whole texts can be compared

    def __init__(
        self,
        kind: str,
        service: Service,
        transport: Transport,
        calibration: Calibration | None = None,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._kind = kind
        self._service = service
        self._transport = transport
        self._closed = threading.Event()
        self._pause = pause or self._closed.wait
        self._asking_dimension = threading.Lock()
        self._noting_dimension = threading.Lock()  # never held during a request
        self._dimension = service.dimensions
        self.id = f"{kind}/{service.model}"
        self.batch = service.batch
        self.calibration = calibration or UNFITTED

    @property
    def dimension(self) -> int:
        """The declared dimension; if none is declared, the one of the first vector that the service gives."""
        if self._dimension is not None:
            return self._dimension
        with self._asking_dimension:
            return self._dimension or self._ask_dimension()

    @property
    def fingerprint(self) -> str:
        parts = (_VERSION, self._service.model, self._service.base_url or "", str(self.dimension))
        return f"{self._kind}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"

    def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        for index, text in enumerate(texts):
            if not text.strip():
                raise refused(index, "there is no text to embed.")
        starts = range(0, len(texts), self.batch)
        parts = [self._embed_batch(texts[start : start + self.batch], start, soon) for start in starts]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), np.float32)

    def query(self, text: str) -> Vector:
        """Return the vector of a query within the query timeout, retries included."""
        if not text.strip():
            raise refused(0, "there is no text to embed.")
        try:
            vectors = self._ask_soon([text], self._service.query_timeout_s)
        except Problem as problem:
            raise refused(0, _refusal(problem)) from None
        vector: Vector = self._checked(vectors)[0]
        return vector

    def knows(self, text: str) -> bool:
        """Return True: a service does not say which words it knows."""
        return True

    def close(self) -> None:
        self._closed.set()
        self._transport.close()

    def _ask_dimension(self) -> int:
        try:
            return len(self._checked(self._ask(["dimension"], self._service.batch_timeout_s))[0])
        except Problem as problem:
            raise self._unavailable(problem) from None

    def _embed_batch(self, texts: Sequence[str], start: int, soon: bool) -> Vectors:
        ask = self._ask_soon if soon else self._ask
        try:
            return self._checked(ask(texts, self._service.batch_timeout_s))
        except Problem as problem:
            raise self._name_refused_text(texts, start, problem) from None

    def _checked(self, vectors: Vectors) -> Vectors:
        found = vectors.shape[1]
        with self._noting_dimension:
            expected = self._dimension = self._dimension or found
        if found != expected:
            raise FindspotError(
                "EMBEDDING_DIMENSION_MISMATCH",
                f"{self.id} gives vectors of {found} dimensions; {expected} are declared.",
                expected=expected,
                found=found,
            )
        return vectors

    def _ask_soon(self, texts: Sequence[str], timeout_s: float) -> Vectors:
        """Ask for a user who waits: within `timeout_s` in all, with one retry."""
        return self._ask(texts, timeout_s, time.monotonic() + timeout_s, ATTEMPTS_SOON)

    def _ask(
        self, texts: Sequence[str], timeout_s: float, deadline: float = float("inf"), attempts: int = ATTEMPTS
    ) -> Vectors:
        """Ask, and retry what may be temporary. Raises Problem only if the service refuses the texts themselves."""
        attempt = 0
        while True:
            attempt += 1
            left = min(timeout_s, deadline - time.monotonic())
            try:
                return _in_order(self._transport.embed(texts, max(left, 0.001)), len(texts))
            except Problem as problem:
                if problem.status in _TEXT_REFUSED:
                    raise
                temporary = problem.status is None or problem.status in _TEMPORARY or problem.status >= 500
                wait = min(problem.retry_after or RETRIES.delay_s(attempt), RETRIES.longest_s)
                if not temporary or attempt == attempts or time.monotonic() + wait >= deadline:
                    raise self._unavailable(problem) from None
                self._pause(wait)
                if self._closed.is_set():
                    raise self._unavailable(problem) from None

    def _name_refused_text(self, texts: Sequence[str], start: int, problem: Problem) -> FindspotError:
        """Halve the batch until one text is left that the service refuses, and return the error that names it."""
        low, high = 0, len(texts)
        while high - low > 1:
            middle = (low + high) // 2
            if self._refuses(texts[low:middle]):
                high = middle
            else:
                low = middle
        if self._refuses(["text"]):  # it refuses everything: the reason is not the text
            return self._unavailable(problem)
        return refused(start + low, _refusal(problem))

    def _refuses(self, texts: Sequence[str]) -> bool:
        try:
            self._ask(texts, self._service.batch_timeout_s)
        except Problem:
            return True
        return False

    def _unavailable(self, problem: Problem) -> FindspotError:
        return FindspotError("EMBEDDING_UNAVAILABLE", f"{self.id} gives no vectors. {problem}")


def packed(vector: Sequence[float]) -> bytes:
    """Return a vector as bytes of float32."""
    with np.errstate(over="ignore"):  # a value that is too large becomes infinite, which `_in_order` refuses
        return np.asarray(vector, np.float32).tobytes()


def answered(status: int) -> str:
    """Return the sentence about an HTTP error, without the words of the service."""
    try:
        named = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        named = str(status)
    return f"The embedding service answered {named}."


def retry_seconds(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header; None if there is none, or if it holds a date."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


def _refusal(problem: Problem) -> str:
    return f"the embedding service refuses it, with {problem.status}."


def _in_order(answer: Answer, expected: int) -> Vectors:
    """Return a row of length 1 for each text, in their order; Problem unless there is one sound vector per text."""
    if sorted(index for index, _ in answer) != list(range(expected)):
        raise Problem(f"The answer holds {len(answer)} vectors for {expected} texts, or numbers them wrongly.")
    if len({len(vector) for _, vector in answer}) != 1 or not answer[0][1]:
        raise Problem("The vectors of one answer differ in their dimensions.")
    rows = np.stack([np.frombuffer(vector, np.float32) for _, vector in sorted(answer)])
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise Problem("The answer holds values that are not finite numbers.")
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
