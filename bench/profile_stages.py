"""Which stage of a request a sampled stack belongs to.

The innermost frame that a rule names decides. Modules that several stages use, such as the analyser of words, have no
rule, so that their time counts for the stage that called them. The same holds for cutting texts into segments.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FRAMEWORK = "HTTP and framework"
ACCESS = "admission and access"
MCP = "MCP SDK"
THREADS = "event loop and threads"
SQL = "SQL: statements and connections"
DRIVER = "SQL: driver"
ROWS = "rows to values"
WORDS = "query and correction"
EMBEDDING = "embedding"
KEYWORD = "keyword leg"
VECTOR = "vector leg"
ENGINE = "legs together"
RANKING = "ranking"
LOOK = "closer look"
FOLDING = "folding"
SNIPPETS = "snippets"
ENCODING = "encoding"
INDEXING = "indexing"
CONTENT = "content"
OTHER = "other"

# A part of a file's path, and optionally a class or function in it. The first rule that fits a frame counts.
_RULES: tuple[tuple[str, str, str], ...] = (
    ("sqlalchemy/engine/default.py", "do_execute", DRIVER),
    ("sqlalchemy/engine/default.py", "do_executemany", DRIVER),
    ("findspot/store/driver.py", "rows", DRIVER),
    ("findspot/store/database.py", "_begin_snapshot", DRIVER),
    ("findspot/store/database.py", "_end_snapshot", DRIVER),
    ("aiosqlite/", "", DRIVER),
    ("sqlalchemy/", "", SQL),
    ("greenlet", "", SQL),
    ("findspot/store/chunks.py", "", ROWS),
    ("findspot/store/document_lines.py", "", ROWS),
    ("findspot/context.py", "", ROWS),
    ("findspot/search/hit_rows.py", "", ROWS),
    ("findspot/store/", "", SQL),
    ("findspot/engines/embedded/keyword", "", KEYWORD),
    ("findspot/engines/embedded/location_tokens.py", "", KEYWORD),
    ("findspot/engines/embedded/scan.py", "", VECTOR),
    ("findspot/engines/embedded/codes.py", "", VECTOR),
    ("findspot/engines/embedded/kernels.py", "", VECTOR),
    ("findspot/engines/", "", ENGINE),
    ("findspot/embedding/word_table.py", "", LOOK),
    ("findspot/search/segments.py", "", LOOK),
    ("findspot/search/looks.py", "", LOOK),
    ("findspot/embedding/offline.py", "OfflineEmbedder", EMBEDDING),
    ("findspot/embedding/calibration.py", "", RANKING),
    ("findspot/runtime/embeddings.py", "", EMBEDDING),
    ("findspot/words/likeness.py", "", FOLDING),
    ("findspot/search/folding.py", "", FOLDING),
    ("findspot/search/listing.py", "", FOLDING),
    ("findspot/search/snippets.py", "", SNIPPETS),
    ("findspot/search/results.py", "", SNIPPETS),
    ("findspot/search/relocation.py", "", SNIPPETS),
    ("findspot/sources/lines.py", "", SNIPPETS),
    ("findspot/search/correction.py", "", WORDS),
    ("findspot/search/request.py", "", WORDS),
    ("findspot/search/recall.py", "", WORDS),
    ("findspot/ranking/", "", RANKING),
    ("findspot/search/", "", RANKING),
    ("findspot/surfaces/http/admission.py", "__call__", ACCESS),
    ("findspot/surfaces/http/guard.py", "", ACCESS),
    ("findspot/surfaces/http/origins.py", "", ACCESS),
    ("findspot/surfaces/access.py", "", ACCESS),
    ("findspot/content/keys.py", "", ACCESS),
    ("findspot/agents/endpoints.py", "", ACCESS),
    ("findspot/surfaces/http/workspace.py", "", ENCODING),
    ("findspot/surfaces/http/encoding.py", "", ENCODING),
    ("findspot/surfaces/mcp/answers.py", "", ENCODING),
    ("findspot/agents/", "", ENCODING),
    ("findspot/tokens/", "", ENCODING),
    ("findspot/indexing/status.py", "", RANKING),
    ("findspot/indexing/", "", INDEXING),
    ("findspot/content/", "", CONTENT),
    ("findspot/sources/", "", CONTENT),
    ("findspot/surfaces/mcp/", "", MCP),
    ("/mcp/", "", MCP),
    ("/mcp_types/", "", MCP),
    ("/sse_starlette/", "", MCP),
    ("/anyio/", "", MCP),
    ("findspot/surfaces/http/", "", FRAMEWORK),
    ("findspot/server/", "", FRAMEWORK),
    ("/starlette/", "", FRAMEWORK),
    ("/fastapi/", "", FRAMEWORK),
    ("/uvicorn/", "", FRAMEWORK),
    ("/structlog/", "", FRAMEWORK),
    ("/prometheus_client/", "", FRAMEWORK),
    ("findspot/runtime/", "", THREADS),
    ("/asyncio/", "", THREADS),
    ("concurrent/futures/", "", THREADS),
    ("/threading.py", "", THREADS),
)

# Innermost frames of threads that wait: the last holder of Python's lock counts as its holder until another takes it.
_WAITING = (
    ("concurrent/futures/thread.py", "_worker"),
    ("concurrent/futures/thread.py", "submit"),
    ("asyncio/runners.py", "run"),
    ("asyncio/futures.py", "_call_set_state"),
    ("/threading.py", "wait"),
    ("/selectors.py", ""),
    ("multiprocessing/", ""),
    ("/socket.py", ""),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A stack, the outermost frame first, and how often it was seen. A frame is a function and a file."""

    frames: tuple[tuple[str, str], ...]
    count: int


def read(raw: str) -> list[Sample]:
    """Return the samples of threads that work, from the raw format of py-spy: `function (file:line);… count`."""
    samples = []
    for line in raw.splitlines():
        stack, _, count = line.rpartition(" ")
        samples.append(Sample(tuple(map(_frame, stack.split(";"))), int(count)))
    return [each for each in samples if not _fits(*each.frames[-1], _WAITING)]


def _frame(text: str) -> tuple[str, str]:
    function, _, place = text.partition(" (")
    return function, place.rpartition(":")[0]


def stage(sample: Sample) -> str:
    """Return the stage of a stack."""
    for function, file in reversed(sample.frames):
        for path, name, found in _RULES:
            if _fits(function, file, [(path, name)]):
                return found
    return OTHER


def _fits(function: str, file: str, places: Sequence[tuple[str, str]]) -> bool:
    """Return whether a frame is in one of these places: a part of a path, and a class or function or "" for any."""
    return any(path in file and (not name or name in function.split(".")) for path, name in places)


def shares(samples: Iterable[Sample]) -> Mapping[str, float]:
    """Return which share of the samples each stage has, the largest first."""
    counts = Counter[str]()
    for each in samples:
        counts[stage(each)] += each.count
    total = counts.total() or 1
    return {name: count / total for name, count in counts.most_common()}
