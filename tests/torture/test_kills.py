"""kill -9 of a random process of an installation, again and again, while tables and documents are written.

After some kills everything comes to rest. Then every acknowledged write is there, and store and engine hold the same
chunks, each once, as its text and title are. No work has waited longer than another worker needs to take it over.

`make test` runs a few rounds, with shorter leases. With FINDSPOT_TORTURE=50 (`make torture`) there are 200 rounds on
turbopuffer and 100 on each database with the embedded engine; every tenth is examined. KILLS_SECONDS=300 goes on for
five minutes instead. A failure prints the seed, and KILLS_SEED sets it. `pytest -s` shows what happened.
"""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from findspot.settings import Settings
from tests.torture.agreement import require_agreement
from tests.torture.fleet import Fleet, Member
from tests.torture.run import Plan, Report, Run
from tests.turbopuffer.server import API_KEY

TIMES = int(os.environ.get("FINDSPOT_TORTURE", "0"))
SECONDS = float(os.environ.get("KILLS_SECONDS", "0"))
IS_TORTURE = bool(TIMES or SECONDS)
TAKE_OVER_S = 30.0  # at the latest; a lease lasts 15 s
TOKEN = "a-token-of-all-processes"

pytestmark = pytest.mark.torture


def plan(rounds: int, times: int) -> Plan:
    """Return a plan with a few rounds, or with `times` of what FINDSPOT_TORTURE says."""
    chosen = os.environ.get("KILLS_SEED")
    if IS_TORTURE:
        return Plan(int(chosen or random.SystemRandom().randrange(1_000_000)), times * TIMES, SECONDS)
    return Plan(int(chosen or 20261120), rounds, longest_pause_s=0.5)  # by which a worker is killed first


def require_progress(report: Report) -> None:
    print(report)
    assert report.chunks > 0
    assert not IS_TORTURE or report.longest_s < TAKE_OVER_S, report


def command() -> list[str]:
    return ["-m", "findspot"] if IS_TORTURE else ["-m", "tests.torture.shorter_leases"]


@pytest.fixture
def service() -> Iterator[str]:
    """The address of a stand-in for turbopuffer, which is not killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.turbopuffer.server"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def test_kills_on_postgresql_and_turbopuffer(
    tmp_path: Path, new_postgres_database: Callable[[], str], service: str
) -> None:
    database = new_postgres_database()
    variables = {
        "FINDSPOT_DATABASE_URL": database,
        "FINDSPOT_ENGINE": "turbopuffer",
        "TURBOPUFFER_API_KEY": API_KEY,
        "TURBOPUFFER_BASE_URL": service,
        "FINDSPOT_TOKEN": TOKEN,
    }

    def member(name: str, *arguments: str, serves: bool) -> Member:
        data = ("--data", str(tmp_path / name))
        return Member(name, [*command(), *arguments, *data], variables, tmp_path / f"{name} logs", serves)

    serve = "serve", "--port", "0", "--no-worker"
    fleet = Fleet(
        [
            member("api 1", *serve, serves=True),
            member("api 2", *serve, serves=True),
            member("worker 1", "worker", serves=False),
            member("worker 2", "worker", serves=False),
        ]
    )
    settings = Settings(
        data=tmp_path / "examined",
        database_url=database,
        engine="turbopuffer",
        turbopuffer_api_key=API_KEY,
        turbopuffer_base_url=service,
        port=0,
    )
    run = Run(fleet, database, TOKEN, plan(1, 4), lambda: asyncio.run(require_agreement(settings, service)))
    require_progress(run.go())


@pytest.mark.parametrize("kind", ["sqlite", "postgres"] if IS_TORTURE else ["sqlite"])
def test_kills_on_one_machine_with_the_embedded_engine(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("new_postgres_database")() if kind == "postgres" else None
    data = tmp_path / "data"
    variables = {"FINDSPOT_TOKEN": TOKEN} | ({"FINDSPOT_DATABASE_URL": url} if url else {})
    serve = ["serve", "--port", "0", "--workers", "2", "--data", str(data)]
    fleet = Fleet([Member("server", [*command(), *serve], variables, tmp_path / "logs")])
    settings = Settings(data=data, database_url=url, port=0)

    def examine() -> int:
        """Examine the index while nobody uses it: this process opens it."""
        fleet.stop()
        return asyncio.run(require_agreement(settings))

    require_progress(Run(fleet, url or data / "findspot.db", TOKEN, plan(2, 2), examine).go())
