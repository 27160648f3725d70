"""The offline embedder: start-up time, memory, and chunks per second."""

import asyncio
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.report import Figure, Report, percentile
from findspot.embedding.offline import MODEL, OfflineEmbedder
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.threads import Threads
from findspot.server.api_process import tune_process
from findspot.store.database import Store

CHUNK = 800
CHUNKS = 4000
ENOUGH = 3500
MEANING = Path(__file__).parent.parent / "tests" / "fixtures" / "meaning"

_READY = """
import re, time
from pathlib import Path
started = time.perf_counter()
from findspot.embedding.offline import OfflineEmbedder
embedder = OfflineEmbedder()
embedder.query("ready 了吗")
embedder.fingerprint
print(time.perf_counter() - started)
for at in range(0, 100_000, 1000):
    embedder.documents([chr(0x4E00 + n % 20000) * 3 + f" word{n}" for n in range(at, at + 1000)])
print(re.search("VmHWM:\\\\s+(\\\\d+)", Path("/proc/self/status").read_text())[1])
"""


def run() -> Report:
    report = Report(
        "embedding",
        "The offline embedder",
        f"`make bench` embeds {CHUNKS:,} chunks of {CHUNK} characters: sentences in random order, with words of all "
        "the vocabulary between them. Memory is the peak of a process that embedded 100,000 short texts of new words.",
    )
    times, memory = zip(*(_ready() for _ in range(5)), strict=True)
    report.add("Ready", Figure("start to first vector, median of 5", sorted(times)[2] * 1000, "ms", 1000))
    report.add("Ready", Figure("memory of the process", max(memory) / 1024, "MB", 250))
    tune_process()  # as the server does; it changes the cost of memory
    embedder = OfflineEmbedder()
    for name, chunks in corpora().items():
        speed = max(_speed(embedder, chunks[at::3]) for at in range(3))
        report.add("Chunks a second, best of 3", Figure(name, speed, "chunks/s", least=ENOUGH))
    questions = corpora()["English"][:500]
    waits = [_timed(partial(embedder.query, text[:60])) for text in questions]
    report.add("Queries", Figure("one query, median", percentile(waits, 0.5) * 1000, "ms"))
    for what, seconds in asyncio.run(_loop(embedder, corpora()["mixed"])).items():
        report.add("The event loop while 4,000 chunks are embedded and stored", Figure(what, seconds * 1000, "ms", 10))
    return report


def _ready() -> tuple[float, float]:
    ended = subprocess.run([sys.executable, "-c", _READY], capture_output=True, text=True, check=True)
    seconds, kilobytes = ended.stdout.split()
    return float(seconds), float(kilobytes)


def corpora() -> dict[str, list[str]]:
    """Return English, Chinese and mixed chunks, the same number of each."""
    chooser = random.Random(5)
    sentences = {
        name: (MEANING / f"others.{name}.txt").read_text(encoding="utf-8").splitlines() for name in ("en", "zh")
    }
    vocabulary = {"en": _words(), "zh": [chr(point) for point in range(0x4E00, 0x9FA6)]}
    found = {}
    for name, languages in (("English", ("en",)), ("Chinese", ("zh",)), ("mixed", ("en", "zh"))):
        text: list[str] = []
        size = 0
        while size < CHUNKS * CHUNK:
            language = chooser.choice(languages)
            new = (" " if language == "en" else "").join(chooser.choices(vocabulary[language], k=2))
            text.append(f"{chooser.choice(sentences[language])} {new} ")
            size += len(text[-1])
        whole = "".join(text)
        found[name] = [whole[at * CHUNK : (at + 1) * CHUNK] for at in range(CHUNKS)]
    return found


def _words() -> list[str]:
    pieces = re.findall(r'"(##)?([a-z]{2,})":', (MODEL / "en_tokenizer.json").read_text(encoding="utf-8"))
    return [piece for _, piece in pieces]


def _speed(embedder: OfflineEmbedder, chunks: list[str]) -> float:
    return len(chunks) / _timed(partial(embedder.documents, chunks))


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


async def _loop(embedder: OfflineEmbedder, chunks: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        store = await Store.open(None, Path(folder) / "findspot.db")
        threads = Threads.open()
        embeddings = Embeddings(store, embedder, threads, 60)
        work = asyncio.create_task(embeddings.documents(chunks))
        waits = []
        while not work.done():
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            waits.append(time.perf_counter() - started - 0.001)
        await work
        await threads.close()
        await store.close()
    return {"a turn of the loop, median": percentile(waits, 0.5), "p99": percentile(waits, 0.99), "longest": max(waits)}
