"""The context of a hit: the fields next to it that name it, such as the title of the article whose body was found."""

from collections.abc import Sequence
from itertools import starmap
from typing import Any, TypeAlias

import msgspec
from cachetools import LRUCache

from findspot import pointer as pointers
from findspot.agents.records import (
    Records,
    joined_pieces,
    list_pointers,
    outermost_list,
    piece_numbers,
    spans_of,
)
from findspot.agents.shapes import opened
from findspot.content.tables import Tables
from findspot.errors import shortened
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing
from findspot.runtime.helpers import Helpers
from findspot.runtime.remote_calls import joined_there
from findspot.store import tables as rows
from findspot.store.database import Store
from findspot.store.tables import PIECE

DEFAULT_KEYS = (
    "title", "name", "id", "question", "url", "标题", "標題", "名称", "名稱", "问题", "問題",
)  # fmt: skip
MAX_FIELDS = 4
MAX_VALUE = 120  # characters
_CACHED = 20_000  # hits
_MAX_SPANS = 32 << 20  # bytes of all spans of elements, sixteen for each
_MAX_PIECES = 8  # of a text that are read in the thread of the event loop, a quarter of a megabyte each

Context: TypeAlias = dict[str, str | int | float]


def contexts(text: bytes, places: list[str], keys: list[str]) -> list[dict[str, Any]]:
    """Return the context of each of these nodes of a table."""
    tree, names = Tree(text), {key.casefold() for key in keys}
    return [_context(tree, pointers.parse(place), names) for place in places]


def contexts_and_records(
    text: bytes, places: list[str], keys: list[str]
) -> tuple[list[dict[str, Any]], list[tuple[str, bytes, dict[str, Any]]]]:
    """Return the context of each of these nodes, and the outermost lists that they are in."""
    tree, finder, names = Tree(text), Tree(text), {key.casefold() for key in keys}
    lists = dict[str, tuple[str, bytes, Context]]()
    for tokens in map(pointers.parse, places):
        if found := outermost_list(finder, tokens):
            pointer, listed = found
            if pointer not in lists:
                around = _context(tree, (*pointers.parse(pointer), "0"), names)
                lists[pointer] = pointer, spans_of(text, listed), around
    return [_context(tree, pointers.parse(place), names) for place in places], list(lists.values())


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
    """Finds the contexts of hits, and caches them until the table changes.

    Where the elements of a list are is cached too: then a hit needs only a piece of the table's text. Reading a table
    of 10 MB as a whole takes 25 ms of processor time.
    """

    def __init__(self, store: Store, tables: Tables, helpers: Helpers) -> None:
        self._store = store
        self._tables = tables
        self._helpers = helpers
        self._cache: LRUCache[tuple[int, int, str, tuple[str, ...]], Context] = LRUCache(_CACHED)
        self._lists: LRUCache[tuple[int, int, str, tuple[str, ...]], Records] = LRUCache(
            _MAX_SPANS, getsizeof=lambda records: max(1, len(records.spans))
        )

    async def of(
        self, table_id: int, revision: int, places: Sequence[str], keys: Sequence[str] | None
    ) -> dict[str, Context]:
        """Return the contexts of nodes of a table at a revision, by their pointers."""
        names = tuple(DEFAULT_KEYS if keys is None else keys)
        wanted = {place: self._cache.get((table_id, revision, place, names)) for place in places}
        missing = [place for place, cached in wanted.items() if cached is None]
        made: dict[str, Context] = {}
        if missing and names:
            made = await self._from_pieces(table_id, revision, missing, names)
            others = [place for place in missing if place not in made]
            made |= await self._from_table(table_id, others, names) if others else {}
        for place, context in made.items():
            self._cache[table_id, revision, place, names] = context
        return {place: context for place, context in wanted.items() if context is not None} | made

    async def _from_table(self, table_id: int, places: list[str], names: tuple[str, ...]) -> dict[str, Context]:
        """Read the whole table, and remember where the elements of its lists are."""
        async with self._tables.reading(table_id, "") as (table, text):
            made, lists = await self._helpers.run_unless_small(
                table.project_id, contexts_and_records, joined_there(text), places, list(names)
            )
        for found in starmap(Records, lists):
            if len(found.spans) <= _MAX_SPANS:
                self._lists[table_id, table.revision, found.pointer, names] = found
        return dict(zip(places, made, strict=True))

    async def _from_pieces(
        self, table_id: int, revision: int, places: Sequence[str], names: tuple[str, ...]
    ) -> dict[str, Context]:
        """Return the contexts that pieces of the text are enough for. A text that is itself an element of a list has
        nothing beside it, so it needs none."""
        lists = {place: self._list_around(table_id, revision, place, names) for place in places}
        known = {place: records for place, records in lists.items() if records is not None}
        spans = {
            place: span
            for place, records in known.items()
            if records.path_of(place)[1:] and (span := records.span(place)) is not None
        }
        made = {place: records.around for place, records in known.items() if place not in spans}
        numbers = piece_numbers([*spans.values()], PIECE)
        if not numbers or len(numbers) > _MAX_PIECES:
            return made
        async with self._store.lookup(one=True) as connection:
            pieces = await connection.run_sync(rows.read_pieces, table_id, revision, numbers)
        casefolded = {key.casefold() for key in names}
        for place, span in spans.items():
            element = joined_pieces(pieces, PIECE, span)
            if element is not None:
                path = known[place].path_of(place)[1:]
                made[place] = _context(Tree(element), path, casefolded) or known[place].around
        return made

    def _list_around(self, table_id: int, revision: int, place: str, names: tuple[str, ...]) -> Records | None:
        found = (self._lists.get((table_id, revision, each, names)) for each in list_pointers(place))
        return next((records for records in found if records is not None), None)
