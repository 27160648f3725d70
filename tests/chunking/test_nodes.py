"""Chunks of a string in a table."""

import pytest
from hypothesis import given

from findspot.chunking import NodeChunks, cut, cut_node
from findspot.models import Node, Skipped, SkipReason
from tests.chunking.texts import texts


@given(texts)
def test_a_node_has_the_chunks_of_its_text(text: str) -> None:
    done = cut_node(Node("/a", text), 50, 10)
    assert isinstance(done, NodeChunks)
    assert done.chunks == tuple(cut(text, 50, 10))
    assert done.total == len(done.chunks)


@pytest.mark.parametrize(("limit", "fits"), [(6, True), (5, False), (1, False)])
def test_a_node_with_too_many_chunks_is_skipped(limit: int, fits: bool) -> None:
    done = cut_node(Node("/a", "A" * 5000), max_chunks=limit)
    assert isinstance(done, NodeChunks) if fits else done == Skipped("/a", SkipReason.TOO_MANY_CHUNKS)


@pytest.mark.scenario("001.decision.new-content-new-ids")
def test_an_edit_or_another_setting_changes_every_id_of_a_node() -> None:
    def names(text: str, size: int) -> set[str]:
        done = cut_node(Node("/a", text), size)
        assert isinstance(done, NodeChunks)
        return {done.id(1, chunk) for chunk in done.chunks}

    assert names("A" * 5000, 1000).isdisjoint(names("A" * 4999 + "B", 1000))
    assert names("A" * 5000, 1000).isdisjoint(names("A" * 5000, 900))
    assert names("A" * 5000, 1000) == names("A" * 5000, 1000)
