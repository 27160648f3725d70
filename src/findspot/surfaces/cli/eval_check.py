"""Check that expected passages exist. A mistake in the file of queries must not count as a fault of the search."""

from dataclasses import dataclass, field
from typing import Self

from findspot.surfaces.cli.connect import Api
from findspot.surfaces.cli.eval_file import EvalQuery, ExpectedPassage

_MAX_IDS_SHOWN = 5  # of documents with the same title


@dataclass(frozen=True, slots=True)
class Mistake:
    """An expected passage that does not exist, or that is ambiguous."""

    query: EvalQuery
    passage: ExpectedPassage
    reason: str


@dataclass(frozen=True, slots=True)
class ProjectDocuments:
    """The documents of a project by id and title. A text is read once, when it is needed."""

    api: Api
    ids: frozenset[int]
    ids_by_title: dict[str, list[int]]
    texts: dict[int, str] = field(default_factory=dict)

    @classmethod
    async def load(cls, api: Api, project_id: int) -> Self:
        documents = (await api.call("GET", f"/api/v1/projects/{project_id}/documents"))["documents"]
        ids_by_title: dict[str, list[int]] = {}
        for each in documents:
            ids_by_title.setdefault(each["title"], []).append(each["id"])
        return cls(api, frozenset(each["id"] for each in documents), ids_by_title)

    async def mistakes(self, query: EvalQuery) -> list[Mistake]:
        checked = [(passage, await self._mistake(passage)) for passage in query.expected]
        return [Mistake(query, passage, reason) for passage, reason in checked if reason]

    async def _mistake(self, passage: ExpectedPassage) -> str | None:
        ids = self._ids(passage.document)
        if not ids:
            return "no such document"
        if len(ids) > 1:
            shown = ", ".join(map(str, ids[:_MAX_IDS_SHOWN])) + (", …" if len(ids) > _MAX_IDS_SHOWN else "")
            return f"{len(ids):,} documents have this title; give the id of one: {shown}"
        if passage.text is not None and passage.text not in await self.text(ids[0]):
            return "the document does not contain this text"
        if passage.end is not None and passage.end > (end := len(await self.text(ids[0]))):
            return f"the text of the document ends at {end:,}"
        return None

    def _ids(self, document: int | str) -> list[int]:
        if isinstance(document, str):
            return self.ids_by_title.get(document, [])
        return [document] if document in self.ids else []

    async def text(self, document_id: int) -> str:
        if document_id not in self.texts:
            self.texts[document_id] = (await self.api.call("GET", f"/api/v1/documents/{document_id}"))["text"]
        return self.texts[document_id]
