"""LiteLLM in its process. What holds for every transport is in tests/contracts/test_embedding_transport.py."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from findspot.embedding.litellm import ENVIRONMENT
from findspot.embedding.service import Problem, Service
from findspot.runtime.descriptors import raise_limit
from findspot.runtime.embedders import LitellmTransport
from findspot.runtime.processes import ProcessEnded, SharedProcess
from tests.embedding.service import StandIn


def test_a_process_that_ends_is_a_problem_without_a_status() -> None:
    class Ends(SharedProcess):
        def call(self, *arguments: Any, **options: Any) -> Any:
            raise ProcessEnded

    transport = LitellmTransport(Service("openai/m"), Ends(1, raise_limit, 60))
    with pytest.raises(Problem, match="has ended") as caught:
        transport.embed(["a"], 20)
    assert caught.value.status is None


def test_a_late_timeout_does_not_end_the_process_of_later_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    class TimesOutLate(SharedProcess):
        def call(self, *arguments: Any, **options: Any) -> Any:
            super().call(60, raise_limit)  # by now, this process has taken the place of the one that timed out
            raise TimeoutError

    monkeypatch.setattr(subprocess, "Popen", Noted)
    process = TimesOutLate(1, raise_limit, 60)
    with pytest.raises(Problem, match="does not answer in time"):
        LitellmTransport(Service("openai/m"), process).embed(["a"], 20)
    assert [each.poll() for each in started] == [None]
    process.close()


def test_litellm_connects_to_nothing_but_the_service(server: StandIn) -> None:
    """An audit hook records every connection that the process opens, and every host name that it resolves."""
    script = f"""
import json, sys
seen = []
sys.addaudithook(lambda event, args: seen.append([event, str(args[-1] if event == "socket.connect" else args[0])])
                 if event in ("socket.connect", "socket.getaddrinfo") else None)
from findspot.embedding.litellm import Request, embed, load
load()
embed(Request(["a"], "openai/m", 5, {server.url!r}, "k"))
embed(Request(["a"], "openai/nowhere", 5, {server.url!r} + "/x", "k"))
print(json.dumps(seen))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ)
    seen = json.loads(ended.stdout.splitlines()[-1])
    assert len(server.asked) == 2
    assert seen
    assert [each for each in seen if "127.0.0.1" not in each[1]] == []
    assert ENVIRONMENT["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
