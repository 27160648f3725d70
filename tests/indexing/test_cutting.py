"""Sources are cut into chunks: new ones are returned with their text, known and deleted ones by name."""

import json
from itertools import chain
from typing import Any

import pytest

from findspot.errors import FindspotError
from findspot.indexing import cutting
from findspot.indexing.cutting import Cut, DocumentToCut, TableToCut

TABLE = {"a": {"x": "some words", "y": "更多的文字"}, "b": ["short", "x" * 50, "👩‍👩‍👧 e\u0301"]}
EVERYWHERE = (Cut(100, 10, (("", 1),)),)


def cut(data: Any, cuts: tuple[Cut, ...], *known: list[cutting.Known], **limits: int) -> tuple[Any, Any, Any]:
    request = TableToCut(7, cuts, **({"max_length": 1000, "max_chunks": 10, "room": 10_000} | limits))
    summary, gone, new = cutting.cut_table(request, json.dumps(data).encode(), iter(known))
    return summary, list(chain.from_iterable(gone)), list(chain.from_iterable(new))


def names(chunks: list[cutting.NodeChunk]) -> list[cutting.Known]:
    return list(dict.fromkeys((each.pointer, each.content_hash, each.size, each.overlap) for each in chunks))


def test_a_new_table_is_returned_with_all_its_texts() -> None:
    summary, gone, chunks = cut(TABLE, EVERYWHERE)
    assert (summary.nodes, summary.chunks, gone, summary.skipped) == (5, 5, [], ())
    assert {each.pointer: each.text for each in chunks} == {
        "/a/x": "some words",
        "/a/y": "更多的文字",
        "/b/0": "short",
        "/b/1": "x" * 50,
        "/b/2": "👩‍👩‍👧 e\u0301",
    }
    assert all((each.start, each.end) == (0, len(each.text)) == (0, each.length) for each in chunks)


def test_of_a_known_table_only_changes_are_returned() -> None:
    known = names(cut(TABLE, EVERYWHERE)[2])
    changed = {"a": TABLE["a"], "b": ["short", "other", "👩‍👩‍👧 e\u0301"]}
    summary, gone, chunks = cut(changed, EVERYWHERE, known[:2], known[2:])
    assert (summary.nodes, summary.chunks) == (5, 5)
    assert [each.text for each in chunks] == ["other"]
    assert gone == [node for node in known if node[0] == "/b/1"]


def test_without_tools_every_known_node_is_gone() -> None:
    known = names(cut(TABLE, EVERYWHERE)[2])
    summary, gone, chunks = cut(None, (), known)
    assert (summary.nodes, summary.chunks, sorted(gone), chunks) == (0, 0, sorted(known), [])


def test_scopes_of_one_chunk_size_are_merged_and_other_sizes_cut_separately() -> None:
    cuts = (Cut(100, 10, (("/a", 1), ("/b", 20), ("/b/0", 1))), Cut(30, 0, (("/b", 20),)))
    summary, _, chunks = cut(TABLE, cuts)
    assert {(each.pointer, each.size) for each in chunks} == {
        ("/a/x", 100),
        ("/a/y", 100),
        ("/b/0", 100),
        ("/b/1", 100),
        ("/b/1", 30),
    }
    assert summary.nodes == 4
    assert "".join(each.text for each in chunks if each.size == 30) == "x" * 50
    assert len({each.doc_id for each in chunks}) == len(chunks)


def test_nodes_that_are_too_long_or_have_no_room_are_listed() -> None:
    data = {"long": "x" * 1001, "much": "word " * 100, "fine": "fine"}
    summary, _, chunks = cut(data, (Cut(20, 0, (("", 1),)),))
    assert dict(summary.skipped) == {"/long": "content_too_long", "/much": "too_many_chunks"}
    assert [each.pointer for each in chunks] == ["/fine"]


def test_a_large_result_is_returned_in_parts() -> None:
    data = [f"{number} " + "字" * 900 for number in range(1500)]
    request = TableToCut(7, (Cut(1000, 0, (("", 1),)),), 10_000, 10, 10_000)
    parts = list(cutting.cut_table(request, json.dumps(data).encode(), iter(()))[2])
    assert len(parts) > 2
    chunks = list(chain.from_iterable(parts))
    assert [chunk.text for chunk in chunks] == data
    _, gone, _ = cutting.cut_table(request, b"[]", iter([names(chunks)]))
    assert len(list(gone)) == 1


def test_known_passages_are_returned_without_their_text() -> None:
    content = "alpha\n\n---\n\nbeta 乙\n\n---\n\nalpha".encode()

    def passages(known: frozenset[str]) -> list[cutting.Passage]:
        request = [DocumentToCut(3, "t", "markdown", known), DocumentToCut(4, "t", "text", frozenset())]
        return list(chain.from_iterable(cutting.cut_documents(request, [content, b"other"])[0]))

    first = passages(frozenset())
    assert [each.text for each in first] == ["alpha", "beta 乙", "alpha", "other"]
    assert [(each.start, each.end, each.index, each.total) for each in first[:3]] == [
        (0, 5, 0, 3),
        (7, 13, 1, 3),
        (15, 20, 2, 3),
    ]
    again = passages(frozenset({first[0].doc_id, first[2].doc_id}))
    assert [each.text for each in again] == [None, "beta 乙", None, "other"]
    assert [each.doc_id for each in again] == [each.doc_id for each in first]


def test_a_document_that_cannot_be_read_is_an_error_with_its_id() -> None:
    with pytest.raises(FindspotError, match="Document 3 cannot be read"):
        cutting.cut_documents([DocumentToCut(3, "t", "tiptap", frozenset())], [b"{"])


def test_each_text_gets_its_terms() -> None:
    english, chinese, nothing = cutting.index_terms(["The Rivers", "圖書館", ""])
    assert "river" in english.split()
    assert chinese
    assert nothing == ""
