"""Calculations at once or in a helper process: the same answer, and no process left behind."""

import asyncio
import json
import resource
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import pytest

from findspot.errors import FindspotError
from findspot.jsontext.operations import OPERATIONS
from findspot.runtime.helpers import AT_ONCE, HELPERS, Offload

LIMIT = b"100000000"
LARGE = json.dumps({"世界": ["x" * 100] * 3000, "n": 1}, ensure_ascii=False).encode()  # well past AT_ONCE
ELSEWHERE = b" " * AT_ONCE["read"]  # white space around a small text sends it to a helper as well

Process = subprocess.Popen[bytes]


@pytest.fixture
async def offload() -> AsyncIterator[Offload]:
    opened = Offload()
    yield opened
    await opened.close()


class Helpers(list[Process]):
    """Every helper process, as it is started. While the gate is shut, a new one is held back."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.born = threading.Semaphore(0)


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> Helpers:
    started = Helpers()

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            started.born.release()
            started.gate.wait()

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return started


async def refused(work: Awaitable[object]) -> FindspotError:
    with pytest.raises(FindspotError) as caught:
        await work
    return caught.value


async def test_small_texts_are_worked_on_at_once_and_large_ones_in_a_helper(offload: Offload, helpers: Helpers) -> None:
    assert await offload.run("accept", b"[1]", LIMIT) == (b"[1]",)
    border = b'"' + b"x" * (AT_ONCE["accept"] - len(LIMIT) - 2) + b'"'
    assert await offload.run("accept", border, LIMIT) == (border,)
    assert helpers == []
    assert await offload.run("accept", border + b" ", LIMIT) == (border,)
    assert len(helpers) == 1


@pytest.mark.parametrize(
    ("operation", "text", "rest"),
    [
        ("accept", b'{ "a" : 1.10 }', (LIMIT,)),
        ("accept", b"[1,]", (LIMIT,)),
        ("accept", b"[1, 2, 3]", (b"5",)),
        ("open_table", b'{"name":"\xe4\xb8\x96","data":[1e400]}', (LIMIT,)),
        ("open_table", b'{"name":"t","data":1,"more":2}', (LIMIT,)),
        ("read", b'{"a/b":[ 1 , 2 ]}', (b"/a~1b",)),
        ("read", b'{"a":1}', (b"/b",)),
        ("put", b'{"a":1,"b": 2.0}', (b"/a", b"null", LIMIT)),
        ("put", b'{"a":1}', (b"/~", b"null", LIMIT)),
        ("patch", b'{"a":1}', (b'[{"op":"move","from":"/a","path":"/b"}]', LIMIT)),
        ("patch", b'{"a":1}', (b'[{"op":"test","path":"/a","value":true}]', LIMIT)),
    ],
)
async def test_a_helper_answers_exactly_as_this_process_does(
    offload: Offload, operation: str, text: bytes, rest: tuple[bytes, ...]
) -> None:
    async def outcome(*parts: Any) -> object:
        try:
            return await offload.run(operation, *parts)
        except FindspotError as error:
            return error.kind, error.message, error.fields

    try:
        here: object = OPERATIONS[operation](text, *rest)
    except FindspotError as error:
        here = error.kind, error.message, error.fields
    assert await outcome(text, *rest) == here
    assert await outcome(ELSEWHERE + text, *rest) == here
    assert await outcome([ELSEWHERE, *(bytes([byte]) for byte in text)], *rest) == here


async def test_a_patch_goes_to_a_helper_however_small_because_copies_multiply_its_work(
    offload: Offload, helpers: Helpers
) -> None:
    doubling = json.dumps([{"op": "copy", "from": "", "path": "/-"}] * 20).encode()
    answer, _ = await offload.run("patch", b"[1]", doubling, LIMIT)
    assert len(answer) > 1_000_000
    assert len(helpers) == 1


async def test_a_large_text_passes_the_border_unchanged_whole_or_in_pieces(offload: Offload) -> None:
    pieces = [LARGE[at : at + 1000] for at in range(0, len(LARGE), 1000)]
    assert await offload.run("accept", pieces, LIMIT) == (LARGE,)
    assert await offload.run("read", bytearray(LARGE), "/世界/2999".encode()) == (b'"' + b"x" * 100 + b'"',)
    (changed,) = await offload.run("put", pieces, b"/n", b"1.0", LIMIT)
    assert json.loads(changed) == {**json.loads(LARGE), "n": 1.0}


async def test_an_error_passes_the_border_with_code_message_and_fields(offload: Offload) -> None:
    error = await refused(offload.run("accept", LARGE, b"1000"))
    assert error.body() == {
        "code": "CONTENT_TOO_LARGE",
        "message": f"The table would have {len(LARGE)} bytes; 1000 is the limit (FINDSPOT_MAX_TABLE).",
        "limit": 1000,
    }
    error = await refused(offload.run("read", LARGE, "/世界/x/\u2028".encode()))
    assert (error.code, error.fields) == ("NOT_FOUND", {"field": "json_pointer"})
    assert "'x' is not an index of the list at '/世界'" in error.message


async def test_a_helper_is_kept_for_the_next_time_even_after_an_error(offload: Offload, helpers: Helpers) -> None:
    await refused(offload.run("read", LARGE, b"/nope"))
    for _ in range(3):
        assert await offload.run("accept", LARGE, LIMIT) == (LARGE,)
    assert len(helpers) == 1


async def test_many_calculations_share_a_few_helpers_and_each_gets_its_own_answer(
    offload: Offload, helpers: Helpers
) -> None:
    texts = [ELSEWHERE + b"[%d]" % number for number in range(20)]
    answers = await asyncio.gather(*(offload.run("read", text, b"/0") for text in texts))
    assert answers == [(b"%d" % number,) for number in range(20)]
    assert 1 <= len(helpers) <= HELPERS


# ── when something goes wrong ──


async def test_after_a_killed_helper_one_call_fails_and_the_next_works(offload: Offload, helpers: Helpers) -> None:
    await offload.run("accept", LARGE, LIMIT)
    helpers[0].kill()
    helpers[0].wait()
    error = await refused(offload.run("accept", LARGE, LIMIT))
    assert error.body() == {
        "code": "INTERNAL",
        "message": "A helper process ended early. Nothing was changed; try again.",
    }
    assert await offload.run("accept", LARGE, LIMIT) == (LARGE,)
    assert len(helpers) == 2


async def test_a_helper_killed_in_the_middle_of_its_work_fails_that_call(offload: Offload, helpers: Helpers) -> None:
    await offload.run("accept", LARGE, LIMIT)
    helpers[0].send_signal(signal.SIGSTOP)  # it takes the work and never answers
    work = asyncio.create_task(offload.run("accept", LARGE, LIMIT))
    helpers[0].kill()
    assert (await refused(work)).code == "INTERNAL"
    assert await offload.run("accept", LARGE, LIMIT) == (LARGE,)


async def test_a_signal_to_the_whole_group_does_not_end_a_helper_before_the_server(
    offload: Offload, helpers: Helpers
) -> None:
    await offload.run("accept", LARGE, LIMIT)
    for each in (signal.SIGINT, signal.SIGTERM):
        helpers[0].send_signal(each)
        assert await offload.run("accept", LARGE, LIMIT) == (LARGE,)
    assert len(helpers) == 1


async def test_files_in_the_working_directory_are_not_taken_for_modules(
    offload: Offload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("queue", "struct", "msgspec", "findspot"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert await offload.run("accept", LARGE, LIMIT) == (LARGE,)


async def test_a_cancelled_calculation_keeps_its_seat_until_its_helper_is_free(helpers: Helpers) -> None:
    offload = Offload(helpers=1)
    helpers.gate.clear()
    first = asyncio.create_task(offload.run("accept", LARGE, LIMIT))
    await asyncio.to_thread(helpers.born.acquire)
    first.cancel()
    await asyncio.wait([first])
    assert first.cancelled()
    second = asyncio.create_task(offload.run("read", ELSEWHERE + b"[2]", b"/0"))
    await asyncio.sleep(0)  # its turn to begin
    helpers.gate.set()
    assert await second == (b"2",)
    assert len(helpers) == 1
    await offload.close()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits the memory of another process")
async def test_memory_that_runs_out_in_a_helper_is_an_answer_and_the_helper_goes_on(
    offload: Offload, helpers: Helpers
) -> None:
    await offload.run("accept", LARGE, LIMIT)
    resource.prlimit(helpers[0].pid, resource.RLIMIT_AS, (1 << 30, 1 << 30))
    doubling = json.dumps([{"op": "copy", "from": "/n", "path": "/n/-"}] * 12).encode()
    error = await refused(offload.run("patch", LARGE[:-2] + b"[" + LARGE + b"]}", doubling, b"9" * 12))
    assert error.body() == {"code": "CONTENT_TOO_LARGE", "message": "There is not enough memory for this."}
    assert await offload.run("accept", LARGE, LIMIT) == (LARGE,)
    assert len(helpers) == 1


# ── the end ──


async def test_helpers_end_when_closed(helpers: Helpers) -> None:
    offload = Offload()
    await asyncio.gather(*(offload.run("accept", LARGE, LIMIT) for _ in range(4)))
    assert [helper.poll() for helper in helpers] == [None] * len(helpers)
    await offload.close()
    assert [helper.returncode for helper in helpers] == [0] * len(helpers)
    assert helpers


async def test_closing_does_not_wait_for_a_helper_at_work(helpers: Helpers) -> None:
    offload = Offload()
    await offload.run("accept", LARGE, LIMIT)
    (helper,) = helpers
    helper.send_signal(signal.SIGSTOP)  # at work for as long as it likes
    work = asyncio.create_task(offload.run("accept", LARGE, LIMIT))
    while not offload._idle.empty():  # noqa: ASYNC110  # nobody tells when a helper is taken
        await asyncio.sleep(0)
    await offload.close()
    with pytest.raises(FindspotError) as refused:
        await work
    assert refused.value.code == "INTERNAL"
    assert helper.returncode == -signal.SIGKILL


async def test_a_helper_that_is_only_starting_when_closed_ends_after_its_answer(helpers: Helpers) -> None:
    offload = Offload()
    helpers.gate.clear()
    work = asyncio.create_task(offload.run("accept", LARGE, LIMIT))
    await asyncio.to_thread(helpers.born.acquire)
    await offload.close()
    helpers.gate.set()
    assert await work == (LARGE,)
    assert [helper.returncode for helper in helpers] == [0]


async def test_closing_twice_or_without_helpers_is_fine(offload: Offload) -> None:
    await offload.close()
    await offload.close()
