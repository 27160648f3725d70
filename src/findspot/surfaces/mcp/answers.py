"""Translates the answers and errors of flows into MCP messages."""

import json
from collections.abc import Sequence
from typing import Any

import mcp_types as types
import msgspec

from findspot import tokens
from findspot.agents.calls import structured
from findspot.agents.hits import readable
from findspot.agents.reading import readable_slice
from findspot.agents.retrieval_calls import readable as readable_passages
from findspot.errors import FindspotError, invalid
from findspot.jsontext.check import refuse_lone_surrogates
from findspot.models import Tool, ToolCard, ToolType
from findspot.surfaces.mcp.nodes import TEMPLATE, NodeAddress

_UNCHANGED = " Nothing was changed."
_CHARACTERS_PER_TOKEN = 4  # a first guess at how much text fits into the token budget


def tool(card: ToolCard) -> types.Tool:
    return types.Tool(
        name=card.name,
        title=card.title,
        description=card.description,
        input_schema=card.input_schema,
        output_schema=card.output_schema,
        annotations=types.ToolAnnotations.model_validate(card.annotations),
    )


class _Params(msgspec.Struct):
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Call(msgspec.Struct):
    params: _Params


def arguments(body: bytes) -> bytes:
    """Return the arguments of a call as the bytes that were sent, so that numbers keep their spelling."""
    try:
        sent = msgspec.json.decode(body, type=_Call).params.arguments
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:  # the SDK accepts NaN, JSON does not
        refuse_lone_surrogates(body, "arguments")
        raise invalid("arguments", f"are not JSON: {error}") from None
    return b"{}" if bytes(sent) == b"null" else bytes(sent)


def answered(called: Tool, answer: bytes) -> dict[str, Any]:
    """Return an answer as the result of a call, as it is sent: structured content and a text block.

    The text block of a search is a short list with links to the hits, that of a reading tool the text that was read.
    Otherwise it is the same JSON.
    """
    content = structured(answer)
    links: list[dict[str, Any]] = []
    text = answer.decode()
    if called.type is ToolType.SEARCH:
        text, links = readable(content), _links(called, content)
    elif called.type is ToolType.SEARCH_DOCUMENTS:
        text = readable(content)
    elif called.type is ToolType.RETRIEVE:
        text = readable_passages(content)
    elif called.type in (ToolType.READ, ToolType.READ_DOCUMENT):
        text = readable_slice(content)
    return {"content": [_text(text), *links], "isError": False, "structuredContent": content}


def _text(text: str) -> dict[str, Any]:
    return {"text": text, "type": "text"}


def _links(called: Tool, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a link to the text of each hit, which begins where the hit begins."""
    return [
        {
            "mimeType": "text/plain",
            "name": f"hit {number}",
            "type": "resource_link",
            "uri": NodeAddress(called.table, called.json_pointer + hit["json_path"], hit["chunk"]["char_start"]).text,
        }
        for number, hit in enumerate(answer["results"], 1)
    ]


def refused(error: FindspotError) -> dict[str, Any]:
    """Return an error as a sentence that an agent can act on, with its code and fields in `_meta`."""
    return {
        "_meta": {"findspot/error": {"code": error.code, **error.fields}},
        "content": [_text(sentence(error))],
        "isError": True,
    }


def sentence(error: FindspotError) -> str:
    """Return the message of an error and what to do about it."""
    wait = error.fields.get("retryAfterMs")
    advice = f"Wait {wait} ms, then try again." if wait is not None else error.kind.advice
    message = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
    return f"{message} {advice.removesuffix(_UNCHANGED) if message.endswith(_UNCHANGED) else advice}".rstrip()


def root(node: NodeAddress, shown_by: Tool) -> types.Resource:
    where = node.pointer or "everything"
    return types.Resource(
        uri=node.text, name=f"{shown_by.name}: {where}", description=f"What '{shown_by.name}' works on: {where} of "
        f"table {node.table_id}.",
    )  # fmt: skip


def template() -> types.ResourceTemplate:
    return types.ResourceTemplate(
        name="node",
        uri_template=TEMPLATE,
        description="The value at a JSON pointer of a table, as search hits name it. A long value is read in pieces: "
        "'start' is the first character to read.",
    )


def read(node: NodeAddress, parts: Sequence[bytes | bytearray], budget: int) -> types.ReadResourceResult:
    """Return a string as its text, any other value as JSON. If it does not fit, `findspot/next` addresses the rest."""
    stored = b"".join(parts).strip()
    is_text = stored.startswith(b'"')
    whole = json.loads(stored) if is_text else stored.decode()
    piece = _piece(whole[node.start : node.start + budget * _CHARACTERS_PER_TOKEN], budget)
    end = node.start + len(piece)
    meta: dict[str, Any] = {"findspot/characters": [node.start, min(end, len(whole)), len(whole)]}
    if end < len(whole):
        meta["findspot/next"] = NodeAddress(node.table_id, node.pointer, end).text
    mime = "text/plain" if is_text else "application/json"
    content = types.TextResourceContents(uri=node.text, mime_type=mime, text=piece, _meta=meta)
    return types.ReadResourceResult(contents=[content])


def _piece(text: str, budget: int) -> str:
    """Return the longest beginning of a text, roughly, that fits into the token budget."""
    while text and (needed := tokens.count(text)) > budget:
        text = text[: min(len(text) - 1, len(text) * budget // needed)]
    return text
