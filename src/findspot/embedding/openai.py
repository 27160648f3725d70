"""Requests to an OpenAI-compatible API: OpenAI, Ollama, vLLM, LM Studio and others.

They run in an event loop of their own thread. Unlike a blocking client, it keeps a time limit over the whole request,
and closing it ends requests that are in progress.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from findspot.embedding.service import (
    NO_VECTORS,
    TOO_LATE,
    UNREACHABLE,
    Answer,
    Problem,
    Service,
    answered,
    packed,
    retry_seconds,
)

if TYPE_CHECKING:
    import httpx2

BASE_URL = "https://api.openai.com/v1"
GRACE_S = 3.0  # the event loop keeps the time limit itself; this is for a loop that cannot
_SHORTENED = "text-embedding-3"  # other models refuse the parameter `dimensions`


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Body(msgspec.Struct):
    data: list[_Row]


_BODY = msgspec.json.Decoder(_Body)
_CLOSED = "The connection to the embedding service was closed."


class OpenAiTransport:
    """Sends texts to `{base URL}/embeddings`. A thread starts with the first request. After `close`, requests fail."""

    def __init__(self, service: Service) -> None:
        self._url = f"{(service.base_url or BASE_URL).rstrip('/')}/embeddings"
        self._service = service
        self._starting = threading.Lock()
        self._loop: _Loop | None = None
        self._is_closed = False

    def embed(self, texts: Sequence[str], timeout_s: float) -> Answer:
        body: dict[str, Any] = {"model": self._service.model, "input": list(texts), "encoding_format": "float"}
        if self._service.dimensions is not None and self._service.model.startswith(_SHORTENED):
            body["dimensions"] = self._service.dimensions
        status, retry_after, content = self._started().post(self._url, msgspec.json.encode(body), timeout_s)
        if status != 200:
            raise Problem(answered(status), status, retry_after)
        try:
            rows = _BODY.decode(content).data
        except (msgspec.DecodeError, RecursionError):
            raise Problem(NO_VECTORS) from None
        return [(row.index, packed(row.embedding)) for row in rows]

    def close(self) -> None:
        with self._starting:
            loop, self._loop = self._loop, None
            self._is_closed = True
        if loop is not None:
            loop.close()

    def _started(self) -> "_Loop":
        with self._starting:
            if self._is_closed:
                raise Problem(_CLOSED)
            if self._loop is None:
                self._loop = _Loop(self._service.api_key)
            return self._loop


class _Loop:
    """A thread with an event loop and an HTTP client in it. Problem if the client cannot be set up."""

    def __init__(self, api_key: str | None) -> None:
        self._headers = {"content-type": "application/json"}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._sending = threading.Lock()
        self._is_closed = False
        self._ready: concurrent.futures.Future[httpx2.AsyncClient] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, name="embedding-service", daemon=True)
        self._thread.start()
        self._client = self._ready.result()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(_not_set_up(error))

    async def _serve(self) -> None:
        import httpx2

        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with httpx2.AsyncClient(headers=self._headers, timeout=None) as client:
            self._ready.set_result(client)
            await self._end.wait()

    def post(self, url: str, body: bytes, timeout_s: float) -> tuple[int, float | None, bytes]:
        """Return status, Retry-After and content of the answer."""
        with self._sending:
            if self._is_closed:
                raise Problem(_CLOSED)
            request = asyncio.run_coroutine_threadsafe(self._post(url, body, timeout_s), self._loop)
        try:
            return request.result(timeout_s + GRACE_S)
        except (concurrent.futures.CancelledError, RuntimeError):  # closed meanwhile
            raise Problem(_CLOSED) from None
        except TimeoutError:
            request.cancel()
            raise Problem(TOO_LATE) from None

    async def _post(self, url: str, body: bytes, timeout_s: float) -> tuple[int, float | None, bytes]:
        import httpx2

        try:
            async with asyncio.timeout(timeout_s):
                response = await self._client.post(url, content=body)
        except TimeoutError:
            raise Problem(TOO_LATE) from None
        except httpx2.ConnectError:
            raise Problem(UNREACHABLE) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            name = type(error).__name__
            raise Problem(f"The embedding service gave no answer that can be used ({name}).") from None
        return response.status_code, retry_seconds(response.headers.get("retry-after")), response.content

    def close(self) -> None:
        with self._sending:  # so that the loop gets no request after its end: nothing would answer it
            self._is_closed = True
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()


def _not_set_up(error: BaseException) -> Problem:
    """Return the problem of a client that cannot be set up, without the error's own words: they may hold the key."""
    return Problem(
        f"The HTTP client cannot be set up ({type(error).__name__}). "
        "Check the API key, and the proxy and certificate variables of the environment."
    )
