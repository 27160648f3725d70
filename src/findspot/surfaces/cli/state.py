"""How far the index of a project's documents is, as its status says."""

from typing import Any

from findspot.surfaces.cli.connect import Api


async def status_of(api: Api, project_id: int) -> dict[str, Any]:
    status: dict[str, Any] = await api.call("GET", f"/api/v1/projects/{project_id}/status")
    return status


def documents_index(status: dict[str, Any]) -> dict[str, Any] | None:
    """The index of the documents; None where there has been nothing to index."""
    from findspot.models import documents_namespace

    name = documents_namespace(status["project_id"])
    return next((each for each in status["namespaces"] if each["namespace"] == name), None)


def is_behind(status: dict[str, Any]) -> bool:
    """Whether a document may be missing in what a search finds."""
    index = documents_index(status)
    return index is not None and index["status"] != "ready"
