"""Ids of chunks."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.chunking import content_hash, cut_node, document_chunk_id, table_chunk_id
from findspot.models import Node

pointers = st.text(max_size=1024)
alike = st.sampled_from(["/a_b", "/a/b", "/a~1b", "", "/1/2", "/12"])
ids = st.integers(1, 2**63 - 1)
setting = st.tuples(st.integers(1, 8000), st.integers(0, 4000))


@pytest.mark.scenario("003.content-hash")
@given(st.text())
def test_the_content_hash_is_the_sha_256_of_the_utf_8_bytes(text: str) -> None:
    assert content_hash(text) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.scenario("003.doc-id.short")
@given(ids, pointers, setting, st.integers(0, 60_000))
def test_the_id_of_a_table_chunk_has_at_most_64_bytes(
    table: int, pointer: str, setting: tuple[int, int], index: int
) -> None:
    assert len(table_chunk_id(table, pointer, *setting, content_hash(pointer), index).encode()) <= 64


@given(ids, st.integers(0, 10**7), st.integers(0, 10**5))
def test_the_id_of_a_document_chunk_has_at_most_64_bytes(document: int, nth: int, part: int) -> None:
    assert len(document_chunk_id(document, content_hash("x"), nth, part, part + 1).encode()) <= 64


@pytest.mark.scenario("003.doc-id.pointer-part")
@given(st.lists(st.tuples(ids, alike | pointers, setting), min_size=2))
def test_ids_are_equal_only_for_the_same_table_pointer_and_setting(
    places: list[tuple[int, str, tuple[int, int]]],
) -> None:
    content = content_hash("text")
    named = {place: table_chunk_id(place[0], place[1], *place[2], content, 0) for place in places}
    assert len(set(named.values())) == len(named)


@pytest.mark.scenario("003.doc-id.root")
def test_the_chunks_of_a_table_that_is_one_string_have_ids_like_any_other() -> None:
    done = cut_node(Node("", "A" * 5000))
    assert not hasattr(done, "reason")
    names = [done.id(7, chunk) for chunk in done.chunks]
    assert len(set(names)) == 6
    assert all(name.split(":")[0] == "7" and len(name.split(":")) == 4 for name in names)


def test_the_id_consists_of_table_location_hash_content_hash_and_index() -> None:
    content = content_hash("hello")
    place = hashlib.sha256(b"1000:100:/a").hexdigest()[:16]
    assert table_chunk_id(7, "/a", 1000, 100, content, 3) == f"7:{place}:{content[:12]}:3"


def test_only_the_chunks_of_a_long_paragraph_have_numbered_ids() -> None:
    content = content_hash("paragraph")
    assert document_chunk_id(5, content, 2, 0, 1) == f"d5:{content[:16]}:2"
    assert document_chunk_id(5, content, 2, 1, 3) == f"d5:{content[:16]}:2.1"
