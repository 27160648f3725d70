"""Processes that answer calls: one at a time, or several at a time from many threads."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from findspot.errors import FindspotError
from findspot.jsontext.operations import accept, patch, read
from findspot.runtime import remote_calls
from findspot.runtime.descriptors import raise_limit
from findspot.runtime.processes import Process, ProcessEnded, SharedProcess

SLOW = json.dumps([{"op": "copy", "from": "", "path": "/-"}] * 22).encode()  # doubles its text 22 times
WAIT_S = 60.0


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every process, as it is started."""
    processes: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            processes.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return processes


@pytest.fixture
def shared() -> Iterator[SharedProcess]:
    process = SharedProcess(4, raise_limit, WAIT_S)
    yield process
    process.close()


def test_a_process_answers_until_it_is_stopped(started: list[subprocess.Popen[bytes]]) -> None:
    process = Process()
    assert process.call(read, b'{"a":[1]}', "/a") == b"[1]"
    with pytest.raises(FindspotError, match="leads nowhere"):
        process.call(read, b"{}", "/a")
    assert process.call(accept, b" 1 ", 10) == b"1"
    process.stop()
    assert started[0].returncode == 0


def test_a_killed_process_fails_the_call(started: list[subprocess.Popen[bytes]]) -> None:
    process = Process()
    process.kill()
    with pytest.raises(ProcessEnded):
        process.call(accept, b"1" * 10_000_000, 10)
    process.stop()


def test_a_reply_to_an_earlier_call_is_not_taken_for_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(connection: object) -> None:
        raise MemoryError

    process = Process()
    with monkeypatch.context() as patched:
        patched.setattr(remote_calls, "receive", out_of_memory)
        with pytest.raises(MemoryError):
            process.call(read, b"[1]", "/0")
    with pytest.raises(ProcessEnded, match="reply 1 came for call 2"):
        process.call(read, b"[2]", "/0")
    process.stop()


def test_many_threads_share_a_process_and_each_gets_its_own_result(
    shared: SharedProcess, started: list[subprocess.Popen[bytes]]
) -> None:
    with ThreadPoolExecutor(8) as threads:
        texts = [b"[%d]" % number for number in range(50)]
        found = list(threads.map(lambda text: shared.call(WAIT_S, read, text, "/0"), texts))
    assert found == [b"%d" % number for number in range(50)]
    assert len(started) == 1


def test_a_quick_call_overtakes_a_slow_one(shared: SharedProcess) -> None:
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(shared.call, WAIT_S, patch, b"[1]", SLOW, 10**9)
        assert shared.call(WAIT_S, read, b"[1]", "/0") == b"1"
        assert len(slow.result()[0]) > 4_000_000


def test_a_call_that_takes_too_long_is_a_timeout_and_ends_its_process(
    shared: SharedProcess, started: list[subprocess.Popen[bytes]]
) -> None:
    shared.call(WAIT_S, read, b"[1]", "/0")
    started[0].send_signal(signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        shared.call(0.05, read, b"[1]", "/0")
    assert started[0].returncode == -signal.SIGKILL
    assert shared.call(WAIT_S, read, b"[1]", "/0") == b"1"


def test_a_reply_that_cannot_be_read_fails_the_calls_and_the_next_call_starts_another_process(
    shared: SharedProcess, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_memory(message: object) -> None:
        raise MemoryError

    shared.call(WAIT_S, read, b"[1]", "/0")
    with monkeypatch.context() as patched:
        patched.setattr(remote_calls, "read_reply", out_of_memory)
        with pytest.raises(ProcessEnded):
            shared.call(WAIT_S, read, b"[1]", "/0")
    assert shared.call(WAIT_S, read, b"[2]", "/0") == b"2"
    assert len(started) == 2


def test_a_process_that_ended_fails_its_calls_and_the_next_call_starts_another(
    shared: SharedProcess, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.call(WAIT_S, read, b"[1]", "/0")
    started[0].send_signal(signal.SIGSTOP)
    is_sent, send = threading.Event(), remote_calls.send

    def noted(*arguments: Any) -> None:
        send(*arguments)
        is_sent.set()

    monkeypatch.setattr(remote_calls, "send", noted)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(shared.call, WAIT_S, read, b"[1]", "/0")
        assert is_sent.wait(WAIT_S)
        started[0].kill()
        with pytest.raises(ProcessEnded):
            waiting.result()
    assert shared.call(WAIT_S, read, b"[1]", "/0") == b"1"
    assert len(started) == 2


def test_a_call_that_cannot_be_encoded_fails_at_once(shared: SharedProcess) -> None:
    with pytest.raises(UnicodeEncodeError):
        shared.call(WAIT_S, read, b"[1]", "\ud800")
    assert shared.call(WAIT_S, read, b"[1]", "/0") == b"1"


def test_calls_wait_for_the_preparation_no_longer_than_its_timeout() -> None:
    process = SharedProcess(1, raise_limit, 0.0)
    with pytest.raises(TimeoutError):
        process.call(WAIT_S, read, b"[1]", "/0")
    process.close()
