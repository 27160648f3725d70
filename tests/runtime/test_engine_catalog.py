"""The catalogue of a remote engine's namespaces, on each database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from findspot.engines.protocol import StaleFence
from findspot.runtime.engine_catalog import StoreCatalog
from findspot.store.database import Store

NAMESPACE = "project_1_documents"


async def call(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    return await asyncio.to_thread(method, *arguments, **named)


async def test_processes_agree_on_the_namespace_that_serves(store: Store) -> None:
    one, other = StoreCatalog(store, "a" * 32), StoreCatalog(store, "a" * 32)
    assert await call(one.serving, NAMESPACE) is None
    claimed = await asyncio.gather(*(call(each.claim, NAMESPACE, "m", 8, 0) for each in (one, other, one, other)))
    assert len({placement for placement, _ in claimed}) == 1
    assert sum(is_new for _, is_new in claimed) == 1
    (placement, _), *_ = claimed
    assert placement.name.startswith(f"{NAMESPACE}.aaaaaaaa-")
    assert await call(other.serving, NAMESPACE) == placement
    assert await call(one.namespaces, 1) == [NAMESPACE]
    assert await call(one.namespaces, 2) == []
    restored = StoreCatalog(store, "b" * 32)  # a copy of the database does not use the index of the other one
    assert await call(restored.serving, NAMESPACE) is None


async def test_a_build_replaces_the_namespace_that_serves(store: Store) -> None:
    one, other = StoreCatalog(store, "a" * 32), StoreCatalog(store, "a" * 32)
    old, _ = await call(one.claim, NAMESPACE, "m", 8, 7)
    abandoned = await call(one.begin, NAMESPACE, "n", 16)
    new = await call(one.begin, NAMESPACE, "n", 16)
    assert await call(one.serving, NAMESPACE, fresh=True) == old
    assert not await call(one.switch, NAMESPACE, abandoned.name)
    assert await call(one.switch, NAMESPACE, new.name)
    assert not await call(one.switch, NAMESPACE, new.name)
    assert await call(one.serving, NAMESPACE) == await call(other.serving, NAMESPACE, fresh=True) == new
    with pytest.raises(StaleFence):
        await call(one.admit, NAMESPACE, 6)
    assert set(await call(other.unwanted)) == set(await call(one.unwanted, NAMESPACE)) == {old.name, abandoned.name}
    for name in (old.name, abandoned.name, new.name):
        await call(one.deleted, name)  # the one that serves stays
    assert await call(other.unwanted) == []
    assert await call(other.serving, NAMESPACE, fresh=True) == new


async def test_a_worker_that_lost_its_lease_drops_nothing(store: Store) -> None:
    catalog = StoreCatalog(store, "a" * 32)
    placement, _ = await call(catalog.claim, NAMESPACE, "m", 8, 3)
    assert await call(catalog.claim, NAMESPACE, "m", 8, 5) == (placement, False)
    for change in ((catalog.drop, NAMESPACE, 4), (catalog.admit, NAMESPACE, 4), (catalog.claim, NAMESPACE, "m", 8, 4)):
        with pytest.raises(StaleFence):
            await call(*change)
    assert await call(catalog.serving, NAMESPACE) == await call(catalog.admit, NAMESPACE, 5) == placement
    await call(catalog.drop, NAMESPACE, 5)
    assert await call(catalog.serving, NAMESPACE) is None
    assert await call(catalog.unwanted) == [placement.name]
    again, is_new = await call(catalog.claim, NAMESPACE, "m", 8, 6)
    assert is_new
    assert again.name != placement.name


async def test_a_call_from_the_event_loop_is_refused_unless_the_answer_is_known(store: Store) -> None:
    catalog = StoreCatalog(store, "a" * 32)
    with pytest.raises(RuntimeError, match="thread"):
        catalog.claim(NAMESPACE, "m", 8, 0)
    placement, _ = await call(catalog.claim, NAMESPACE, "m", 8, 0)
    assert catalog.serving(NAMESPACE) == placement
