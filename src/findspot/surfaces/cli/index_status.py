"""The state of the document index, read from the status of a project."""

from typing import Any

from findspot.surfaces.cli.connect import Api


async def status_of(api: Api, project_id: int) -> dict[str, Any]:
    status: dict[str, Any] = await api.call("GET", f"/api/v1/projects/{project_id}/status")
    return status


def documents_index(status: dict[str, Any]) -> dict[str, Any] | None:
    """Return the index of the documents, or None if there has been nothing to index."""
    from findspot.models import documents_namespace

    name = documents_namespace(status["project_id"])
    return next((index for index in status["namespaces"] if index["namespace"] == name), None)


def is_behind(status: dict[str, Any]) -> bool:
    """Return whether a search may miss documents because they are not indexed yet."""
    index = documents_index(status)
    return index is not None and index["status"] != "ready"
