"""Texts, queries and vectors for the speed benchmarks. They are the same in every run, and cached on disk.

Chunks are cut from real texts. Further ones are composed of their sentences until there are enough. A smaller corpus is
the beginning of a larger one.
"""

import hashlib
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import sets
from findspot.chunking import cut
from findspot.embedding.offline import OfflineEmbedder
from findspot.words.stopwords import STOP_WORDS

FIXTURES = Path(__file__).parent.parent / "tests" / "fixtures" / "meaning"
SEED = 7
SHORTEST, LONGEST = 310, 800  # characters of a chunk; Findspot joins shorter paragraphs of a document
OF_A_KIND = 60  # queries of each kind
VERSION = 2  # increase this to invalidate cached corpora

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]{4,}")
_WORD = re.compile(r"[a-z]{3,20}")

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The files of a corpus, which other processes read too."""

    texts: Path  # one JSON string per line
    vectors: Path
    queries: Path  # a JSON list
    query_vectors: Path

    def asked(self) -> list[str]:
        found: list[str] = json.loads(self.queries.read_text(encoding="utf-8"))
        return found

    def cosines(self, count: int) -> Matrix:
        """Return the cosines of every query with each of the first `count` chunks."""
        vectors: Matrix = np.load(self.vectors, mmap_mode="r")[:count]
        found: Matrix = np.load(self.query_vectors) @ vectors.T
        return found


def corpus(data: Path | None, count: int) -> Corpus:
    """Return the cached corpus, or make it."""
    embedder = OfflineEmbedder()
    files = sorted(source_files(data))
    facts = [VERSION, count, SEED, embedder.fingerprint, [[file.name, file.stat().st_size] for file in files]]
    name = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / "findspot-bench" / name
    if not folder.exists():
        print(f"  making {count:,} chunks and their vectors, cached in {folder}")
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        _make(unfinished, files, count, embedder)
        unfinished.rename(folder)
    return Corpus(*(folder / each for each in ("texts.jsonl", "vectors.npy", "queries.json", "queries.npy")))


def _make(folder: Path, files: Sequence[Path], count: int, embedder: OfflineEmbedder) -> None:
    chooser = random.Random(SEED)
    texts = _texts(files, count, chooser)
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
    queries = queries_of(files, texts[:50_000], chooser)
    (folder / "queries.json").write_text(json.dumps(queries, ensure_ascii=False), encoding="utf-8")
    np.save(folder / "queries.npy", np.stack([embedder.query(query) for query in queries]))
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (count, embedder.dimension))
    for start in range(0, count, 2048):
        vectors[start : start + 2048] = embedder.documents(texts[start : start + 2048])
    vectors.flush()


def source_files(data: Path | None) -> Iterator[Path]:
    if data is None:
        yield from FIXTURES.glob("*.txt")
    else:
        for pattern in ("*/corpus.jsonl", "*/queries.jsonl", "json/*.json"):
            yield from data.glob(pattern)


def _texts(files: Sequence[Path], count: int, chooser: random.Random) -> list[str]:
    """Return real chunks and composed ones, all different, in random order."""
    pieces = real_pieces(files)
    chooser.shuffle(pieces)
    parts = sentences(pieces)
    found = dict.fromkeys(long_enough(pieces)[:count])
    while len(found) < count:
        found.setdefault(spliced(parts, chooser))
    texts = list(found)
    chooser.shuffle(texts)
    return texts


def real_pieces(files: Sequence[Path]) -> list[str]:
    """Return the different pieces of texts, in order. Each is one line, so that it is one paragraph."""
    found: dict[str, None] = {}
    for text in _sources(files):
        for each in cut(text, LONGEST, 0):
            piece = " ".join(text[each.start : each.end].split())
            if len(piece) > 30:
                found.setdefault(piece)
    return list(found)


def long_enough(pieces: Sequence[str]) -> list[str]:
    """Return the pieces that are chunks of their own."""
    return [piece for piece in pieces if len(piece) >= SHORTEST]


def sentences(pieces: Sequence[str]) -> list[list[str]]:
    return [[each for each in _SENTENCE.split(piece) if each] for piece in pieces]


def spliced(parts: Sequence[Sequence[str]], chooser: random.Random) -> str:
    """Return a text of 310 to 800 characters: runs of one to four sentences from random pieces."""
    wanted, text = chooser.randint(SHORTEST + 1, LONGEST), ""
    while len(text) < wanted:
        some = chooser.choice(parts)
        first = chooser.randrange(len(some))
        text = f"{text} {' '.join(some[first : first + chooser.randint(1, 4)])}"
    return text[:LONGEST].strip()


def _sources(files: Sequence[Path]) -> Iterator[str]:
    for file in files:
        if file.suffix in (".txt", ".md"):
            yield from file.read_text(encoding="utf-8").splitlines()
        elif file.name == "corpus.jsonl":
            yield from (f"{row.get('title') or ''}\n\n{row['text']}" for row in sets.lines(file))
        elif file.suffix == ".json":
            yield from (text for text in _strings(json.loads(file.read_text(encoding="utf-8"))) if len(text) > 40)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def queries_of(files: Sequence[Path], texts: Sequence[str], chooser: random.Random) -> list[str]:
    """Return queries in random order, the same number of each kind: common words, rare words, questions, Chinese, and
    both languages."""
    counts = Counter(word for text in texts for word in set(_WORD.findall(text.lower())) if word not in STOP_WORDS)
    common = [word for word, _ in counts.most_common(300)]
    rare = sorted(word for word, number in counts.items() if 2 <= number <= 10)
    english, chinese = _questions(files, texts, chooser)
    runs: list[str] = [run for text in texts[:5000] for run in _HAN_RUN.findall(text)]

    def words(choices: Sequence[str], most: int) -> str:
        return " ".join(chooser.sample(choices, chooser.randint(1, most)))

    def snippet() -> str:
        run = chooser.choice(runs)
        first = chooser.randrange(len(run) - 3)
        return run[first : first + chooser.randint(2, 4)]

    kinds: tuple[Callable[[], str], ...] = (
        lambda: words(common, 3),
        lambda: words(rare, 2),
        lambda: chooser.choice(english),
        lambda: chooser.choice(chinese) if chooser.random() < 0.5 else snippet(),
        lambda: f"{words(common, 2)} {snippet()}",
    )
    found: dict[str, None] = {}
    for kind in kinds:
        before = len(found)
        while len(found) < before + OF_A_KIND:
            found.setdefault(kind())
    queries = list(found)
    chooser.shuffle(queries)
    return queries


def _questions(files: Sequence[Path], texts: Sequence[str], chooser: random.Random) -> tuple[list[str], list[str]]:
    """Return English and Chinese questions: those of the sets or, without sets, the beginnings of sentences."""
    asked = [row["text"][:200] for file in files if file.name == "queries.jsonl" for row in sets.lines(file)]
    if not asked:
        some = [chooser.choice(_SENTENCE.split(text)) for text in texts[:5000]]
        asked = [each[:24] if _HAN.search(each) else " ".join(each.split()[:10]) for each in some]
        asked = [each for each in asked if len(each) > 5]
    return [each for each in asked if not _HAN.search(each)], [each for each in asked if _HAN.search(each)]
