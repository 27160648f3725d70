"""Embedders behind an API: whatever LiteLLM knows, in batches, with patience, and with every answer checked."""

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from findspot.embedding.calibration import Calibration
from findspot.embedding.litellm_process import LitellmProcess, Problem
from findspot.embedding.protocol import Vector, Vectors, refused
from findspot.errors import FindspotError
from findspot.models import Backoff

# No two models place their cosines alike; `findspot calibrate` fits this. Until then, something in the middle.
UNFITTED = Calibration(12.0, -5.4)

_PROCEDURE = "1"
_ATTEMPTS, _ATTEMPTS_SOON = 6, 2  # the second for those whom someone waits for
_BACKOFF = Backoff(first_s=0.5, longest_s=60.0, jitter=0.5)
_PASSING = {408, 409, 425, 429}  # and 500 and above
_TEXT_REFUSED = {400, 413, 422}


@dataclass(frozen=True, slots=True)
class Service:
    """Where the model is, and how to treat it."""

    model: str
    base_url: str | None = None
    api_key: str | None = None
    dimensions: int | None = None
    batch: int = 100
    query_timeout_s: float = 5.0
    batch_timeout_s: float = 60.0


class LitellmEmbedder:
    """A model behind an API. What it is asked while the service is away fails with EMBEDDING_UNAVAILABLE."""

    vector_weight = 0.4  # models of this kind are stronger than the offline one; `search_config` may say more
    is_quick = False

    def __init__(
        self,
        service: Service,
        calibration: Calibration | None = None,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._service = service
        self._closed = threading.Event()
        self._pause = pause or self._closed.wait
        self._process = LitellmProcess()
        self._finding_out = threading.Lock()
        self._learning = threading.Lock()  # never held while the service is asked
        self._dimension = service.dimensions
        self.id = f"litellm/{service.model}"
        self.batch = service.batch
        self.calibration = calibration or UNFITTED

    @property
    def dimension(self) -> int:
        """What was declared; or else what the service gives, which is found out by asking it once."""
        if self._dimension is not None:
            return self._dimension
        with self._finding_out:
            return self._dimension or self._find_out()

    @property
    def fingerprint(self) -> str:
        made_of = (_PROCEDURE, self._service.model, self._service.base_url or "", str(self.dimension))
        return f"litellm-{hashlib.sha256(chr(0).join(made_of).encode()).hexdigest()[:16]}"

    def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        for index, text in enumerate(texts):
            if not text.strip():
                raise refused(index, "there is no text to embed.")
        starts = range(0, len(texts), self.batch)
        parts = [self._batch_of(texts[start : start + self.batch], start, soon) for start in starts]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), np.float32)

    def query(self, text: str) -> Vector:
        """One text, and no longer than a query may take, whatever has to be tried again."""
        if not text.strip():
            raise refused(0, "there is no text to embed.")
        try:
            found = self._soon([text], self._service.query_timeout_s)
        except Problem as problem:
            raise refused(0, _refuses_it(problem)) from None
        vector: Vector = self._fitting(found)[0]
        return vector

    def knows(self, text: str) -> bool:
        """A service does not say."""
        return True

    def close(self) -> None:
        self._closed.set()
        self._process.close()

    def _find_out(self) -> int:
        """The dimension of whatever the service gives."""
        try:
            return len(self._fitting(self._patiently(["dimension"], self._service.batch_timeout_s))[0])
        except Problem as problem:
            raise self._unavailable(problem) from None

    def _batch_of(self, texts: Sequence[str], start: int, soon: bool) -> Vectors:
        """A batch; if the service refuses it because of a text, say which."""
        ask = self._soon if soon else self._patiently
        try:
            return self._fitting(ask(texts, self._service.batch_timeout_s))
        except Problem as problem:
            raise self._culprit(texts, start, problem) from None

    def _fitting(self, vectors: Vectors) -> Vectors:
        found = vectors.shape[1]
        with self._learning:
            expected = self._dimension = self._dimension or found
        if found != expected:
            raise FindspotError(
                "EMBEDDING_DIMENSION_MISMATCH",
                f"{self.id} gives vectors of {found} dimensions; {expected} are declared.",
                expected=expected,
                found=found,
            )
        return vectors

    def _soon(self, texts: Sequence[str], timeout_s: float) -> Vectors:
        """Ask for someone who waits: no longer than this, and only once again."""
        return self._patiently(texts, timeout_s, time.monotonic() + timeout_s, _ATTEMPTS_SOON)

    def _patiently(
        self, texts: Sequence[str], timeout_s: float, deadline: float = float("inf"), attempts: int = _ATTEMPTS
    ) -> Vectors:
        """Ask, and again after a pause if the trouble may pass. Problem is raised only for what the texts are to blame
        for."""
        for attempt in count(1):
            left = min(timeout_s, deadline - time.monotonic())
            try:
                return self._ask(texts, max(left, 0.001))
            except Problem as problem:
                if problem.status in _TEXT_REFUSED:
                    raise
                passing = problem.status is None or problem.status in _PASSING or problem.status >= 500
                wait = min(problem.retry_after or _BACKOFF.delay_s(attempt), _BACKOFF.longest_s)
                if not passing or attempt == attempts or time.monotonic() + wait >= deadline:
                    raise self._unavailable(problem) from None
                self._pause(wait)
                if self._closed.is_set():
                    raise self._unavailable(problem) from None
        raise AssertionError("the pauses never end")

    def _ask(self, texts: Sequence[str], timeout_s: float) -> Vectors:
        service = self._service
        arguments: dict[str, Any] = {
            "model": service.model,
            "input": list(texts),
            "drop_params": True,
            "caching": False,
        }
        given = {"api_base": service.base_url, "api_key": service.api_key, "dimensions": service.dimensions}
        arguments.update((name, value) for name, value in given.items() if value is not None)
        return _in_order(self._process.ask(arguments, timeout_s), len(texts))

    def _culprit(self, texts: Sequence[str], start: int, problem: Problem) -> FindspotError:
        """Halve the batch until one text is left that the service refuses."""
        low, high = 0, len(texts)
        while high - low > 1:
            middle = (low + high) // 2
            if self._refuses(texts[low:middle]):
                high = middle
            else:
                low = middle
        if self._refuses(["text"]):  # then it is not about the text
            return self._unavailable(problem)
        return refused(start + low, _refuses_it(problem))

    def _refuses(self, texts: Sequence[str]) -> bool:
        try:
            self._patiently(texts, self._service.batch_timeout_s)
        except Problem:
            return True
        return False

    def _unavailable(self, problem: Problem) -> FindspotError:
        return FindspotError("EMBEDDING_UNAVAILABLE", f"{self.id} gives no vectors. {problem}")


def _refuses_it(problem: Problem) -> str:
    return f"the embedding service refuses it, with {problem.status}."


def _in_order(answer: Sequence[tuple[int, bytes]], expected: int) -> Vectors:
    """A row of length 1 for each text, in their order. Anything but one sound vector a text is no answer."""
    if sorted(index for index, _ in answer) != list(range(expected)):
        raise Problem(f"The answer holds {len(answer)} vectors for {expected} texts, or numbers them wrongly.")
    if len({len(vector) for _, vector in answer}) != 1 or not answer[0][1]:
        raise Problem("The vectors of one answer differ in their dimensions.")
    rows = np.stack([np.frombuffer(vector, np.float32) for _, vector in sorted(answer)])
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise Problem("The answer holds numbers that are none.")
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
