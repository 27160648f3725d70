"""The LlamaIndex retriever, with the real library and a real server."""

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, QueryBundle

from findspot.errors import FindspotError
from findspot.integrations.llamaindex import FindspotRetriever
from tests.integrations.conftest import TEXTS, Target


def retriever(target: Target, top_k: int | None = None, key: str = "") -> FindspotRetriever:
    return FindspotRetriever(target.url, target.project_id, key or target.key, top_k=top_k)


def test_passages_become_nodes_with_scores_and_places_and_without_private_values(target: Target) -> None:
    (found,) = retriever(target).retrieve("keeper of the lighthouse")
    assert found.get_content(MetadataMode.NONE) == TEXTS["Keepers"].replace("mara@example.org", "[EMAIL_1]")
    assert found.score is not None
    assert found.score >= 0.7
    assert (found.node.metadata["title"], found.node.metadata["end_offset"]) == ("Keepers", len(TEXTS["Keepers"]))
    assert "offset" not in found.get_content(MetadataMode.LLM)


async def test_the_asynchronous_call_gives_the_same(target: Target) -> None:
    asked = retriever(target, top_k=1)
    found, awaited = asked.retrieve("废弃仓库"), await asked.aretrieve(QueryBundle("废弃仓库"))
    assert [each.node.node_id for each in found] == [each.node.node_id for each in awaited]
    assert [each.get_content(MetadataMode.NONE) for each in awaited] == [TEXTS["第二章"]]


def test_an_unrelated_question_gives_no_nodes(target: Target) -> None:
    assert retriever(target).retrieve("quantum chromodynamics") == []


def test_it_answers_questions_in_a_query_engine(target: Target) -> None:
    engine = RetrieverQueryEngine.from_args(retriever(target), llm=MockLLM())
    answer = engine.query("废弃仓库在哪里？")
    assert TEXTS["第二章"] in str(answer)
    assert [each.node.metadata["title"] for each in answer.source_nodes] == ["第二章"]


def test_an_error_of_the_server_is_raised_with_its_code(target: Target) -> None:
    with pytest.raises(FindspotError) as raised:
        retriever(target, key="fsk_wrong").retrieve("x")
    assert raised.value.code == "UNAUTHORIZED"
