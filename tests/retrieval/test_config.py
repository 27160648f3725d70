"""The retrieval configuration of a project, in the store and in backups."""

from dataclasses import replace

import pytest

from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER, Caller, Role
from findspot.retrieval.config import DEFAULTS
from findspot.store import projects, snapshot
from findspot.store import retrieval_configs as rows
from findspot.store.schema import retrieval_configs
from tests import flows

ADMIN = Caller(Role.ADMIN, "管理员", 1, 7)


async def test_a_project_has_the_defaults_until_they_are_changed(app: App, project: int) -> None:
    assert await app.retrieval_configs.get(project) == DEFAULTS
    changed = await app.retrieval_configs.update(project, {"top_k": 9}, ADMIN)
    assert (changed.top_k, changed.min_score, changed.changed_by) == (9, DEFAULTS.min_score, "管理员")
    assert await app.retrieval_configs.get(project) == changed
    assert await app.retrieval_configs.get(await flows.make_project(app, "other")) == DEFAULTS


async def test_every_change_is_recorded_with_who_made_it_and_when(app: App, project: int) -> None:
    await app.retrieval_configs.update(project, {"top_k": 9}, ADMIN)
    own = {"redaction_patterns": (("order_number", "订单[0-9]{6}"),), "redaction_allowed": ("a@example.org",)}
    await app.retrieval_configs.update(project, own, OWNER)
    async with app.store.read() as connection:
        newest, first = await rows.history(connection, project)
    assert (first.changed_by, newest.changed_by) == ("管理员", "owner")
    assert first.changed_at is not None
    assert newest.changed_at is not None
    assert first.changed_at <= newest.changed_at
    assert newest.redaction_patterns == (("order_number", "订单[0-9]{6}"),)
    assert replace(newest, redaction_patterns=(), redaction_allowed=()) == replace(
        first, changed_by="owner", changed_at=newest.changed_at
    )


async def test_only_the_last_hundred_changes_are_kept(app: App, project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "KEPT", 3)
    other = await flows.make_project(app, "other")
    await app.retrieval_configs.update(other, {"top_k": 2}, OWNER)
    for number in range(1, 6):
        await app.retrieval_configs.update(project, {"top_k": number}, OWNER)
    async with app.store.read() as connection:
        assert [each.top_k for each in await rows.history(connection, project)] == [5, 4, 3]
        assert [each.top_k for each in await rows.history(connection, other)] == [2]


async def test_a_pattern_that_cannot_be_used_changes_nothing(app: App, project: int) -> None:
    with pytest.raises(FindspotError, match="patterns"):
        await app.retrieval_configs.update(project, {"top_k": 9, "redaction_patterns": (("k", "("),)}, ADMIN)
    assert await app.retrieval_configs.get(project) == DEFAULTS


def test_a_backup_contains_the_configurations() -> None:
    assert retrieval_configs in snapshot.contained()


async def test_deleting_a_project_deletes_its_configuration(app: App, project: int) -> None:
    await app.retrieval_configs.update(project, {"top_k": 9}, ADMIN)
    async with app.store.write() as connection:
        await projects.delete(connection, project)
    assert await app.retrieval_configs.get(project) == DEFAULTS
