"""What an agent reads in a table: all of it, its schema, a query's answer, some fields. Bytes in, bytes out, to run
in a helper. Every number comes back as it was spelled."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from findspot import pointer as pointers
from findspot.agents.budget import Number, fitted, listed
from findspot.errors import FindspotError, invalid
from findspot.jsontext.elements import SCOPE_ADVICE
from findspot.jsontext.patch import equal
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing
from findspot.runtime import messages

QUERY_SECONDS = 10
QUERY_BYTES = 2 << 30  # that a query may take beyond what the helper has
KEYS_SHOWN = 50
_READ_OTHERWISE = "Read it with a get_data_schema, get_all_data or query_data tool."

_VALUE = msgspec.json.Decoder(float_hook=Number)
_ODD_INTEGER = re.compile(rb"-0(?![.0-9eE])|[0-9]{4300}")  # what does not come back as it was from Python's own


class View(msgspec.Struct, frozen=True, array_like=True):
    """A call of a reading tool: its type, its scope, what it was asked, and how long the answer may be."""

    type: str
    scope: str
    arguments: dict[str, Any]
    budget: int
    language: str


def view(asked: View, text: bytes) -> bytes:
    """Return the JSON text of the answer to a call."""
    try:
        value = msgspec.Raw(Tree(text).get(pointers.parse(asked.scope)))
    except Missing as missing:
        message = f"The tool's scope leads nowhere in the table as it is now: {missing}. {SCOPE_ADVICE}"
        raise FindspotError("NOT_FOUND", message, field="json_pointer") from None
    try:
        answer = _VIEWS[asked.type](value, asked)
        return fitted(answer, asked.budget, lambda cuts: messages.truncated(asked.type, listed(cuts), asked.language))
    except RecursionError:
        raise invalid("query", "the query, or what it makes, is nested too deep") from None


def _all(value: msgspec.Raw, asked: View) -> dict[str, Any]:
    return {"data": value}


# ── queries ──


def _query(value: msgspec.Raw, asked: View) -> dict[str, Any]:
    import jmespath
    from jmespath.exceptions import JMESPathError

    query = asked.arguments["query"]
    try:
        compiled = jmespath.compile(query)
        with _bounded():
            return {"data": compiled.search(_decoded(value)), "query": query}
    except (JMESPathError, ValueError, TypeError, ArithmeticError) as error:
        raise invalid("query", f"is not a JMESPath that fits this data: {str(error).strip()}") from None


def _decoded(value: msgspec.Raw) -> Any:
    text = bytes(value)
    if _ODD_INTEGER.search(text) is None:
        return _VALUE.decode(text)
    return json.loads(text, parse_float=Number, parse_int=_integer)


def _integer(spelling: str) -> int | Number:
    return Number(spelling) if spelling == "-0" or len(spelling) >= 4300 else int(spelling)


@contextmanager
def _bounded() -> Iterator[None]:
    """A short query can ask for any amount of time and memory; here both end."""
    import resource
    import signal

    def too_long(*_: Any) -> None:
        raise invalid("query", f"takes more than {QUERY_SECONDS} seconds; ask for less")

    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = _memory_in_use() + QUERY_BYTES
    if before[0] == resource.RLIM_INFINITY or limit < before[0]:
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    handler = signal.signal(signal.SIGPROF, too_long)  # time at work: a busy machine is no fault of the query
    signal.setitimer(signal.ITIMER_PROF, QUERY_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _memory_in_use() -> int:
    import resource
    from pathlib import Path

    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux: what it had at most is more than it has
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ── the schema ──


def _schema(value: msgspec.Raw, asked: View) -> dict[str, Any]:
    data = _decoded(value)
    schema = _shape(data)
    meta = {"json_path": asked.scope, "root_type": _type(data), "keys_preview": _keys(data)[:KEYS_SHOWN]}
    return {"schema": schema, "meta": meta}


def _keys(data: Any) -> list[str]:
    """The keys of an object, or those that the objects of a list have."""
    if isinstance(data, dict):
        return list(data)
    objects = data if isinstance(data, list) else []
    return list({key: None for each in objects if isinstance(each, dict) for key in each})


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
    return "number"


def _shape(value: Any) -> Any:
    """Leaves as their type, an object by its members, a list by its elements, all of them together."""
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_together(value)] if value else []
    return _type(value)


def _together(values: Sequence[Any]) -> Any:
    """One shape for several values: objects share their members, lists their elements."""
    members: dict[str, list[Any]] = {}
    elements: list[Any] = []
    kinds: dict[str, Any] = {}
    for value in values:
        kinds[_type(value)] = None
        if isinstance(value, dict):
            for key, each in value.items():
                members.setdefault(key, []).append(each)
        elif isinstance(value, list):
            elements += value
    shapes: list[Any] = []
    if names := [kind for kind in kinds if kind not in ("object", "array")]:
        shapes.append(" | ".join(names))
    if "object" in kinds:
        shapes.append({key: _together(each) for key, each in members.items()})
    if "array" in kinds:
        shapes.append([_together(elements)] if elements else [])
    return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


# ── lists of objects ──


def _preview(value: msgspec.Raw, asked: View) -> dict[str, Any]:
    objects = [_members(each) for each in _list(value, asked)]
    keys = asked.arguments["keys"]
    if keys is None:
        keys = list({key: None for each in objects if each for key in each})
    rows = [None if each is None else {key: each[key] for key in keys if key in each} for each in objects]
    return {"data": rows, "keys": keys, "total_count": len(rows)}


def _select(value: msgspec.Raw, asked: View) -> dict[str, Any]:
    field, wanted = asked.arguments["field"], [msgspec.json.encode(key) for key in asked.arguments["keys"]]
    strings = {key for key in asked.arguments["keys"] if isinstance(key, str)}
    others = [key for key in wanted if not key.startswith(b'"')]
    found = [
        each
        for each in _list(value, asked)
        if (members := _members(each)) and field in members and _is_one(members[field], strings, others)
    ]
    return {"data": found, "matched_count": len(found)}


def _is_one(value: msgspec.Raw, strings: set[str], others: Sequence[bytes]) -> bool:
    text = bytes(value)
    if text.startswith(b'"'):
        return msgspec.json.decode(text) in strings
    return any(equal(text, other) for other in others)


def _list(value: msgspec.Raw, asked: View) -> list[msgspec.Raw]:
    if bytes(memoryview(value)[:1]) != b"[":
        where = f"at {asked.scope!r}" if asked.scope else "at the top"
        message = f"{asked.type} reads a list of objects, and {where} stands something else. {_READ_OTHERWISE}"
        raise FindspotError("INVALID_ARGUMENT", message, field="json_pointer")
    return msgspec.json.decode(value, type=list[msgspec.Raw])


def _members(value: msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    """The members of an object; None for anything else."""
    if bytes(memoryview(value)[:1]) != b"{":
        return None
    return msgspec.json.decode(value, type=dict[str, msgspec.Raw])


_VIEWS: dict[str, Callable[[msgspec.Raw, View], dict[str, Any]]] = {
    "get_all_data": _all,
    "query_data": _query,
    "get_data_schema": _schema,
    "preview": _preview,
    "select": _select,
}
