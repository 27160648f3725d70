"""Bodies of documents: what is refused when it is saved, and what stays readable."""

import json

import pytest

from findspot.content.document_bodies import content_members, parse_body
from findspot.errors import FindspotError

PARAGRAPH = {"type": "paragraph", "content": [{"type": "text", "text": "雨 rain"}]}


def _body(content: object) -> bytes:
    return json.dumps({"title": "t", "format": "tiptap", "content": content}).encode()


def test_a_tree_with_another_root_than_doc_is_refused() -> None:
    with pytest.raises(FindspotError, match="must be a node of type 'doc'") as caught:
        parse_body(_body(PARAGRAPH), "", 1000)
    assert (caught.value.code, caught.value.fields["field"]) == ("INVALID_ARGUMENT", "content")


def test_a_tree_that_was_stored_with_another_root_stays_readable() -> None:
    members = json.loads(b"{" + content_members(json.dumps(PARAGRAPH).encode(), "tiptap") + b"}")
    assert members == {"content": PARAGRAPH, "text": "雨 rain"}
