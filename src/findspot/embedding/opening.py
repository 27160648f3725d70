"""The embedder that the settings name. What it needs is imported only now."""

from findspot.embedding.calibration import Calibration
from findspot.embedding.protocol import Embedder
from findspot.settings import Settings


def open_embedder(settings: Settings) -> Embedder:
    """Nothing is loaded and no one is called yet: that happens when it is first used."""
    given = settings.embedder_calibration
    calibration = Calibration.parse(given) if given else None
    if settings.embedder == "offline":
        from findspot.embedding.offline import OfflineEmbedder

        return OfflineEmbedder(calibration=calibration)
    from findspot.embedding.litellm import LitellmEmbedder, Service

    service = Service(
        model=settings.embedder.removeprefix("litellm/"),
        base_url=settings.embedder_base_url,
        api_key=settings.embedder_api_key.get_secret_value() if settings.embedder_api_key else None,
        dimensions=settings.embedder_dimensions,
        batch=settings.embedding_batch_size,
        query_timeout_s=settings.embedder_timeout_s,
        batch_timeout_s=settings.embedder_batch_timeout_s,
    )
    return LitellmEmbedder(service, calibration)
