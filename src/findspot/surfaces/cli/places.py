"""The places that a file of queries expects: is each of them there? A mistake in the file is no fault of the search."""

from dataclasses import dataclass, field
from typing import Self

from findspot.surfaces.cli.connect import Api
from findspot.surfaces.cli.questions import Expected, Question

_MOST_NAMED = 5  # documents of one title


@dataclass(frozen=True, slots=True)
class Mistake:
    """A place that cannot be found, because it is not there or could be any of several."""

    question: Question
    place: Expected
    said: str


@dataclass(frozen=True, slots=True)
class Places:
    """The documents of a project, by id and title; their texts are read when they are needed, and once."""

    api: Api
    ids: frozenset[int]
    titled: dict[str, list[int]]
    texts: dict[int, str] = field(default_factory=dict)

    @classmethod
    async def of(cls, api: Api, project_id: int) -> Self:
        known = (await api.call("GET", f"/api/v1/projects/{project_id}/documents"))["documents"]
        titled: dict[str, list[int]] = {}
        for each in known:
            titled.setdefault(each["title"], []).append(each["id"])
        return cls(api, frozenset(each["id"] for each in known), titled)

    async def mistakes(self, question: Question) -> list[Mistake]:
        found = [(place, await self._mistake(place)) for place in question.expected]
        return [Mistake(question, place, said) for place, said in found if said]

    async def _mistake(self, place: Expected) -> str | None:
        meant = self._meant(place.document)
        if not meant:
            return "no such document"
        if len(meant) > 1:
            named = ", ".join(map(str, meant[:_MOST_NAMED])) + (", …" if len(meant) > _MOST_NAMED else "")
            return f"{len(meant):,} documents have this title; name one by its id: {named}"
        if place.text is not None and place.text not in await self.text(meant[0]):
            return "this text is not in it"
        if place.end is not None and place.end > (end := len(await self.text(meant[0]))):
            return f"its text ends at {end:,}"
        return None

    def _meant(self, document: int | str) -> list[int]:
        if isinstance(document, str):
            return self.titled.get(document, [])
        return [document] if document in self.ids else []

    async def text(self, document_id: int) -> str:
        if document_id not in self.texts:
            self.texts[document_id] = (await self.api.call("GET", f"/api/v1/documents/{document_id}"))["text"]
        return self.texts[document_id]
