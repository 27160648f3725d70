"""The state of indexes, read from the status of a project."""

from typing import Any

from findspot.surfaces.cli.connect import Api
from findspot.surfaces.cli.formatting import duration

_STEPS = {
    "ready": "ready",
    "checking": "comparing with the data",
    "cutting": "cutting texts into chunks",
    "indexing": "indexing chunks",
    "queued": "waiting for a rebuild",
    "rebuilding": "building a new index",
    "retrying": "waiting to try again after an error",
}


async def status_of(api: Api, project_id: int) -> dict[str, Any]:
    status: dict[str, Any] = await api.call("GET", f"/api/v1/projects/{project_id}/status")
    return status


def documents_index(status: dict[str, Any]) -> dict[str, Any] | None:
    """Return the index of the documents, or None if there has been nothing to index."""
    from findspot.models import documents_namespace

    name = documents_namespace(status["project_id"])
    return next((index for index in status["namespaces"] if index["namespace"] == name), None)


def progress_line(index: dict[str, Any]) -> str:
    """Return how far an index is: per cent, the current step, and an estimate of the time left."""
    progress, step = index["progress"], _STEPS[index["step"]]
    parts = [f"{progress['percent']:.0f} %", step]
    if progress["seconds_left"] is not None:
        parts.append(f"about {duration(progress['seconds_left'])} left")
    return ", ".join(parts)
