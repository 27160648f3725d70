"""A process that has used up its file descriptors gets a retryable error, and the index is not declared damaged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from findspot.errors import FindspotError
from tests.engines.embedded.out_of_descriptors import CALLS


def test_without_free_descriptors_the_engine_is_unavailable_and_recovers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.engines.embedded.out_of_descriptors", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = [line.split(": ", 1) for line in done.stdout.splitlines()]
    refused = {name for name, outcome in outcomes if outcome != "ok"}
    assert all(outcome == "ok" or outcome.startswith("ENGINE_UNAVAILABLE") for _, outcome in outcomes), done.stdout
    assert refused >= CALLS.keys() - {"drop"}, done.stdout  # dropping a namespace that does not exist opens no file
    assert "Too many open files" in done.stdout
    assert FindspotError("ENGINE_UNAVAILABLE", "").kind.retryable
