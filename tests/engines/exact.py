"""Reference engine: keeps everything in memory and compares every chunk, so it is short, slow and exact."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from findspot.engines.protocol import (
    EVERYTHING,
    HEADINGS_WEIGHT,
    NAME_WEIGHT,
    TITLE_WEIGHT,
    Abandoned,
    Batch,
    ContextTerms,
    DimensionMismatch,
    Recall,
    Source,
    Status,
    Stop,
    Vector,
    Within,
    Words,
)
from findspot.pointer import holds

K1, B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Chunk:
    source: Source
    terms: tuple[str, ...]
    context: ContextTerms
    vector: Vector
    evicted: bool = False


@dataclass
class Kept:
    fingerprint: str
    dimension: int
    chunks: dict[int, Chunk] = field(default_factory=dict)

    def put(self, batch: Batch, fingerprint: str) -> None:
        known = fingerprint == self.fingerprint
        for position, id in enumerate(batch.ids):
            kept = batch.vectors[position].copy() if known else np.zeros(self.dimension, np.float32)
            terms = tuple(batch.terms[position].split())
            self.chunks[id] = Chunk(batch.sources[position], terms, batch.context(position), kept)


class ExactBuild:
    def __init__(self, engine: ExactEngine, namespace: str, kept: Kept) -> None:
        self._engine, self._namespace, self.kept = engine, namespace, kept
        self.newer: set[int] = set()

    def write(self, batch: Batch) -> None:
        self._check()
        before = {id: self.kept.chunks.get(id) for id in self.newer}
        self.kept.put(batch, self.kept.fingerprint)
        for id, chunk in before.items():
            if chunk is None:
                self.kept.chunks.pop(id, None)
            else:
                self.kept.chunks[id] = chunk

    def switch(self) -> None:
        self._check()
        self._engine.kept[self._namespace] = self._engine.builds.pop(self._namespace).kept

    def abandon(self) -> None:
        if self._engine.builds.get(self._namespace) is self:
            del self._engine.builds[self._namespace]

    def _check(self) -> None:
        if self._engine.builds.get(self._namespace) is not self:
            raise Abandoned


class ExactEngine:
    """Implements Engine and, although it has no files, LocalFiles, so that the embedded engine can be compared."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self.builds: dict[str, ExactBuild] = {}

    @property
    def files(self) -> ExactEngine:
        return self

    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        build, dimension = self.builds.get(namespace), batch.vectors.shape[1]
        target = build.kept if build else self.kept.get(namespace)
        if target and (target.fingerprint, target.dimension) != (fingerprint, dimension):
            raise ValueError(fingerprint)
        self.kept.setdefault(namespace, Kept(fingerprint, dimension)).put(batch, fingerprint)
        if build:
            build.kept.put(batch, fingerprint)
            build.newer.update(batch.ids)

    def delete(self, namespace: str, ids: Sequence[int], *, fence: int = 0) -> None:
        build = self.builds.get(namespace)
        for kept in [self._at(namespace), *([build.kept] if build else [])]:
            for id in ids:
                kept.chunks.pop(id, None)
        if build:
            build.newer.update(ids)

    def recall(
        self,
        namespace: str,
        words: Words | None,
        vector: Vector | None,
        *,
        limit: int,
        within: Within = EVERYTHING,
        also: Sequence[int] = (),
        stop: Stop = lambda: None,
        count_to: int = 0,
        timeout_s: float | None = None,
    ) -> Recall:
        stop()
        kept = self._at(namespace)
        if vector is not None and kept.fingerprint and len(vector) != kept.dimension:
            raise DimensionMismatch(namespace)
        chunks = kept.chunks
        seen = {id for id, chunk in chunks.items() if sees(within, chunk.source)}
        scores = _scores(chunks, words) if words else {}
        cosines = {} if vector is None else _cosines(chunks, vector)
        full = {id for id in scores if words and _is_full_match(chunks[id], words)} & seen
        first = _top({id: scores[id] for id in full}, seen, limit)
        keyword = dict(list((first | _top(scores, seen, limit)).items())[:limit])
        near = _top(cosines, seen, limit)
        return Recall(
            keyword,
            near,
            {id: scores[id] for id in (*near, *also) if id in scores and id not in keyword},
            {id: cosines[id] for id in (*keyword, *also) if id in cosines and id not in near},
            full & (keyword.keys() | near.keys()),
            0 < limit == len(first),
            {id: of for id in keyword.keys() | near.keys() if (of := chunks[id].source.document_id) is not None},
            namespace in self.kept,
        )

    def count(self, namespace: str, words: Words | None, within: Within = EVERYTHING) -> int:
        if words is None:
            chunks = self._at(namespace).chunks.values()
            return sum(bool(chunk.vector.any()) and sees(within, chunk.source) for chunk in chunks)
        return len(self.recall(namespace, words, None, limit=1 << 30, within=within).keyword)

    def frequencies(self, namespace: str, terms: Sequence[str], *, prefix: str | None = None) -> dict[str, int]:
        found: dict[str, int] = {}
        chunks = self._at(namespace).chunks.values()
        for texts in (
            [chunk.terms for chunk in chunks],
            *([getattr(chunk.context, name).split() for chunk in chunks] for name in ("title", "headings")),
        ):
            for term, count in Counter(term for each in texts for term in set(each)).items():
                if term in terms or (prefix is not None and term.startswith(prefix)):
                    found[term] = max(count, found.get(term, 0))
        return found

    def build(self, namespace: str, fingerprint: str, dimension: int) -> ExactBuild:
        self.builds[namespace] = ExactBuild(self, namespace, Kept(fingerprint, dimension))
        return self.builds[namespace]

    def prepare(self) -> None: ...

    def warm(self, namespace: str) -> None: ...

    def cancel(self) -> None: ...

    def sweep(self) -> None: ...

    def kind(self, namespace: str) -> tuple[str, int]:
        return self._at(namespace).fingerprint, self._at(namespace).dimension

    def verify(self, namespace: str) -> None:
        """Do nothing: there are no files."""

    def ids(self, namespace: str) -> npt.NDArray[np.int64]:
        return np.array(sorted(self._at(namespace).chunks), np.int64)

    def doc_ids(self, namespace: str) -> None:
        """Return None: chunks are known by our ids alone."""

    def evict(self, namespace: str, ids: Sequence[int]) -> None:
        chunks = self._at(namespace).chunks
        for id in ids:
            if id in chunks and chunks[id].vector.any():
                chunks[id] = replace(chunks[id], vector=np.zeros_like(chunks[id].vector), evicted=True)

    def vector_ids(self, namespace: str) -> npt.NDArray[np.int64]:
        chunks = self._at(namespace).chunks
        return np.array(sorted(id for id, chunk in chunks.items() if chunk.vector.any()), np.int64)

    def status(self, namespace: str) -> Status:
        kept = self._at(namespace)
        vectors = [chunk.vector for chunk in kept.chunks.values()]
        known = sum(bool(vector.any()) for vector in vectors)
        evicted = sum(chunk.evicted for chunk in kept.chunks.values())
        return Status(len(vectors), known, sum(map(len, vectors)), kept.fingerprint, kept.dimension, evicted)

    def namespaces(self, project_id: int) -> list[str]:
        return sorted(name for name in self.kept if name.startswith(f"project_{project_id}_"))

    def drop(self, namespace: str, *, fence: int = 0) -> None:
        self.kept.pop(namespace, None)
        self.builds.pop(namespace, None)

    def close(self) -> None:
        pass

    def _at(self, namespace: str) -> Kept:
        return self.kept.get(namespace, Kept("", 0))


def sees(within: Within, source: Source) -> bool:
    return (
        holds(within.pointer, source.pointer)
        and within.cut in (None, (source.chunk_size, source.chunk_overlap))
        and source.length >= within.least_length
        and (within.document_ids is None or source.document_id in within.document_ids)
    )


def _scores(chunks: Mapping[int, Chunk], words: Words) -> dict[int, float]:
    """BM25 of texts, the bonus of names, and the contexts of what matches."""
    texts = {id: chunk.terms for id, chunk in chunks.items()}
    scores = bm25(texts, words)
    if not words.all_of:
        terms = [[term] for term in words.named]
        names = {id: set(chunk.context.name.split()) for id, chunk in chunks.items()}
        if words.prefix:
            terms.append([term for term in set().union(*names.values()) if _completes(term, words)])
        for id, name in names.items():
            if terms and all(name & set(each) for each in terms) and not set(words.none_of) & set(texts[id]):
                scores[id] = scores.get(id, 0.0) + NAME_WEIGHT * sum(_idf(texts, each) for each in terms)
    plain = Words(any_of=tuple(dict.fromkeys((*words.any_of, *words.all_of))))
    for field_name, weight in (("title", TITLE_WEIGHT), ("headings", HEADINGS_WEIGHT)):
        fields = {id: getattr(chunk.context, field_name).split() for id, chunk in chunks.items()}
        for id, score in bm25(fields, plain).items():
            if id in scores:
                scores[id] += weight * score
    return scores


def _idf(texts: Mapping[int, Sequence[str]], terms: Sequence[str]) -> float:
    holding = sum(term in found for found in map(set, texts.values()) for term in terms)
    everything = max(len(texts), holding)
    return math.log(1 + (everything - holding + 0.5) / (holding + 0.5))


def bm25(texts: Mapping[int, Sequence[str]], words: Words) -> dict[int, float]:
    """Textbook BM25. A prefix counts as one term, as frequent in a text as its most frequent completion there."""
    counts = {id: Counter(terms) for id, terms in texts.items()}
    lengths = {id: len(terms) for id, terms in texts.items()}
    mean = sum(lengths.values()) / max(len(lengths), 1)
    scores: Counter[int] = Counter()
    for term in dict.fromkeys([*words.any_of, *words.all_of]):
        best: dict[int, float] = {}
        for spelling in _spellings(term, words):
            frequencies = {id: count[spelling] for id, count in counts.items() if spelling in count}
            for id, score in _weigh(frequencies, len(frequencies), lengths, mean).items():
                best[id] = max(score, best.get(id, 0.0))
        scores.update(best)
    if words.prefix:
        found = {id: [n for term, n in count.items() if _completes(term, words)] for id, count in counts.items()}
        frequencies = {id: max(each) for id, each in found.items() if each}
        scores.update(_weigh(frequencies, sum(map(len, found.values())), lengths, mean))
    allowed = {
        id
        for id, count in counts.items()
        if _has_all(count.keys(), words.all_of, words) and count.keys().isdisjoint(words.none_of)
    }
    return {id: score for id, score in scores.items() if id in allowed}


def _spellings(term: str, words: Words) -> set[str]:
    return {term, *dict(words.variants).get(term, ())}


def _has_all(terms: Set[str], wanted: Sequence[str], words: Words) -> bool:
    return all(not terms.isdisjoint(_spellings(term, words)) for term in wanted)


def _completes(term: str, words: Words) -> bool:
    return term in words.stems or (words.prefix is not None and term.startswith(words.prefix))


def _weigh(frequencies: Mapping[int, int], holding: int, lengths: Mapping[int, int], mean: float) -> dict[int, float]:
    everything = max(len(lengths), holding)
    weight = math.log(1 + (everything - holding + 0.5) / (holding + 0.5))
    return {id: weight * n * (K1 + 1) / (n + K1 * (1 - B + B * lengths[id] / mean)) for id, n in frequencies.items()}


def _is_full_match(chunk: Chunk, words: Words) -> bool:
    terms = {*chunk.terms, *chunk.context.name.split()}
    typed = {*words.stems, *words.typed}
    completed = any(term in typed or term.startswith(words.prefix) for term in terms) if words.prefix else True
    return bool(words.full_match) and completed and _has_all(terms, words.full_match, words)


def _cosines(chunks: Mapping[int, Chunk], vector: Vector) -> dict[int, float]:
    lengths = {id: float(np.linalg.norm(chunk.vector) * np.linalg.norm(vector)) for id, chunk in chunks.items()}
    return {id: float(chunks[id].vector @ vector) / length for id, length in lengths.items() if length > 0}


def _top(scores: Mapping[int, float], seen: set[int], limit: int) -> dict[int, float]:
    ranked = sorted(((id, score) for id, score in scores.items() if id in seen), key=lambda each: (-each[1], each[0]))
    return dict(ranked[:limit])
