"""Opens the embedder that the settings name. The packages that it needs are imported only then."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from findspot.embedding.calibration import Calibration
from findspot.embedding.protocol import Embedder
from findspot.errors import FindspotError
from findspot.runtime.processes import ProcessEnded, SharedProcess
from findspot.settings import Settings

if TYPE_CHECKING:
    from findspot.embedding.service import Answer, Service

REQUESTS_AT_ONCE = 16  # more than the threads that ask, so that a query never waits behind slow texts
LITELLM_START_S = 60.0
_GRACE_S = 3.0  # LiteLLM keeps the time limit itself; this is for services that send their answer byte by byte


def open_embedder(settings: Settings) -> Embedder:
    """Return the embedder. It loads its model, or calls its service, when it is first used."""
    given = settings.embedder_calibration
    calibration = Calibration.parse(given) if given else None
    kind, _, model = settings.embedder.partition("/")
    if kind == "offline":
        from findspot.embedding.offline import OfflineEmbedder

        return OfflineEmbedder(calibration=calibration)
    from findspot.embedding.openai import OpenAiTransport
    from findspot.embedding.service import Service, ServiceEmbedder

    service = Service(
        model=model,
        base_url=settings.embedder_base_url,
        api_key=settings.embedder_api_key.get_secret_value() if settings.embedder_api_key else None,
        dimensions=settings.embedder_dimensions,
        batch=settings.embedding_batch_size,
        query_timeout_s=settings.embedder_timeout_s,
        batch_timeout_s=settings.embedder_batch_timeout_s,
    )
    transport = OpenAiTransport(service) if kind == "openai" else LitellmTransport(service)
    return ServiceEmbedder(kind, service, transport, calibration)


def litellm_process() -> SharedProcess:
    """Return the process that LiteLLM runs in, not started yet."""
    from findspot.embedding import litellm

    return SharedProcess(REQUESTS_AT_ONCE, litellm.load, LITELLM_START_S)


class LitellmTransport:
    """Asks a service through LiteLLM, in a process that starts with the first request."""

    def __init__(self, service: "Service", process: SharedProcess | None = None) -> None:
        self._service = service
        self._process = process or litellm_process()

    def embed(self, texts: Sequence[str], timeout_s: float) -> "Answer":
        from findspot.embedding import litellm
        from findspot.embedding.service import TOO_LATE, Problem

        service = self._service
        request = litellm.Request(
            list(texts), service.model, timeout_s, service.base_url, service.api_key, service.dimensions
        )
        try:
            reply = self._process.call(timeout_s + _GRACE_S, litellm.embed, request)
        except TimeoutError:
            raise Problem(TOO_LATE) from None
        except ProcessEnded:
            raise Problem("The process that talks to the embedding service has ended.") from None
        except FindspotError as error:
            raise Problem(error.message) from None
        if reply.problem is not None:
            raise Problem(reply.problem, reply.status, reply.retry_after)
        return reply.vectors

    def close(self) -> None:
        self._process.close()
