"""The context of a hit: the fields next to it that name it, such as the title of the article whose body was found."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from cachetools import LRUCache

from findspot import pointer as pointers
from findspot.agents.shapes import opened
from findspot.content.tables import Tables
from findspot.errors import shortened
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing
from findspot.runtime.helpers import Helpers
from findspot.runtime.remote_calls import joined_there

DEFAULT_KEYS = (
    "title", "name", "id", "question", "url", "标题", "標題", "名称", "名稱", "问题", "問題",
)  # fmt: skip
MAX_FIELDS = 4
MAX_VALUE = 120  # characters
_CACHED = 20_000  # hits

Context: TypeAlias = dict[str, str | int | float]


def contexts(text: bytes, places: list[str], keys: list[str]) -> list[dict[str, Any]]:
    """Return the context of each of these nodes of a table."""
    tree, names = Tree(text), {key.casefold() for key in keys}
    return [_context(tree, pointers.parse(place), names) for place in places]


def _context(tree: Tree, tokens: tuple[str, ...], names: set[str]) -> Context:
    """Return the naming fields of the nearest object around a node that has some besides the node itself."""
    for at in range(len(tokens) - 1, -1, -1):
        try:
            container = tree.container(tokens[:at])
        except Missing:  # the table has changed since it was indexed
            continue
        if isinstance(container, dict):
            found = [(key, value) for key, value in container.items() if key.casefold() in names and key != tokens[at]]
            named = {key: shown for key, value in found if (shown := _shown(value)) is not None}
            if named:
                return dict(list(named.items())[:MAX_FIELDS])
    return {}


def _shown(value: Any) -> str | int | float | None:
    value = opened(value)
    if isinstance(value, str):
        return shortened(" ".join(value.split()), MAX_VALUE) or None
    if isinstance(value, msgspec.Raw) and len(memoryview(value)) <= MAX_VALUE:
        number: int | float = msgspec.json.decode(value)
        return number
    return None


class Contexts:
    """Finds the contexts of hits, and caches them until the table changes."""

    def __init__(self, tables: Tables, helpers: Helpers) -> None:
        self._tables = tables
        self._helpers = helpers
        self._cache: LRUCache[tuple[int, int, str, tuple[str, ...]], Context] = LRUCache(_CACHED)

    async def of(
        self, table_id: int, revision: int, places: Sequence[str], keys: Sequence[str] | None
    ) -> dict[str, Context]:
        """Return the contexts of nodes of a table at a revision, by their pointers."""
        names = tuple(DEFAULT_KEYS if keys is None else keys)
        found: dict[str, Context] = {}
        missing: list[str] = []
        for place in dict.fromkeys(places):
            cached = self._cache.get((table_id, revision, place, names))
            if cached is None:
                missing.append(place)
            else:
                found[place] = cached
        if missing and names:
            async with self._tables.reading(table_id, "") as (table, text):
                made = await self._helpers.run_unless_small(
                    table.project_id, contexts, joined_there(text), missing, list(names)
                )
            for place, context in zip(missing, made, strict=True):
                self._cache[table_id, revision, place, names] = found[place] = context
        return found
