"""The answers of reading tools: all data, the schema, a query, a preview, a selection.

Pure functions that run in a helper process. Every number keeps its spelling.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from findspot import pointer as pointers
from findspot.agents.budget import Number, fit, summarize_cuts
from findspot.errors import FindspotError, invalid
from findspot.jsontext.elements import SCOPE_ADVICE
from findspot.jsontext.patch import equal
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing
from findspot.runtime import messages

QUERY_SECONDS = 10
QUERY_BYTES = 2 << 30  # memory of a query, beyond what the helper process uses
KEYS_SHOWN = 50
_OTHER_TOOLS = "Use a get_data_schema, get_all_data or query_data tool."

_VALUE = msgspec.json.Decoder(float_hook=Number)
_ODD_INTEGER = re.compile(rb"-0(?![.0-9eE])|[0-9]{4300}")  # Python's int does not keep the spelling of these


class View(msgspec.Struct, frozen=True, array_like=True):
    """A call of a reading tool. `budget` is the token budget of the answer."""

    type: str
    scope: str
    arguments: dict[str, Any]
    budget: int
    language: str


def view(call: View, text: bytes) -> bytes:
    """Return the JSON text of the answer to a call."""
    try:
        value = msgspec.Raw(Tree(text).get(pointers.parse(call.scope)))
    except Missing as missing:
        message = f"The tool's scope does not exist in the table: {missing}. {SCOPE_ADVICE}"
        raise FindspotError("NOT_FOUND", message, field="json_pointer") from None
    try:
        answer = _VIEWS[call.type](value, call)
        return fit(answer, call.budget, lambda cuts: messages.truncated(call.type, summarize_cuts(cuts), call.language))
    except RecursionError:
        raise invalid("query", "the query or its result is nested too deep") from None


def _all(value: msgspec.Raw, call: View) -> dict[str, Any]:
    return {"data": value}


# ── queries ──


def _query(value: msgspec.Raw, call: View) -> dict[str, Any]:
    import jmespath
    from jmespath.exceptions import JMESPathError

    query = call.arguments["query"]
    try:
        compiled = jmespath.compile(query)
        with _bounded():
            return {"data": compiled.search(_decoded(value)), "query": query}
    except (JMESPathError, ValueError, TypeError, ArithmeticError) as error:
        raise invalid("query", f"is not a valid JMESPath for this data: {str(error).strip()}") from None


def _decoded(value: msgspec.Raw) -> Any:
    text = bytes(value)
    if _ODD_INTEGER.search(text) is None:
        return _VALUE.decode(text)
    return json.loads(text, parse_float=Number, parse_int=_integer)


def _integer(spelling: str) -> int | Number:
    return Number(spelling) if spelling == "-0" or len(spelling) >= 4300 else int(spelling)


@contextmanager
def _bounded() -> Iterator[None]:
    """Limit the CPU time and memory of a query: even a short one may need any amount."""
    import resource
    import signal

    def too_long(*_: Any) -> None:
        raise invalid("query", f"takes more than {QUERY_SECONDS} seconds; request less data")

    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = _memory_in_use() + QUERY_BYTES
    if before[0] == resource.RLIM_INFINITY or limit < before[0]:
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    handler = signal.signal(signal.SIGPROF, too_long)  # CPU time, which does not depend on the load
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
    except OSError:  # not Linux: the maximum so far is an upper bound
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ── the schema ──


def _schema(value: msgspec.Raw, call: View) -> dict[str, Any]:
    data = _decoded(value)
    schema = _schema_of(data)
    meta = {"json_path": call.scope, "root_type": _type(data), "keys_preview": _keys(data)[:KEYS_SHOWN]}
    return {"schema": schema, "meta": meta}


def _keys(data: Any) -> list[str]:
    """Return the keys of an object, or of all objects of a list."""
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


def _schema_of(value: Any) -> Any:
    """Return the schema of a value: a leaf as its type, an object by its members, a list by all its elements."""
    if isinstance(value, dict):
        return {key: _schema_of(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_merged_schema(value)] if value else []
    return _type(value)


def _merged_schema(values: Sequence[Any]) -> Any:
    """Return one schema for several values: members of objects and elements of lists are merged."""
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
    schemas: list[Any] = []
    if names := [kind for kind in kinds if kind not in ("object", "array")]:
        schemas.append(" | ".join(names))
    if "object" in kinds:
        schemas.append({key: _merged_schema(each) for key, each in members.items()})
    if "array" in kinds:
        schemas.append([_merged_schema(elements)] if elements else [])
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


# ── lists of objects ──


def _preview(value: msgspec.Raw, call: View) -> dict[str, Any]:
    objects = [_members(each) for each in _list(value, call)]
    keys = call.arguments["keys"]
    if keys is None:
        keys = list({key: None for each in objects if each for key in each})
    rows = [None if each is None else {key: each[key] for key in keys if key in each} for each in objects]
    return {"data": rows, "keys": keys, "total_count": len(rows)}


def _select(value: msgspec.Raw, call: View) -> dict[str, Any]:
    field, wanted = call.arguments["field"], [msgspec.json.encode(key) for key in call.arguments["keys"]]
    strings = {key for key in call.arguments["keys"] if isinstance(key, str)}
    others = [key for key in wanted if not key.startswith(b'"')]
    found = [
        each
        for each in _list(value, call)
        if (members := _members(each)) and field in members and _is_one(members[field], strings, others)
    ]
    return {"data": found, "matched_count": len(found)}


def _is_one(value: msgspec.Raw, strings: set[str], others: Sequence[bytes]) -> bool:
    text = bytes(value)
    if text.startswith(b'"'):
        return msgspec.json.decode(text) in strings
    return any(equal(text, other) for other in others)


def _list(value: msgspec.Raw, call: View) -> list[msgspec.Raw]:
    if bytes(memoryview(value)[:1]) != b"[":
        where = f"at {call.scope!r}" if call.scope else "at the top"
        message = f"{call.type} reads a list of objects, but the value {where} is not a list. {_OTHER_TOOLS}"
        raise FindspotError("INVALID_ARGUMENT", message, field="json_pointer")
    return msgspec.json.decode(value, type=list[msgspec.Raw])


def _members(value: msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    """Return the members of an object; None for other values."""
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
