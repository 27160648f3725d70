"""Which project does something belong to? Every request asks, so each question is one row by its key."""

from enum import StrEnum

import sqlalchemy as sa

from findspot.store import driver


class Owned(StrEnum):
    """What belongs to a project, and the query for that project."""

    PROJECT = "SELECT id FROM projects WHERE id IN (??)"
    TABLE = "SELECT project_id FROM tables WHERE id IN (??) AND revision > 0"  # others are being deleted
    DOCUMENT = "SELECT project_id FROM documents WHERE id IN (??)"
    TOOL = "SELECT project_id FROM tools WHERE id IN (??)"
    ENDPOINT = "SELECT project_id FROM endpoints WHERE id IN (??)"


def project_of(connection: sa.Connection, owned: Owned, id: int) -> int | None:
    """Return the project of something, or None if it does not exist."""
    found = driver.rows(connection, owned.value, among=[id])
    return int(found[0][0]) if found else None
