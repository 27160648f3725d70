"""Which stage of a request a sampled stack belongs to.

The innermost frame that a rule names decides. Modules that several stages use, such as the analyser of words, have no
rule, so that their time counts for the stage that called them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
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

# A part of a file's path, and optionally a function in it. The first rule that fits a frame counts.
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
    ("findspot/embedding/", "", EMBEDDING),
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
    ("findspot/chunking/", "", INDEXING),
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

# Innermost frames of threads that wait. py-spy takes some of them for busy when the machine is busy with other work.
_WAITING = (
    ("concurrent/futures/thread.py", "_worker"),
    ("concurrent/futures/thread.py", "ThreadPoolExecutor.submit"),
    ("asyncio/runners.py", "Runner.run"),
    ("asyncio/futures.py", "_chain_future.<locals>._call_set_state"),
    ("/threading.py", "Condition.wait"),
    ("/threading.py", "Event.wait"),
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
    return [each for each in samples if not _waits(*each.frames[-1])]


def _frame(text: str) -> tuple[str, str]:
    function, _, place = text.partition(" (")
    return function, place.rpartition(":")[0]


def _waits(function: str, file: str) -> bool:
    return any(path in file and name in ("", function) for path, name in _WAITING)


def stage(sample: Sample) -> str:
    """Return the stage of a stack."""
    for function, file in reversed(sample.frames):
        for path, name, found in _RULES:
            if path in file and (not name or name == function):
                return found
    return OTHER


def shares(samples: Iterable[Sample]) -> Mapping[str, float]:
    """Return which share of the samples each stage has, the largest first."""
    counts = Counter[str]()
    for each in samples:
        counts[stage(each)] += each.count
    total = counts.total() or 1
    return {name: count / total for name, count in counts.most_common()}
