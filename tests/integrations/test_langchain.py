"""The LangChain retriever, with the real library and a real server."""

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from findspot.errors import FindspotError
from findspot.integrations.langchain import FindspotRetriever
from tests.integrations.conftest import TEXTS, Target


def retriever(target: Target, **more: object) -> FindspotRetriever:
    fields = {"url": target.url, "project_id": target.project_id, "key": target.key}
    return FindspotRetriever.model_validate(fields | more)


def test_passages_become_documents_with_their_place_and_without_private_values(target: Target) -> None:
    (found,) = retriever(target).invoke("keeper of the lighthouse")
    assert found.page_content == TEXTS["Keepers"].replace("mara@example.org", "[EMAIL_1]")
    assert (found.metadata["title"], found.metadata["start_offset"]) == ("Keepers", 0)
    assert found.metadata["end_offset"] == len(TEXTS["Keepers"])
    assert found.metadata["score"] >= 0.7
    assert found.id == str(found.metadata["chunk_id"])


async def test_the_asynchronous_call_gives_the_same(target: Target) -> None:
    asked = retriever(target, top_k=1, max_tokens=500)
    assert await asked.ainvoke("废弃仓库") == asked.invoke("废弃仓库")
    assert [found.page_content for found in asked.invoke("废弃仓库")] == [TEXTS["第二章"]]


def test_an_unrelated_question_gives_no_documents(target: Target) -> None:
    assert retriever(target).invoke("quantum chromodynamics") == []


def test_it_is_a_step_of_a_chain(target: Target) -> None:
    asked: list[str] = []

    def joined(documents: list[Document]) -> str:
        asked.append("\n".join(each.page_content for each in documents))
        return asked[-1]

    model = GenericFakeChatModel(messages=iter([AIMessage("在码头尽头。")]))
    prompt = ChatPromptTemplate.from_template("Passages:\n{passages}\n\nQuestion: {question}")
    passages = retriever(target) | RunnableLambda(joined)
    chain = {"passages": passages, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    assert chain.invoke("废弃仓库在哪里？") == "在码头尽头。"
    assert TEXTS["第二章"] in asked[0]


def test_an_error_of_the_server_is_raised_with_its_code(target: Target) -> None:
    with pytest.raises(FindspotError) as raised:
        retriever(target, key="fsk_wrong").invoke("x")
    assert raised.value.code == "UNAUTHORIZED"
    with pytest.raises(FindspotError, match="topK"):
        retriever(target, top_k=99).invoke("x")


def test_the_key_is_not_shown(target: Target) -> None:
    assert target.key not in repr(retriever(target))
