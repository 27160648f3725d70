"""`findspot migrate`: move an installation to another database and engine while it is used."""

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.surfaces.cli.connect import Api, bearer, opened_api
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.opening import open_api, opening_failures, read_settings, require_data
from findspot.surfaces.cli.printing import done, facts, show

if TYPE_CHECKING:
    from findspot.content.moved_index import Left, Sample
    from findspot.content.moving import Moving
    from findspot.runtime.data_folder import DataFolder
    from findspot.settings import Settings

_SQLITE = "sqlite"
_SAMPLES, _SAMPLE_LENGTH, _FIRST = 20, 60, 10
_ATTEMPTS, _PAUSE_S = 5, 1.0
_GOES_ON = "Run the command again when this is repaired: it goes on where it stopped."


@click.command()
@click.option("--to-database", metavar="URL", help="PostgreSQL to move to, or 'sqlite': in the folder --to-data.")
@click.option("--to-engine", type=click.Choice(["embedded", "turbopuffer"]), help="Engine of the target.")
@click.option("--to-data", type=click.Path(path_type=Path), metavar="DIR", help="Data folder of the target.")
@click.option("--cancel", is_flag=True, help="End a move: the old installation is used as before.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
def command(
    to_database: str | None, to_engine: str | None, to_data: Path | None, cancel: bool, as_json: bool, data: Path | None
) -> None:
    """Move this installation to another database and engine while it is used.

    The server may go on running. Everything is copied and indexed at the target, then compared. At the end changes are
    refused for less than 5 seconds, while the last ones are copied. Stop the old server then, and start one on the
    target. All ids, keys and the owner's token stay the same. If the command is interrupted, or turbopuffer fails, run
    it again: it goes on. A target that differs from this installation is never switched to.

    \b
      findspot migrate --to-database postgresql://db/findspot --to-engine turbopuffer --to-data new-folder
      findspot migrate --to-database sqlite --to-engine embedded --to-data new-folder
    """
    source = read_settings(data)
    require_data(source)
    if cancel:
        asyncio.run(_cancel(source, as_json))
        return
    if to_database is None or to_engine is None or to_data is None:
        raise Failure("--to-database, --to-engine and --to-data are needed.", "See 'findspot migrate --help'.", 2)
    value = asyncio.run(_move(source, _target(source, to_database, to_engine, to_data), data, as_json))
    text = facts([(name.replace("_", " "), str(each)) for name, each in value.items() if name != "rows"])
    show(
        value,
        as_json,
        f"{done('The installation has moved. Stop the old server and start one on the target.')}\n{text}",
    )


def _target(source: "Settings", database: str, engine: str, folder: Path) -> "Settings":
    """Return the settings of the target: those of the source, with another database, engine and folder."""
    from pydantic import SecretStr

    if database != _SQLITE and not database.startswith(("postgresql://", "postgres://")):
        raise Failure("--to-database: must start with postgresql://, or be 'sqlite'.", exit_code=2)
    if folder.resolve() == source.data.resolve():
        raise Failure("--to-data: name another folder than that of this installation.", exit_code=2)
    url = None if database == _SQLITE else SecretStr(database)
    return source.model_copy(update={"data": folder, "database_url": url, "engine": engine, "replica_url": None})


async def _cancel(source: "Settings", as_json: bool) -> None:
    from findspot.content import moving

    with opening_failures(source):
        async with moving.opened_source(*_place(source)) as store:
            cancelled = await moving.cancel(store)
    text = "The move was cancelled. Delete the target." if cancelled else "Nothing is being moved."
    show({"cancelled": cancelled}, as_json, done(text))


async def _move(source: "Settings", target: "Settings", data: Path | None, silent: bool) -> dict[str, Any]:
    from findspot.content.moved_index import TargetUnavailable
    from findspot.content.moving import CannotMove
    from findspot.errors import FindspotError
    from findspot.runtime import logs

    logs.configure("error", source.log_format)
    try:
        async with contextlib.AsyncExitStack() as closing:
            return await _steps(source, target, data, _Lines(silent), closing)
    except TargetUnavailable as error:
        raise Failure(str(error), _GOES_ON, 7) from None
    except CannotMove as error:
        raise Failure(str(error), exit_code=5) from None
    except FindspotError as error:
        raise Failure(error.message, _GOES_ON, 7) from None


async def _steps(
    source: "Settings", target: "Settings", data: Path | None, progress: "_Lines", closing: contextlib.AsyncExitStack
) -> dict[str, Any]:
    """Copy, index, compare and switch."""
    from findspot.content import moving as moves

    await _require_service(target)
    folder = _claimed(target, closing)
    _keep_token(source, target)
    old = await closing.enter_async_context(moves.opened_source(*_place(source)))
    await closing.enter_async_context(moves.locked_target(*_place(target)))
    with opening_failures(target):
        async with moves.opened_target(*_place(target)) as new:
            moving = moves.Moving(old, new, _name(source), _name(target), progress.rows)
            if not await moving.begin():
                return {"target": _name(target), "note": "the move had already been finished"}
            await moving.copy()
    api = await open_api(target, closing, folder, filling=True)
    moving.target = api.state.app.store
    return await _index_and_switch(moving, api, target, data, progress)


async def _require_service(target: "Settings") -> None:
    """Ask the engine of the target, if it is a service, before anything is written."""
    from findspot.engines.opening import namespaces_of_service

    if target.engine == "turbopuffer":
        await asyncio.to_thread(namespaces_of_service, target)


async def _index_and_switch(
    moving: "Moving", api: Any, target: "Settings", data: Path | None, progress: "_Lines"
) -> dict[str, Any]:
    from findspot.content import moved_index

    await moved_index.wait(moving, progress.left)
    progress.say("Comparing every row", now=True)
    await moving.verify()
    progress.say("Comparing every chunk", now=True)
    compared = await moved_index.verify(moving, api.state.app.engine)
    searches = await _compare_searches(moving, api, data, progress)
    progress.say("Switching: changes are refused for a moment", now=True)
    moved = await moving.switch()
    return {
        "target": _name(target),
        "engine": target.engine,
        "rows": moved.rows,
        "rows_moved": sum(moved.rows.values()),
        "chunks_compared": compared.in_databases,
        "chunks_compared_with_engine": compared.in_engine,
        "searches_compared": searches,
        "changes_refused_s": round(moved.frozen_s, 3),
    }


async def _compare_searches(moving: "Moving", api: Any, data: Path | None, progress: "_Lines") -> int:
    """Search for some passages on both sides: the target has to find the best passage of the source as well."""
    import httpx2

    from findspot.content.moved_index import samples
    from findspot.surfaces.cli.inprocess import InProcess

    found = await samples(moving.source, _SAMPLES)
    headers = bearer(api.state.app.token)
    new = httpx2.AsyncClient(base_url="http://localhost", headers=headers, transport=InProcess(api))
    async with opened_api(None, None, data, as_json=True) as old, new:
        for number, sample in enumerate(found):
            progress.say(f"Comparing searches: {number} of {len(found)}")
            await _compare_search(moving, old, Api(new, True, True, ""), sample)
    return len(found)


async def _compare_search(moving: "Moving", old: Api, new: Api, sample: "Sample") -> None:
    """Raise CannotMove if the target does not find the best passage of the source.

    Texts are compared, not places: of equal passages either side may show any first. A text that was changed at this
    moment gets time to be indexed.
    """
    from findspot.content.moving import CannotMove

    for _ in range(_ATTEMPTS):
        best = (await _found(old, sample))[:1]
        if not best or best[0] in await _found(new, sample):
            return
        await asyncio.sleep(_PAUSE_S)
        await moving.catch_up()
    where = f"in project {sample.project_id}" if sample.project_id else f"with tool {sample.tool_id}"
    raise CannotMove(f"A search {where} does not find at the target what it finds here. Nothing was switched.")


async def _found(api: Api, sample: "Sample") -> list[str]:
    """Return the texts of the best hits: of a keyword search of documents, or of a tool."""
    query = sample.text[:_SAMPLE_LENGTH]
    if sample.tool_id is not None:
        answer = await api.call("POST", f"/api/v1/tools/{sample.tool_id}/call", json={"arguments": {"query": query}})
        return [hit["chunk"]["chunk_text"] for hit in answer["results"]]
    body = {"query": query, "exact": True, "limit": _FIRST, "includeDuplicates": True}
    answer = await api.call("POST", f"/api/v1/projects/{sample.project_id}/search/fts/query", json=body)
    return [hit["snippet"] for hit in answer["results"]]


# ── places ──


def _place(settings: "Settings") -> tuple[str | None, Path]:
    url = settings.database_url.get_secret_value() if settings.database_url else None
    return url, settings.data / "findspot.db"


def _name(settings: "Settings") -> str:
    """Return where an installation is, without user and password."""
    from sqlalchemy import make_url

    if settings.database_url is None:
        return f"SQLite in {settings.data.resolve()}"
    url = make_url(settings.database_url.get_secret_value())
    return f"PostgreSQL {url.database or ''} at {url.host or url.query.get('host') or 'localhost'}"


def _claimed(target: "Settings", closing: contextlib.AsyncExitStack) -> "DataFolder":
    """Return the data folder of the target, locked unless all data is in shared services."""
    from findspot.runtime.data_folder import DataFolder, FolderInUse, make

    folder = DataFolder(target.data)
    try:
        with opening_failures(target):
            if target.shared:
                make(target.data)
            else:
                folder.claim()
                closing.callback(folder.release)
    except FolderInUse as error:
        raise Failure(str(error), exit_code=7) from None
    return folder


def _keep_token(source: "Settings", target: "Settings") -> None:
    """Give the target the owner's token, unless it comes from the settings."""
    from findspot.runtime import owner_token

    if source.token is None and (token := owner_token.kept(source.data)):
        owner_token.write(target.data, token)


class _Lines:
    """Prints the progress to standard error, a line every few seconds."""

    _EVERY_S = 2.0

    def __init__(self, silent: bool) -> None:
        self._silent = silent
        self._next = 0.0

    def say(self, text: str, *, now: bool = False) -> None:
        at = asyncio.get_running_loop().time()
        if not self._silent and (now or at >= self._next):
            self._next = at + self._EVERY_S
            click.echo(text, err=True)

    def left(self, left: "Left") -> None:
        text = f"Indexing: {left.sources:,} tables and documents left; {left.chunks:,} chunks wait for the engine"
        self.say(f"{text}. It fails, and is tried again: {left.error}" if left.error else text)

    def rows(self, table: str, count: int) -> None:
        self.say(f"Copying {table.replace('_', ' ')}: {count:,} rows")
