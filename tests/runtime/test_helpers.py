"""Helper processes: same results as in this process, errors that say what happened, and no process left behind."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from findspot.errors import FindspotError
from findspot.indexing.cutting import Cut, Known, TableToCut, cut_table, index_terms
from findspot.jsontext.operations import accept, open_table, patch, put, read
from findspot.runtime import helpers as module
from findspot.runtime import remote_calls
from findspot.runtime.call_limits import CallLimits
from findspot.runtime.helpers import LARGE as LARGE_CALL
from findspot.runtime.helpers import SMALL, Helpers
from findspot.runtime.remote_calls import TOO_MUCH_MEMORY, joined_there
from findspot.runtime.threads import HELPERS

pytestmark = pytest.mark.own_helpers

LIMIT = 100_000_000
PROJECT = 1
LARGE = json.dumps({"世界": ["x" * 100] * 3000, "n": 1}, ensure_ascii=False).encode()  # well past SMALL

Process = subprocess.Popen[bytes]


@pytest.fixture
async def helpers() -> AsyncIterator[Helpers]:
    opened = Helpers()
    yield opened
    await opened.close()


class Started(list[Process]):
    """Every helper process, as it is started. While the gate is shut, a new one is held back; `killed` kills it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.born = threading.Semaphore(0)
        self.killed = False


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    processes = Started()

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            if processes.killed:
                self.kill()
            processes.append(self)
            processes.born.release()
            processes.gate.wait()

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return processes


async def refused(work: Awaitable[object]) -> FindspotError:
    with pytest.raises(FindspotError) as caught:
        await work
    return caught.value


async def test_small_texts_are_handled_in_this_process_and_large_ones_in_a_helper(
    helpers: Helpers, started: Started
) -> None:
    border = b'"' + b"x" * (SMALL - 2) + b'"'
    assert await helpers.run_unless_small(PROJECT, accept, b"[1]", LIMIT) == b"[1]"
    assert await helpers.run_unless_small(PROJECT, accept, border, LIMIT) == border
    assert await helpers.run_unless_small(PROJECT, accept, joined_there([b" [", b"1]"]), LIMIT) == b"[1]"
    assert started == []
    assert await helpers.run_unless_small(PROJECT, accept, border + b" ", LIMIT) == border
    assert await helpers.run_unless_small(PROJECT, accept, joined_there([border, b" "]), LIMIT) == border
    assert len(started) == 1


async def test_a_helper_returns_and_raises_exactly_what_this_process_does(helpers: Helpers) -> None:
    calls: list[tuple[Callable[..., Any], bytes, tuple[Any, ...]]] = [
        (accept, b'{ "a" : 1.10 }', (LIMIT,)),
        (accept, b"[1,]", (LIMIT,)),
        (accept, b"[1, 2, 3]", (5,)),
        (open_table, b'{"name":"\xe4\xb8\x96","data":[1e400]}', (LIMIT,)),
        (open_table, b'{"name":"t","data":1,"more":2}', (LIMIT,)),
        (read, b'{"a/b":[ 1 , 2 ]}', ("/a~1b",)),
        (read, b'{"a":1}', ("/b",)),
        (put, b'{"a":1,"b": 2.0}', ("/a", b"null", LIMIT)),
        (put, b'{"a":1}', ("/~", b"null", LIMIT)),
        (patch, b'{"a":1}', (b'[{"op":"move","from":"/a","path":"/b"}]', LIMIT)),
        (patch, b'{"a":1}', (b'[{"op":"test","path":"/a","value":true}]', LIMIT)),
    ]
    for function, text, rest in calls:
        try:
            here = function(text, *rest)
        except FindspotError as error:
            here = error.body()
        for given in (text, joined_there([bytes([byte]) for byte in text])):
            try:
                there = await helpers.run(PROJECT, function, given, *rest)
            except FindspotError as error:
                there = error.body()
            assert there == here


async def test_a_large_text_arrives_unchanged_whole_or_in_pieces(helpers: Helpers) -> None:
    pieces = [LARGE[at : at + 1000] for at in range(0, len(LARGE), 1000)]
    assert await helpers.run(PROJECT, accept, joined_there(pieces), LIMIT) == LARGE
    assert await helpers.run(PROJECT, read, LARGE, "/世界/2999") == b'"' + b"x" * 100 + b'"'
    changed = await helpers.run(PROJECT, put, joined_there(pieces), "/n", b"1.0", LIMIT)
    assert json.loads(changed) == {**json.loads(LARGE), "n": 1.0}


async def test_a_helper_is_kept_for_the_next_call_even_after_an_error(helpers: Helpers, started: Started) -> None:
    await refused(helpers.run(PROJECT, read, LARGE, "/nope"))
    for _ in range(3):
        assert await helpers.run(PROJECT, accept, LARGE, LIMIT) == LARGE
    assert len(started) == 1


async def test_many_calls_share_a_few_helpers_and_each_gets_its_own_result(helpers: Helpers, started: Started) -> None:
    answers = await asyncio.gather(*(helpers.run(PROJECT, read, b"[%d]" % number, "/0") for number in range(20)))
    assert answers == [b"%d" % number for number in range(20)]
    assert 1 <= len(started) <= HELPERS


# ── when something goes wrong ──


async def test_a_call_whose_helper_was_killed_is_made_again_in_a_new_one(helpers: Helpers, started: Started) -> None:
    await helpers.run(PROJECT, accept, LARGE, LIMIT)
    started[0].kill()
    started[0].wait()
    assert await helpers.run(PROJECT, accept, LARGE, LIMIT) == LARGE
    assert len(started) == 2


async def test_a_call_whose_helper_is_killed_during_its_work_is_made_again(helpers: Helpers, started: Started) -> None:
    await helpers.run(PROJECT, accept, LARGE, LIMIT)
    started[0].send_signal(signal.SIGSTOP)  # it receives the call and never answers
    work = asyncio.create_task(helpers.run(PROJECT, accept, LARGE, LIMIT))
    await asyncio.sleep(0)  # it has the helper now
    started[0].kill()
    assert await work == LARGE
    assert len(started) == 2


async def test_an_argument_that_can_be_read_once_is_sent_again_whole(helpers: Helpers, started: Started) -> None:
    request = TableToCut(1, (), 100, 100, 100)
    known: list[list[Known]] = [[("/a", "x", 1, 2)]]
    await helpers.run(PROJECT, accept, LARGE, LIMIT)
    started[0].send_signal(signal.SIGSTOP)
    work = asyncio.create_task(helpers.run(PROJECT, cut_table, request, b"null", iter(known)))
    await asyncio.sleep(0)
    started[0].kill()
    _, gone, _ = await work
    assert list(gone) == known


async def test_a_call_that_ends_its_helper_twice_fails(helpers: Helpers, started: Started) -> None:
    started.killed = True
    assert (await refused(helpers.run(PROJECT, accept, LARGE, LIMIT))).body() == {
        "code": "INTERNAL",
        "message": "A helper process ended early. Nothing was changed; try again.",
    }
    assert len(started) == 2
    started.killed = False
    assert await helpers.run(PROJECT, accept, LARGE, LIMIT) == LARGE


async def test_a_helper_whose_reply_could_not_be_read_is_not_used_again(
    helpers: Helpers, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_memory(connection: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(remote_calls, "receive", out_of_memory)
        with pytest.raises(MemoryError):
            await helpers.run(PROJECT, read, b"[1]", "/0")
    assert started[0].returncode is not None
    assert await helpers.run(PROJECT, read, b"[2]", "/0") == b"2"
    assert len(started) == 2


async def test_a_signal_to_the_whole_group_does_not_end_a_helper_before_the_server(
    helpers: Helpers, started: Started
) -> None:
    await helpers.run(PROJECT, accept, LARGE, LIMIT)
    for each in (signal.SIGINT, signal.SIGTERM):
        started[0].send_signal(each)
        assert await helpers.run(PROJECT, accept, LARGE, LIMIT) == LARGE
    assert len(started) == 1


async def test_files_in_the_working_directory_are_not_imported_as_modules(
    helpers: Helpers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("queue", "struct", "msgspec", "findspot"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert await helpers.run(PROJECT, accept, LARGE, LIMIT) == LARGE


async def test_a_cancelled_call_that_ends_soon_keeps_its_helper(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE_S", 600)
    helpers = Helpers(helpers=1)
    started.gate.clear()
    first = asyncio.create_task(helpers.run(PROJECT, accept, LARGE, LIMIT))
    await asyncio.to_thread(started.born.acquire)
    first.cancel()
    await asyncio.wait([first])
    assert first.cancelled()
    second = asyncio.create_task(helpers.run(PROJECT, read, b"[2]", "/0"))
    await asyncio.sleep(0)  # its turn to begin
    started.gate.set()
    assert await second == b"2"
    assert len(started) == 1
    await helpers.close()


async def test_a_cancelled_call_that_goes_on_is_ended_with_its_helper(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE_S", 0)
    helpers = Helpers(helpers=1)
    await helpers.run(PROJECT, accept, LARGE, LIMIT)
    started[0].send_signal(signal.SIGSTOP)  # it never answers
    first = asyncio.create_task(helpers.run(PROJECT, accept, LARGE, LIMIT))
    await asyncio.sleep(0)  # it has the helper now
    first.cancel()
    assert await helpers.run(PROJECT, read, b"[2]", "/0") == b"2"
    assert first.cancelled()
    assert [each.returncode for each in started] == [-signal.SIGKILL, None]
    await helpers.close()


# ── limits ──

SLOW_PATCH = json.dumps([{"op": "move", "from": "/世界/0", "path": "/世界/-"}] * 300_000).encode()


async def test_a_call_past_its_processor_time_is_refused_and_its_helper_ended(started: Started) -> None:
    helpers = Helpers(limits=CallLimits(seconds=0.2, memory=512 << 20))
    error = await refused(helpers.run(PROJECT, patch, LARGE, SLOW_PATCH, LIMIT))
    assert (error.code, "0.2 seconds of processor time" in error.message) == ("CONTENT_TOO_LARGE", True)
    assert [each.returncode for each in started] == [-signal.SIGPROF]  # and it was not tried again
    assert await helpers.run(PROJECT, read, b"[2]", "/0") == b"2"
    await helpers.close()


async def test_time_that_passes_between_calls_or_while_a_helper_waits_does_not_count(started: Started) -> None:
    helpers = Helpers(helpers=1, limits=CallLimits(seconds=1.0, memory=512 << 20))
    for _ in range(60):
        assert len(await helpers.run(PROJECT, index_terms, ["words of a text 世界 " * 2000])) == 1
    assert len(started) == 1
    await helpers.close()


async def test_projects_take_turns_and_one_never_uses_every_helper(helpers: Helpers, started: Started) -> None:
    started.gate.clear()
    order: list[int] = []

    async def call(project: int) -> None:
        await helpers.run(project, read, b"[2]", "/0")
        order.append(project)

    busy = [asyncio.create_task(call(1)) for _ in range(20)]
    for _ in range(HELPERS - 1):
        await asyncio.to_thread(started.born.acquire)
    other = asyncio.create_task(call(2))
    await asyncio.to_thread(started.born.acquire)  # the helper that project 1 had to leave free
    assert (order, len(started)) == ([], HELPERS)
    started.gate.set()
    await asyncio.gather(*busy, other)
    assert len(started) == HELPERS


async def test_calls_with_large_arguments_run_one_at_a_time(helpers: Helpers, started: Started) -> None:
    text = b'"' + b"x" * LARGE_CALL + b'"'
    started.gate.clear()
    large = [asyncio.create_task(helpers.run(project, accept, text, LIMIT)) for project in (1, 2, 3)]
    await asyncio.to_thread(started.born.acquire)
    small = asyncio.create_task(helpers.run(4, read, b"[2]", "/0"))
    await asyncio.to_thread(started.born.acquire)
    assert len(started) == 2
    started.gate.set()
    assert await small == b"2"
    assert await asyncio.gather(*large) == [text] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of another process")
async def test_a_call_past_its_memory_is_refused_and_its_helper_ended(started: Started) -> None:
    helpers = Helpers(helpers=1, limits=CallLimits(seconds=600, memory=64 << 20))
    doubling = json.dumps([{"op": "copy", "from": "", "path": "/世界/-"}] * 12).encode()
    error = await refused(helpers.run(PROJECT, patch, LARGE, doubling, 10**12))
    assert error.body() == {"code": "CONTENT_TOO_LARGE", "message": TOO_MUCH_MEMORY}
    assert [each.returncode for each in started] == [-signal.SIGKILL]
    assert await helpers.run(PROJECT, accept, LARGE, LIMIT) == LARGE
    await helpers.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of another process")
async def test_a_table_is_cut_in_a_few_times_its_own_memory() -> None:
    strings = [f"{number} " + "A record of the archive, 档案中的一条记录。" * 20 for number in range(30_000)]
    text = json.dumps(strings, ensure_ascii=False).encode()
    table = TableToCut(1, (Cut(1000, 0, (("", 1),)),), max_length=10**6, max_chunks=10, room=10**6)
    helpers = Helpers(helpers=1, limits=CallLimits(seconds=600, memory=2 * len(text)))
    summary, _, chunks = await helpers.run(PROJECT, cut_table, table, text, iter([]))
    assert (summary.nodes, sum(map(len, chunks))) == (len(strings), summary.chunks)
    await helpers.close()


# ── the end ──


async def test_helpers_end_when_closed(started: Started) -> None:
    helpers = Helpers()
    await asyncio.gather(*(helpers.run(PROJECT, accept, LARGE, LIMIT) for _ in range(4)))
    assert [helper.poll() for helper in started] == [None] * len(started)
    await helpers.close()
    assert [helper.returncode for helper in started] == [0] * len(started)
    assert started
    await helpers.close()  # twice is fine


async def test_closing_does_not_wait_for_a_helper_at_work(started: Started) -> None:
    helpers = Helpers()
    await helpers.run(PROJECT, accept, LARGE, LIMIT)
    (helper,) = started
    helper.send_signal(signal.SIGSTOP)  # it never answers
    work = asyncio.create_task(helpers.run(PROJECT, accept, LARGE, LIMIT))
    await asyncio.sleep(0)  # it has the helper now
    await helpers.close()
    assert (await refused(work)).code == "INTERNAL"
    assert helper.returncode == -signal.SIGKILL


async def test_a_helper_that_is_starting_when_closed_ends_after_its_answer(started: Started) -> None:
    helpers = Helpers()
    started.gate.clear()
    work = asyncio.create_task(helpers.run(PROJECT, accept, LARGE, LIMIT))
    await asyncio.to_thread(started.born.acquire)
    await helpers.close()
    started.gate.set()
    assert await work == LARGE
    assert [helper.returncode for helper in started] == [0]
