"""Measures one product in a process of its own.

`python -m bench.peers.measuring` reads the task from standard input, as JSON. It writes each measurement to the file of
the task as soon as it is there, so that a product that fails or takes too long still shows what it did.
"""

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bench import processes
from bench.new_documents import OF_A_DOCUMENT, texts_of
from bench.peers.product import Answer, Chunks, Product, Query, Way

LONGEST_S = 25  # of one round of queries: a slow product gets fewer of them
FEWEST = 10
ROWS = 5000  # in one batch
TOGETHER = 4
TURNS = 10  # documents that are added and deleted
SECTION = 7
PATIENCE_S = 60
NOISE = 0.02  # per dimension, in the vectors of new texts: their cosine to the query at their beginning is about 0.93

Result = dict[str, Any]
Note = Callable[[str, Any], None]


def run(asked: Result) -> None:
    """Build, search, filter, search together, change; or only search, if the task is about relevance."""
    result: Result = {}

    def note(name: str, value: Any) -> None:
        result[name] = value
        file = Path(asked["result"])
        file.with_suffix(".new").write_text(json.dumps(result))
        file.with_suffix(".new").replace(file)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit("It took too long."))  # closes the product
    (_relevance if asked["relevance"] else _speed)(asked, note)


def _opened(asked: Result, files: Result) -> tuple[Product, list[Query]]:
    module, _, name = asked["product"].partition(":")
    kind: Callable[[Path], Product] = getattr(importlib.import_module(f"bench.peers.products.{module}"), name)
    texts = json.loads(Path(files["queries"]).read_text(encoding="utf-8"))
    queries = [Query(*each) for each in zip(texts, np.load(files["query_vectors"]), strict=True)]
    return kind(Path(files["folder"])), queries


def _build(product: Product, files: Result) -> None:
    vectors = np.load(files["vectors"], mmap_mode="r")
    first = 0
    for texts in _batches(Path(files["texts"]), files["count"]):
        product.add(Chunks(first, texts, np.ascontiguousarray(vectors[first : first + len(texts)])))
        first += len(texts)
    product.finish(files["count"])


def _batches(file: Path, count: int) -> Iterator[list[str]]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        texts = map(json.loads, islice(lines, count))
        while some := list(islice(texts, ROWS)):
            yield some


# ── speed ──


def _speed(asked: Result, note: Note) -> None:
    began = time.perf_counter()
    product, queries = _opened(asked, asked)
    with closing(product):
        _build(product, asked)
        note("built_s", time.perf_counter() - began)
        note("built_cpu_s", processes.processor_s([os.getpid(), *product.processes()]))
        note("disk_mb", processes.disk_mb(Path(asked["folder"])))
        ways = product.ways()
        nearest = ways.pop("nearest", None)
        times: dict[str, list[float]] = {}
        for name, way in ways.items():
            for query in queries[-5:]:
                way(query)
            times[name], found = _round(way, queries)
            note("times", times)
            if name == "vector":
                note("found", found if nearest is None else [nearest(query) for query in queries])
        filtered = [Query(query.text, query.vector, SECTION) for query in queries]
        for query in filtered[-5:]:
            ways["vector"](query)
        taken, found = _round(ways["vector"], filtered)
        note("filtered", {"times": taken, "found": found if nearest is None else list(map(nearest, filtered))})
        best = "hybrid" if "hybrid" in ways else "vector"
        note("together", {"way": best} | _together(ways[best], queries))
        note("memory_mb", processes.memory_mb([os.getpid(), *product.processes()])[0])
        _change(product, ways, asked["count"], queries, note)


def _round(way: Way, queries: Sequence[Query]) -> tuple[list[float], list[Answer]]:
    """Return milliseconds and answers of the queries, or of as many as fit into the time."""
    times: list[float] = []
    found: list[Answer] = []
    until = time.perf_counter() + LONGEST_S
    for query in queries:
        began = time.perf_counter()
        found.append(way(query))
        times.append((time.perf_counter() - began) * 1000)
        if time.perf_counter() > until and len(times) >= FEWEST:
            break
    return times, found


def _together(way: Way, queries: Sequence[Query]) -> Result:
    """Search from four threads. Return the milliseconds of each search, and the searches per second."""
    times: list[float] = []
    failures: list[BaseException] = []
    waiting, lock = iter(queries), threading.Lock()
    began = time.perf_counter()
    until = began + LONGEST_S

    def ask() -> None:
        try:
            while time.perf_counter() < until:
                with lock:
                    query = next(waiting, None)
                if query is None:
                    return
                started = time.perf_counter()
                way(query)
                times.append((time.perf_counter() - started) * 1000)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=ask) for _ in range(TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return {"times": times, "rate": len(times) / (time.perf_counter() - began)}


def _change(product: Product, ways: dict[str, Way], count: int, queries: Sequence[Query], note: Note) -> None:
    """Measure the milliseconds until a new document of 20 chunks is found, and until a deleted one is not.

    It is looked for by a word of its own or, without a ranked keyword search, by its vector. The texts consist of
    queries, and their vectors are near those of these queries: an approximate index may never find one that is far from
    all others.
    """
    seen, unseen = [], []
    way = ways.get("keyword", ways["vector"])
    chance = np.random.default_rng(1)
    for turn in range(TURNS):
        first = -(-count // OF_A_DOCUMENT) * OF_A_DOCUMENT + turn * OF_A_DOCUMENT
        word = f"peermark{chr(ord('a') + turn)}"  # letters only: digits may be a second term
        texts = texts_of(word, [query.text for query in queries], turn)
        near = [queries[(turn * OF_A_DOCUMENT + at) % len(queries)].vector for at in range(OF_A_DOCUMENT)]
        vectors = np.stack(near) + chance.normal(scale=NOISE, size=(OF_A_DOCUMENT, len(near[0])))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        chunks = Chunks(first, texts, vectors)
        asked = Query(word, vectors[0])
        began = time.perf_counter()
        product.add(chunks)
        _wait_until(way, asked, chunks.numbers, is_found=True)
        seen.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        product.remove(chunks.numbers)
        _wait_until(way, asked, chunks.numbers, is_found=False)
        unseen.append((time.perf_counter() - began) * 1000)
    note("seen", seen)
    note("unseen", unseen)


def _wait_until(way: Way, asked: Query, numbers: range, *, is_found: bool) -> None:
    """Search every few milliseconds until one of these chunks is found, or none."""
    until = time.perf_counter() + PATIENCE_S
    while any(number in numbers for number in way(asked)) is not is_found:
        if time.perf_counter() > until:
            raise TimeoutError(f"A new document was {'not' if is_found else 'still'} found after {PATIENCE_S} s.")
        time.sleep(0.002)


# ── relevance ──


def _relevance(asked: Result, note: Note) -> None:
    for name, files in asked["sets"].items():
        product, queries = _opened(asked, files)
        with closing(product):
            _build(product, files)
            ways = {way: ask for way, ask in product.ways().items() if way != "nearest"}
            note(name, {way: [ask(query) for query in queries] for way, ask in ways.items()})


if __name__ == "__main__":
    run(json.load(sys.stdin))
