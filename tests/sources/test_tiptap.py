from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.sources import Extract, SourceError, Span, tiptap

FIXTURES = Path(__file__).parent.parent / "fixtures" / "documents"
DOCUMENTS = json.loads((FIXTURES / "prosemirror_docs.json").read_text(encoding="utf-8"))
LEAK = "§leak"
TEXT_ATTRIBUTES = {"image": "alt", "mention": "label", "inlineMath": "latex", "blockMath": "latex"}

Node = dict[str, Any]


def text(value: str, *marks: str) -> Node:
    return {"type": "text", "text": value, "marks": [{"type": mark, "attrs": {"href": LEAK}} for mark in marks]}


def node(name: str, /, *content: Node, **attrs: object) -> Node:
    return {"type": name, "attrs": {"note": LEAK, **attrs}, "content": list(content)}


def leaf(name: str, /, **attrs: object) -> Node:
    return {"type": name, "attrs": {"note": LEAK, **attrs}}


def paragraph(*content: Node | str) -> Node:
    return node("paragraph", *(text(part) if isinstance(part, str) else part for part in content))


def shown(*content: Node) -> str:
    return tiptap.extract(node("doc", *content)).text


def at(document: object, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        document = document[int(step)] if isinstance(document, list) else document[step]  # type: ignore[index]
    return document


def assert_exact(document: Node, found: Extract) -> None:
    for index, character in enumerate(found.text):
        place = found.place(index)
        there = at(document, place.pointer)
        if isinstance(there, str) and place.start < place.end:
            assert there[place.start : place.end] == character
        else:
            assert character in "\n\t"


def visible_texts(value: Node) -> Iterator[str]:
    """The text of a tree without breaks, by recursion."""
    if value["type"] == "text":
        yield value["text"]
    elif not value.get("content") and value["type"] in TEXT_ATTRIBUTES:
        yield value["attrs"].get(TEXT_ATTRIBUTES[value["type"]]) or ""
    for child in value.get("content") or ():
        yield from visible_texts(child)


def size(value: Node) -> int:
    """A node's size as ProseMirror counts it."""
    if value["type"] == "text":
        return len(value["text"].encode("utf-16-le")) // 2
    return 2 + sum(map(size, value["content"])) if "content" in value else 1


def positions(value: Node, pointer: str = "", start: int = 0) -> Iterator[tuple[str, int]]:
    """The position before each child, by recursion: a node's content starts one after the node itself."""
    for step, child in enumerate(value.get("content") or ()):
        yield f"{pointer}/content/{step}", start
        yield from positions(child, f"{pointer}/content/{step}", start + 1)
        start += size(child)


texts = st.text(min_size=1, max_size=6).filter(lambda value: "§" not in value)
leaves = st.one_of(
    st.builds(text, texts, st.sampled_from(["bold", "link", "unknownMark"])),
    st.sampled_from([leaf("hardBreak"), leaf("hard_break"), leaf("horizontalRule"), leaf("emoji", name=LEAK)]),
    st.builds(lambda alt: leaf("image", alt=alt, src=LEAK, title=LEAK, text=LEAK), texts | st.none()),
    st.builds(lambda label: leaf("mention", label=label, id=LEAK), texts),
    st.builds(lambda latex: leaf("inlineMath", latex=latex), texts),
    st.builds(lambda latex: leaf("blockMath", latex=latex), texts),
    st.just({"type": "unknownLeaf", "attrs": {"text": LEAK, "alt": LEAK}, "text": LEAK}),
)
NAMES = (
    *("paragraph", "heading", "codeBlock", "code_block", "blockquote", "bulletList", "ordered_list", "listItem"),
    *("taskList", "taskItem", "table", "tableRow", "table_row", "tableCell", "tableHeader", "details", "unknownNode"),
)
trees = st.recursive(
    leaves,
    lambda children: st.builds(
        lambda name, content: node(name, *content), st.sampled_from(NAMES), st.lists(children, max_size=4)
    ),
    max_leaves=25,
)
documents = st.lists(trees, max_size=5).map(lambda content: node("doc", *content))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([paragraph("one"), paragraph(), paragraph("two")], "one\n\ntwo"),
        ([paragraph("a ", text("bold", "bold"), " c")], "a bold c"),
        ([paragraph("a", leaf("hardBreak"), "b", leaf("hardBreak"))], "a\nb"),
        ([node("heading", text("h"), level=1), node("codeBlock", text("x = 1\n\ny"))], "h\n\nx = 1\n\ny"),
        ([node("bulletList", node("listItem", paragraph("one")), node("listItem", paragraph("two")))], "one\n\ntwo"),
        ([leaf("image", alt="a cat", src="x"), leaf("horizontalRule"), paragraph("p")], "a cat\n\np"),
        ([paragraph("see ", leaf("image", alt="a cat"), " here")], "see a cat here"),
        ([paragraph("hi ", leaf("mention", label="Ann", id="u1"), "!")], "hi Ann!"),
        ([paragraph("x ", leaf("inlineMath", latex="a^2")), leaf("blockMath", latex="b")], "x a^2\n\nb"),
        ([node("callout", paragraph("in"), paragraph("side"))], "in\n\nside"),
        ([paragraph("a", node("badge", text("b")), "c")], "abc"),
        ([node("poem", text("line"))], "line"),
        ([paragraph("a", node("blockquote", paragraph("b")), "c")], "a\n\nb\n\nc"),
        ([], ""),
    ],
)
def test_the_text_is_what_a_reader_sees(content: list[Node], expected: str) -> None:
    assert shown(*content) == expected


def test_a_table_row_is_a_paragraph_with_a_tab_between_cells() -> None:
    def row(*cells: list[Node]) -> Node:
        return node("tableRow", *(node("tableCell", *cell) for cell in cells))

    table = node("table", row([paragraph("a")], [paragraph("b"), paragraph("c")]), row([paragraph()], [paragraph("d")]))
    found = tiptap.extract(node("doc", paragraph("x"), table, paragraph("y")))
    assert found.text == "x\n\na\tb\nc\n\nd\n\ny"
    assert [block.kind for block in found.blocks] == ["paragraph", "row", "row", "paragraph"]


def test_blocks_have_the_kind_of_their_node() -> None:
    item = node("listItem", paragraph("i"), node("codeBlock", text("c")))
    content = [node("heading", text("h")), paragraph("p"), node("bulletList", item), node("blockquote", paragraph("q"))]
    kinds = [block.kind for block in tiptap.extract(node("doc", *content)).blocks]
    assert kinds == ["heading", "paragraph", "item", "code", "paragraph"]


def test_a_place_is_a_node_and_an_offset_in_its_string() -> None:
    found = tiptap.extract(node("doc", paragraph("e\u0301😀", text("中", "bold")), leaf("image", alt="alt")))
    assert found.place(2) == Span(2, 3, "/content/0/content/0", "/text")
    assert found.place(3) == Span(0, 1, "/content/0/content/1", "/text")
    assert found.place(4) == Span(1, 1, "/content/0/content/1", "/text")
    assert found.place(6).pointer == "/content/1/attrs/alt"
    assert found.spans(1, 7) == [
        Span(1, 3, "/content/0/content/0", "/text"),
        Span(0, 1, "/content/0/content/1", "/text"),
        Span(0, 1, "/content/1", "/attrs/alt"),
    ]


def test_the_place_of_a_hard_break_is_its_node() -> None:
    found = tiptap.extract(node("doc", paragraph("a", leaf("hardBreak"), "b")))
    assert found.place(1) == Span(0, 0, "/content/0/content/1")


def test_positions_count_as_prosemirror_does() -> None:
    found = tiptap.extract(
        node("doc", paragraph("a😀b"), {"type": "paragraph"}, leaf("horizontalRule"), paragraph("c"))
    )
    assert found.text == "a😀b\n\nc"
    assert [found.position(index) for index in range(len(found.text))] == [1, 2, 4, 5, 5, 10]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (None, "a node must be an object with a type"),
        ([], "a node must be an object with a type"),
        ({}, "a node must be an object with a type"),
        ({"type": 1}, "a node must be an object with a type"),
        ({"type": "text", "text": "x"}, "not a text node"),
        ({"type": "doc", "content": {}}, "content must be a list"),
        ({"type": "doc", "content": [None]}, "a node must be an object with a type"),
        ({"type": "doc", "content": [{"type": "text"}]}, "a text node must have a string"),
        ({"type": "doc", "content": [{"type": "text", "text": "\ud800"}]}, "lone surrogate"),
        ({"type": "doc", "content": [{"type": "image", "attrs": {"alt": "\ud800"}}]}, "lone surrogate"),
    ],
)
def test_an_invalid_document_is_refused(document: object, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        tiptap.extract(document)


@pytest.mark.parametrize("document", [{"type": "doc"}, {"type": "doc", "content": None}, {"type": "doc", "attrs": 1}])
def test_a_document_may_be_empty(document: object) -> None:
    assert tiptap.extract(document) == tiptap.extract(node("doc"))


def test_a_deeply_nested_document_is_refused() -> None:
    deep = node("paragraph")
    for _ in range(100_000):
        deep = {"type": "blockquote", "content": [deep]}
    with pytest.raises(SourceError, match="1000 levels deep"):
        tiptap.extract(node("doc", deep))
    while deep.get("content"):  # Freed level by level: freeing it at once recurses.
        deep = deep.pop("content")[0]


@settings(max_examples=250)
@given(documents)
def test_places_blocks_text_and_positions_are_right_for_any_tree(
    assert_sound: Callable[[Extract], None], document: Node
) -> None:
    found = tiptap.extract(document)
    assert_exact(document, found)
    assert_sound(found)
    assert_all_text(document, found)
    assert_positions(document, found)


def assert_all_text(document: Node, found: Extract) -> None:
    assert LEAK not in found.text
    places = [found.place(index) for index in range(len(found.text))]
    own = (character for character, place in zip(found.text, places, strict=True) if place.start < place.end)
    assert "".join(own) == "".join(visible_texts(document))


def assert_positions(document: Node, found: Extract) -> None:
    before = dict(positions(document))
    for index in range(len(found.text)):
        place = found.place(index)
        units = found.text[index - place.start : index] if place.start < place.end and place.field == "/text" else ""
        if place.start < place.end or not place.field:
            assert found.position(index) == before[place.node] + len(units.encode("utf-16-le")) // 2


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_documents_have_exact_places(name: str, assert_sound: Callable[[Extract], None]) -> None:
    found = tiptap.extract(DOCUMENTS[name])
    assert_exact(DOCUMENTS[name], found)
    assert_sound(found)
    assert len(found.blocks) > 5
