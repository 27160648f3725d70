"""The answers of reading tools: all data, the schema, a query, a preview, a selection.

Pure functions that run in a helper process. Every number keeps its spelling.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from findspot import pointer as pointers
from findspot.agents.budget import Number, fit, summarize_cuts
from findspot.agents.data_schema import Schema
from findspot.errors import FindspotError, invalid
from findspot.jsontext.compare import canonical
from findspot.jsontext.elements import SCOPE_ADVICE
from findspot.jsontext.lists import elements
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing
from findspot.runtime import messages

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
        return {"data": compiled.search(_decoded(bytes(value))), "query": query}
    except (JMESPathError, ValueError, TypeError, ArithmeticError) as error:
        raise invalid("query", f"is not a valid JMESPath for this data: {str(error).strip()}") from None


def _decoded(text: bytes) -> Any:
    if _ODD_INTEGER.search(text) is None:
        return _VALUE.decode(text)
    return json.loads(text, parse_float=Number, parse_int=_integer)


def _integer(spelling: str) -> int | Number:
    return Number(spelling) if spelling == "-0" or len(spelling) >= 4300 else int(spelling)


# ── the schema ──


def _schema(value: msgspec.Raw, call: View) -> dict[str, Any]:
    found = Schema()
    found.add_text(bytes(value))
    (root,) = found.kinds
    keys = (found.elements or Schema()).members if root == "array" else found.members
    meta = {"json_path": call.scope, "root_type": root, "keys_preview": list(keys)[:KEYS_SHOWN]}
    return {"schema": found.described(), "meta": meta}


# ── lists of objects ──


def _preview(value: msgspec.Raw, call: View) -> dict[str, Any]:
    objects = [_members(each) for each in _list(value, call)]
    keys = call.arguments["keys"]
    if keys is None:
        keys = list({key: None for each in objects if each for key in each})
    rows = [None if each is None else {key: each[key] for key in keys if key in each} for each in objects]
    return {"data": rows, "keys": keys, "total_count": len(rows)}


def _select(value: msgspec.Raw, call: View) -> dict[str, Any]:
    field = call.arguments["field"]
    wanted = {canonical(msgspec.json.encode(key)) for key in call.arguments["keys"]}
    found = [
        each
        for each in _list(value, call)
        if (members := _members(each)) and field in members and canonical(bytes(members[field])) in wanted
    ]
    return {"data": found, "matched_count": len(found)}


def _list(value: msgspec.Raw, call: View) -> Iterator[msgspec.Raw]:
    if bytes(memoryview(value)[:1]) != b"[":
        where = f"at {call.scope!r}" if call.scope else "at the top"
        message = f"{call.type} reads a list of objects, but the value {where} is not a list. {_OTHER_TOOLS}"
        raise FindspotError("INVALID_ARGUMENT", message, field="json_pointer")
    return elements(bytes(value))


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
