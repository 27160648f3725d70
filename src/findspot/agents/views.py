"""The answers of reading tools: all data, the schema, a query, a preview, a selection.

Pure functions that run in a helper process. Every number keeps its spelling.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from findspot import pointer as pointers
from findspot.agents.budget import Number, encode, fit, summarize_cuts
from findspot.agents.data_schema import Schema
from findspot.agents.reading import Slice, cut_slice, markdown_headings
from findspot.agents.shapes import KEYS_NAMED, described, look, opened, shape_of, type_of
from findspot.errors import FindspotError, invalid, quoted, shortened
from findspot.jsontext.check import depth
from findspot.jsontext.compare import canonical
from findspot.jsontext.elements import SCOPE_ADVICE
from findspot.jsontext.lists import elements
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing
from findspot.runtime import messages

KEYS_SHOWN = 50
MAX_SCHEMA_DEPTH = 40  # levels; parsers of common clients stop at 64, and the answer has some around the schema
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
        found = compiled.search(_decoded(bytes(value)))
    except (JMESPathError, ValueError, TypeError, ArithmeticError) as error:
        message = f"is not a valid JMESPath for this data: {_problem(error)}. The data is {described(value)}"
        raise invalid("query", message) from None
    answer = {"data": found, "query": query}
    notice = _why_null(value, compiled.parsed, call.language) if found is None else ""
    return {**answer, "notice": notice} if notice else answer


def _why_null(value: msgspec.Raw, expression: dict[str, Any], language: str) -> str:
    """Return why a query has no result: it begins with a field that the data does not have; or ""."""
    while expression["children"]:
        expression = expression["children"][0]
    data = opened(value)
    if expression["type"] != "field" or (isinstance(data, dict) and expression["value"] in data):
        return ""
    shape = shape_of(value)
    fields = [quoted(key) for key in shape.keys]
    return messages.no_such_key(quoted(expression["value"]), shape.type, fields, language)


def _problem(error: Exception) -> str:
    """Return what is wrong with a query. The parser's own messages may contain all of the data."""
    from jmespath import exceptions

    match error:
        case exceptions.JMESPathTypeError():
            expected = " or ".join(error.expected_types)
            return f"{shortened(error.function_name)}() takes {expected}, not {error.actual_type}"
        case exceptions.IncompleteExpressionError():
            return "it ends too early"
        case exceptions.LexerError():
            return f"{shortened(error.message)} at character {error.lexer_position}"
        case exceptions.ArityError() | exceptions.UnknownFunctionError():
            return shortened(str(error))
        case exceptions.ParseError():
            return f"unexpected {quoted(str(error.token_value))} at character {error.lex_position}"
        case exceptions.EmptyExpressionError():
            return "it is empty"
    return f"it cannot be evaluated ({type(error).__name__})"


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
    schema = found.described()
    if depth(encode(schema)) <= MAX_SCHEMA_DEPTH:
        return {"schema": schema, "meta": meta}
    notice = messages.deeper_than(MAX_SCHEMA_DEPTH, call.language)
    return {"schema": _limited(schema, MAX_SCHEMA_DEPTH), "meta": meta, "notice": notice}


def _limited(schema: Any, levels: int) -> Any:
    """Return a schema of at most so many levels. Deeper values are shown as their type."""
    if not isinstance(schema, dict | list):
        return schema
    if levels == 0:
        return type_of(schema)
    if isinstance(schema, list):
        return [_limited(each, levels - 1) for each in schema]
    return {key: _limited(each, levels - 1) for key, each in schema.items()}


# ── a part of a text ──


def _read(value: msgspec.Raw, call: View) -> dict[str, Any]:
    path = call.arguments["json_path"]
    wanted, tree = Slice.of(call.arguments), Tree(bytes(value))
    try:
        found = opened(msgspec.Raw(tree.get(pointers.parse(path, "json_path"))))
    except Missing:
        below = path.removeprefix(call.scope) if pointers.holds(call.scope, path) and call.scope else path
        if below != path:  # an agent may also name the text by its pointer in the table
            return _read(value, msgspec.structs.replace(call, arguments={**call.arguments, "json_path": below}))
        hint = look(bytes(value), path).absent
        message = f"There is no {quoted(path)} here. {hint.hint if hint else ''}".rstrip()
        raise FindspotError("NOT_FOUND", message, field="json_path") from None
    if not isinstance(found, str):
        message = f"this is {described(found)}, and only strings can be read in parts. {_OTHER_TOOLS}"
        raise invalid("json_path", message)
    begin, _ = wanted.bounds(len(found))
    headings = markdown_headings(found, begin)
    answer = cut_slice(found, wanted, headings, call.budget, json_path=path)
    if "truncated" in answer:
        answer["notice"] = messages.read_on(answer["next_start"], call.language)
    return answer


# ── lists of objects ──


def _preview(value: msgspec.Raw, call: View) -> dict[str, Any]:
    objects = [_members(each) for each in _list(value, call)]
    present = {key: None for each in objects if each for key in each}
    keys = call.arguments["keys"]
    if keys is None:
        keys = list(present)
    rows = [None if each is None else {key: each[key] for key in keys if key in each} for each in objects]
    answer = {"data": rows, "keys": keys, "total_count": len(rows)}
    absent = [quoted(key) for key in keys if key not in present]
    return {**answer, "notice": _no_such_field(absent, list(present), call)} if absent and rows else answer


def _no_such_field(absent: list[str], present: list[str], call: View) -> str:
    """Say that no object has these fields, and name some that objects have."""
    fields = [quoted(key) for key in present[:KEYS_NAMED]]
    return messages.no_such_field(absent[:KEYS_NAMED], fields, call.language)


def _select(value: msgspec.Raw, call: View) -> dict[str, Any]:
    field = call.arguments["field"]
    wanted = {canonical(msgspec.json.encode(key)) for key in call.arguments["keys"]}
    found = [
        each
        for each in _list(value, call)
        if (members := _members(each)) and field in members and canonical(bytes(members[field])) in wanted
    ]
    answer = {"data": found, "matched_count": len(found)}
    notice = "" if found else _why_nothing(value, call)
    return {**answer, "notice": notice} if notice else answer


def _why_nothing(value: msgspec.Raw, call: View) -> str:
    """Return why a selection matches nothing: no object has the field, or its values have other types; or ""."""
    field, objects = call.arguments["field"], [members for each in _list(value, call) if (members := _members(each))]
    present = {type_of(members[field]): None for members in objects if field in members}
    if objects and not present:
        return _no_such_field([quoted(field)], list({key: None for each in objects for key in each}), call)
    given = {type_of(key): None for key in call.arguments["keys"]}
    if not given or present.keys() & given.keys():
        return ""
    return messages.other_type(quoted(field), " | ".join(present), " | ".join(given), call.language)


def _list(value: msgspec.Raw, call: View) -> Iterator[msgspec.Raw]:
    if bytes(memoryview(value)[:1]) != b"[":
        where = f"at {quoted(call.scope)}" if call.scope else "at the top"
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
    "read": _read,
}
