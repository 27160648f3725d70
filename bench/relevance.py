"""`make bench-relevance`: does search find the answers to questions? Keywords, vectors and hybrid, on question sets.

Every way of ranking gets the same 200 + 200 candidates of an exact index, and ranks them with Findspot's own functions.
If a set names the passage that answers, chunks are judged; if it only names documents, documents are. "Tools" and
"workspace" are what Findspot does; the workspace is also measured with paragraphs as chunks, as it cuts documents.
"""

import argparse
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import exact, judged, sets
from bench.report import FOLDER, Figure, Report
from findspot.chunking import cut
from findspot.embedding.offline import OfflineEmbedder
from findspot.embedding.word_table import SegmentRows
from findspot.ranking import workspace
from findspot.ranking.fusion import LOOKED_AT, SEGMENT_LENGTH, Weights, convex, rescore, rrf
from findspot.ranking.scores import Leg, Look, Ranked, keyword_leg, vector_leg
from findspot.ranking.workspace import HYBRID, Origin

CANDIDATES = 200
WEIGHTS = (0.1, 0.25, 0.4, 0.6)
NEAR = 0.008  # tolerance of tools below the better leg
GAIN = 0.025  # least average gain of tools over the better leg
WORKSPACE_NEAR = 0.005  # tolerance of the workspace below keywords
REACH = 0.01  # tolerance below a known baseline
TOOLS, WORKSPACE = "tools", "workspace"
NOW = datetime(2026, 1, 1, tzinfo=UTC)

KEYWORDS = "Keywords against known BM25 baselines, nDCG@10"

Metrics = dict[str, float]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: its answers, and the candidates of each leg."""

    answers: frozenset[int]  # numbers of chunks, or of documents
    keyword: Leg[int]
    vector: Leg[int]
    look: Callable[[Sequence[int]], dict[int, Look]]  # compares chunks with the question, segment by segment


@dataclass(frozen=True, slots=True)
class Measured:
    name: str
    unit: list[int]  # the number that each chunk is judged by: its own, or that of its document
    document: list[int]  # the number of each chunk's document
    asked: list[Asked]


def run(data: Path, most: int | None = None) -> Report:
    asked = f"\nAt most {most:,} questions of a set were asked.\n" if most else ""
    report = Report("relevance", "Relevance", f"{__doc__}{asked}")
    embedder = OfflineEmbedder()
    ways = _ways(embedder)
    table: dict[str, dict[str, Metrics]] = {}
    paragraphs: dict[str, dict[str, Metrics]] = {}
    for name in sets.names(data):
        found = sets.load(data / name, most=most)
        measured = _measure(found, embedder)
        table[name] = {way: _metrics(measured, rank) for way, rank in ways.items()}
        paragraphs[name] = _by_paragraph(data / name, embedder, most)
        _report_set(report, found, table[name]["keyword"]["nDCG@10"], data / name / "README.md")
    for metric in ("nDCG@10", "recall@10", "recall@200", "hit@5"):
        report.tables[metric] = {
            way: {name: rows[way][metric] for name, rows in table.items()} for way in next(iter(table.values()))
        }
    report.tables["Paragraphs as chunks, nDCG@10"] = {
        way: {name: rows[way]["nDCG@10"] for name, rows in paragraphs.items()} for way in ("keyword", WORKSPACE)
    }
    report.tables["Judged queries over docs and 300 documents of the sets"] = {
        mode: {"nDCG@10": found["ndcg10"], "recall@10": found["recall10"], "recall@50": found["recall50"]}
        for mode, found in judged.measure(data).items()
    }
    _report_tools(report, table)
    _report_workspace(report, "Workspace over keywords", table)
    _report_workspace(report, "Workspace over keywords, paragraphs as chunks", paragraphs)
    _draw(table, embedder)
    return report


def _by_paragraph(folder: Path, embedder: OfflineEmbedder, most: int | None) -> dict[str, Metrics]:
    measured = _measure(sets.load(folder, sets.paragraphs, most), embedder)
    ways = _ways(embedder)
    return {way: _metrics(measured, ways[way]) for way in ("keyword", WORKSPACE)}


Way = Callable[[Asked, Sequence[int]], list[int]]  # a question and the documents of chunks → ranked chunks


def _ways(embedder: OfflineEmbedder) -> dict[str, Way]:
    """Return every way of ranking, by its name in the table."""
    calibration = embedder.calibration

    def by_rank(asked: Asked, _: Sequence[int], weight: float) -> list[int]:
        return _ids(rrf(asked.keyword, asked.vector, Weights(1 - weight, weight)))

    def by_score(asked: Asked, _: Sequence[int], weight: float, scale: Callable[[Numbers], Numbers]) -> list[int]:
        return _ids(list(convex(asked.keyword, asked.vector, Weights(1 - weight, weight), scale)))

    def by_tools(asked: Asked, documents: Sequence[int]) -> list[int]:
        weights = Weights(1 - embedder.vector_weight, embedder.vector_weight)
        hits = list(convex(asked.keyword, asked.vector, weights, calibration.closenesses))
        looks = asked.look([hit.id for hit in hits[:LOOKED_AT]])
        return _ids(rescore(hits, looks, {hit.id: documents[hit.id] for hit in hits}, calibration.closeness))

    def by_workspace(asked: Asked, documents: Sequence[int], looked_at: int = LOOKED_AT) -> list[int]:
        cosines = asked.vector.all()
        origins = {id: Origin(documents[id], NOW) for id in asked.keyword.all().keys() | cosines.keys()}
        hits = workspace.rank(asked.keyword, asked.vector, calibration.scores, origins, NOW)
        looks = asked.look([hit.id for hit in hits[:looked_at]])
        hits = workspace.look_closer(hits, looks, cosines, calibration.score, origins, HYBRID["vector"])
        return [hit.id for hit in hits]

    ways: dict[str, Way] = {
        "keyword": lambda asked, _: list(asked.keyword.ranks()),
        "vectors": lambda asked, _: list(asked.vector.ranks()),
    }
    ways |= {f"RRF {weight:g}": partial(by_rank, weight=weight) for weight in WEIGHTS}
    by_closeness = partial(by_score, scale=calibration.closenesses)
    ways |= {f"convex {weight:g}": partial(by_closeness, weight=weight) for weight in WEIGHTS}
    ways["convex 0.25, calibrated"] = partial(by_score, weight=0.25, scale=calibration.scores)
    ways["convex 0.25, a scale for each query"] = partial(_by_own_scale, weight=0.25)
    ways["workspace, no closer look"] = partial(by_workspace, looked_at=0)
    return {**ways, WORKSPACE: by_workspace, TOOLS: by_tools}


def _by_own_scale(asked: Asked, _: Sequence[int], weight: float) -> list[int]:
    """Rank by scores scaled per query: the best of each leg is 1, and the last recalled vector is 0."""
    cosines = asked.vector.scores.values()
    most, low, high = max(asked.keyword.scores.values(), default=1.0), min(cosines), max(cosines)

    def score(id: int) -> float:
        meant = ((asked.vector.raw(id) or 0.0) - low) / max(high - low, 1e-9)
        return (1 - weight) * (asked.keyword.raw(id) or 0.0) / most + weight * min(1.0, max(0.0, meant))

    return sorted(asked.keyword.scores.keys() | asked.vector.scores.keys(), key=lambda id: (-score(id), id))


def _ids(hits: Sequence[Ranked[int]]) -> list[int]:
    return [hit.id for hit in hits]


def _measure(found: sets.QuestionSet, embedder: OfflineEmbedder) -> Measured:
    texts = [passage.text for passage in found.passages]
    keywords, vectors = exact.Keywords(texts), embedder.documents(texts)
    numbers = {document: number for number, document in enumerate(found.documents)}
    judged = sets.answering(found) if found.has_places else None
    rows: dict[int, SegmentRows] = {}
    asked = []
    for number, question in enumerate(found.questions):
        answers = judged[number] if judged is not None else {numbers[each] for each in question.documents}
        if not answers:
            continue
        query, bm25 = embedder.query(question.text), keywords.scores(question.text)
        cosines = vectors @ query
        by_words, by_meaning = exact.best(bm25, CANDIDATES, above=0), exact.best(cosines, CANDIDATES)
        asked.append(
            Asked(
                frozenset(answers),
                keyword_leg(
                    by_words, {at: float(bm25[at]) for at in by_meaning if at not in by_words and bm25[at] > 0}
                ),
                vector_leg(by_meaning, {at: float(cosines[at]) for at in by_words if at not in by_meaning}),
                partial(_look, embedder, question.text, texts, rows),
            )
        )
    documents = [numbers[each.document] for each in found.passages]
    return Measured(found.name, list(range(len(texts))) if judged is not None else documents, documents, asked)


def _look(
    embedder: OfflineEmbedder, question: str, texts: Sequence[str], rows: dict[int, SegmentRows], ids: Sequence[int]
) -> dict[int, Look]:
    """Compare a question with chunks as search does. `rows` keeps the rows of chunks."""
    missing = [id for id in ids if id not in rows]
    segments = [[texts[id][each.start : each.end] for each in cut(texts[id], SEGMENT_LENGTH, 0)] for id in missing]
    rows |= zip(missing, embedder.word_table.segment_rows(segments), strict=True)
    found = embedder.word_table.compare(question, embedder.query(question), [rows[id] for id in ids])
    return dict(zip(ids, found, strict=True))


def _metrics(measured: Measured, rank: Way) -> Metrics:
    rows = [
        judge(asked.answers, list(dict.fromkeys(measured.unit[at] for at in rank(asked, measured.document))))
        for asked in measured.asked
    ]
    return {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}


def judge(answers: frozenset[int], order: list[int]) -> Metrics:
    gained = sum(1 / math.log2(place + 2) for place, each in enumerate(order[:10]) if each in answers)
    return {
        "nDCG@10": gained / sum(1 / math.log2(place + 2) for place in range(min(10, len(answers)))),
        "recall@10": len(answers & set(order[:10])) / len(answers),
        "recall@200": len(answers & set(order[:200])) / len(answers),
        "hit@5": float(bool(answers & set(order[:5]))),
    }


def _report_set(report: Report, found: sets.QuestionSet, keyword: float, readme: Path) -> None:
    """Report the keyword leg, with the baselines in the README of the set as bounds."""
    known = _baselines(readme)
    if "chunk" in known:
        report.add(KEYWORDS, Figure(f"{found.name}, chunks", keyword, "", least=round(known["chunk"] - REACH, 4)))
    if "doc" in known:
        whole = _whole_documents(found)
        report.add(KEYWORDS, Figure(f"{found.name}, whole documents", whole, "", least=round(known["doc"] - REACH, 4)))


def _whole_documents(found: sets.QuestionSet) -> float:
    names = list(found.documents)
    keywords = exact.Keywords(list(found.documents.values()))
    rows = []
    for question in found.questions:
        order = list(exact.best(keywords.scores(question.text), 10, above=0))
        answers = frozenset(number for number, name in enumerate(names) if name in question.documents)
        rows.append(judge(answers, order)["nDCG@10"])
    return sum(rows) / len(rows)


def _baselines(readme: Path) -> dict[str, float]:
    """Return the best BM25 results in the README of a set, by level."""
    stated: dict[str, float] = {}
    if readme.exists():
        for level, value in re.findall(r"level=(doc|chunk)\w*, .*?ndcg10=([\d.]+)", readme.read_text(encoding="utf-8")):
            stated[level] = max(stated.get(level, 0.0), float(value))
    return stated


def _report_tools(report: Report, table: dict[str, dict[str, Metrics]]) -> None:
    gains = []
    for name, rows in table.items():
        better = max(rows[leg]["nDCG@10"] for leg in ("keyword", "vectors"))
        gains.append(rows[TOOLS]["nDCG@10"] - better)
        report.add("Tools over the better leg", Figure(name, gains[-1], "", least=-NEAR))
    report.add("Tools over the better leg", Figure("on average", sum(gains) / len(gains), "", least=GAIN))
    mean = sum(rows[TOOLS]["nDCG@10"] for rows in table.values()) / len(table)
    report.add("Tools over the better leg", Figure("mean nDCG@10 of tools", mean, ""))


def _report_workspace(report: Report, section: str, table: dict[str, dict[str, Metrics]]) -> None:
    for name, rows in table.items():
        gain = rows[WORKSPACE]["nDCG@10"] - rows["keyword"]["nDCG@10"]
        report.add(section, Figure(name, gain, "", least=-WORKSPACE_NEAR))


def _draw(table: dict[str, dict[str, Metrics]], embedder: OfflineEmbedder) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "findspot"
    from matplotlib import pyplot as plt

    shown = ["keyword", "vectors", f"convex {embedder.vector_weight:g}", WORKSPACE, TOOLS]
    figure, axes = plt.subplots(figsize=(11, 4.2), layout="constrained")
    for number, way in enumerate(shown):
        positions = [place + (number - 2) * 0.16 for place in range(len(table))]
        axes.bar(positions, [rows[way]["nDCG@10"] for rows in table.values()], width=0.15, label=way)
    axes.set_xticks(range(len(table)), list(table), fontsize=8)
    axes.set(ylabel="nDCG@10", ylim=(0.3, 1.0), title="The same candidates, ranked in several ways")
    axes.legend(fontsize=8, ncols=3)
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / "relevance.svg", metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-relevance", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with a folder for each set")
    parser.add_argument("--questions", type=int, help="how many of a set are asked at most; all by default")
    arguments = parser.parse_args()
    report = run(arguments.data, arguments.questions)
    report.write("relevance.svg")
    return 0 if report.holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
