"""A tool accepts exactly the arguments that its schema allows."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from findspot.agents.calls import read_arguments
from findspot.agents.cards import card
from findspot.errors import FindspotError
from findspot.jsontext import elements
from findspot.jsontext.tree import Tree
from findspot.models import Tool, ToolType
from findspot.settings import Settings

SETTINGS = Settings()
EDITS = {ToolType.CREATE: elements.create, ToolType.UPDATE: elements.update, ToolType.DELETE: elements.delete}

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 30), st.sampled_from([1.0, 1.5, 5.0]), st.text("a查é", max_size=3)
)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=2), max_leaves=4)
_ELEMENTS = st.dictionaries(st.sampled_from(["key", "content", "other"]), _VALUES, max_size=3)
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["query", "top_k", "elements", "updates", "keys", "field", "json_path", "start", "around", "其他"]),
    _VALUES | st.lists(_ELEMENTS, max_size=3),
    max_size=3,
)


def tool(type: ToolType) -> Tool:
    now = datetime.now(UTC)
    return Tool(1, 1, 1, type, "t", "d", "", {}, None, now, now)


_VALIDATORS = {type: Draft202012Validator(card(tool(type), SETTINGS).input_schema) for type in ToolType}


def refusal(type: ToolType, arguments: Any) -> str | None:
    """Return the code with which arguments are refused, or None."""
    text = json.dumps(arguments, ensure_ascii=False).encode()
    try:
        if type in EDITS:
            EDITS[type](Tree(b'{"a": 1}'), (), text)
        else:
            read_arguments(type, text, SETTINGS.max_top_k)
    except FindspotError as error:
        return error.code
    return None


@pytest.mark.scenario("002.mcp-tools.shapes")
@pytest.mark.parametrize("type", ToolType)
@settings(max_examples=30, deadline=None)
@given(arguments=_ARGUMENTS)
@example({"query": ""})
@example({"query": "查" * 4000})
@example({"query": "查" * 4001})
@example({"query": "x", "top_k": None})
@example({"query": "x", "top_k": 20.0})
@example({"query": "x", "top_k": 21})
@example({"query": "x", "top_k": True})
@example({"keys": None})
@example({"json_path": "/a", "start": 0, "end": 5.0, "around": 2})
@example({"json_path": "", "start": -1})
@example({"json_path": "", "around": 1.5})
@example({"json_path": "/文", "end": None})
@example({"elements": [{"key": None, "content": 1}]})
@example({"elements": [{"key": "new", "content": None}]})
@example({"updates": [{"key": "a"}]})
def test_a_tool_accepts_exactly_what_its_schema_allows(type: ToolType, arguments: dict[str, Any]) -> None:
    allowed = _VALIDATORS[type].is_valid(arguments)
    code = refusal(type, arguments)
    if type not in EDITS:
        assert (code is None) == allowed
    elif not allowed:
        assert code == "INVALID_ARGUMENT"  # allowed arguments may still conflict with the table


@pytest.mark.parametrize("type", ToolType)
def test_schemas_are_valid_and_closed(type: ToolType) -> None:
    shown = card(tool(type), SETTINGS)
    for schema in (shown.input_schema, shown.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])
