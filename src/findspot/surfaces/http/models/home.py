"""Answers about the caller of the API."""

from typing_extensions import TypedDict

from findspot.models import Role


class SignedIn(TypedDict):
    """Who calls. `projectId` is null for the owner, who sees every project."""

    role: Role
    name: str
    projectId: int | None
    version: str
