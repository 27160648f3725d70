"""Read the settings and open the API in this process. Errors become a Failure with advice."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.errors import in_plain_words
from findspot.surfaces.cli.failure import Failure

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pydantic_core import ErrorDetails

    from findspot.runtime.data_folder import DataFolder
    from findspot.runtime.peers import Peers
    from findspot.settings import Settings

_FIRST_FILES = {"findspot.db", "owner-token", "lock"}  # created by the first start in a data folder
_ALL_SETTINGS = "docs/settings.md describes every setting."
_NO_DATA_ADVICE = "Check the path (--data or FINDSPOT_DATA). 'findspot serve' creates a new data folder there."


def read_settings(data: Path | None = None, **overrides: Any) -> "Settings":
    """Return the settings, overridden by options of the command line. Raise a Failure that names wrong ones."""
    from pydantic import ValidationError

    from findspot.settings import Settings

    given = {name: value for name, value in overrides.items() if value is not None}
    if data is not None:
        given["data"] = data
    try:
        return Settings(**given)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)
        raise Failure("\n".join(map(_sentence, wrong)), _ALL_SETTINGS, 2) from None


def _sentence(wrong: "ErrorDetails") -> str:
    from findspot.settings import Settings

    if not wrong["loc"]:  # about several settings; the message names them
        return f"{wrong['msg'].removeprefix('Value error, ')}."
    name = str(wrong["loc"][0])
    field = Settings.model_fields.get(name)
    return f"{field.alias if field else name}: {in_plain_words(wrong['msg'])}."


def unknown_settings() -> list[tuple[str, str]]:
    """Return a sentence and advice for each variable of the environment that looks like a setting but is none."""
    from findspot.settings import unknown_variables

    return [
        (f"{name} is not a setting and is ignored.", f"Did you mean {nearest}?" if nearest else _ALL_SETTINGS)
        for name, nearest in unknown_variables(os.environ).items()
    ]


def require_data(settings: "Settings") -> None:
    """Raise a Failure if the data folder does not exist. Creating one would hide a mistyped path."""
    if settings.database_url is not None:  # all data is there; the folder can be created again
        return
    with opening_failures(settings):
        try:
            names = {file.name for file in settings.data.iterdir()}
        except FileNotFoundError:
            raise Failure(f"There is no data folder {settings.data}.", _NO_DATA_ADVICE, 3) from None
    if not names & _FIRST_FILES:
        raise Failure(f"The folder {settings.data} contains no Findspot data.", _NO_DATA_ADVICE, 3)


async def open_api(
    settings: "Settings",
    closing: contextlib.AsyncExitStack,
    folder: "DataFolder | None" = None,
    *,
    worker: bool = True,
    peers: "Peers | None" = None,
    serves: str | None = None,
    filling: bool = False,
) -> "FastAPI":
    """Return the API with its app open until `closing` closes it.

    Without `folder`, the data folder is claimed here. Without the index worker, indexing is left to a server. A server
    names the address that it `serves`.
    """
    from findspot.surfaces.http.api import create_api

    api = create_api(settings, folder, worker=worker, peers=peers, serves=serves, filling=filling)
    with opening_failures(settings):
        await closing.enter_async_context(api.router.lifespan_context(api))
    return api


@contextlib.contextmanager
def opening_failures(settings: "Settings") -> Iterator[None]:
    """Turn errors while opening into a Failure. FolderInUse passes through: some callers wait and try again."""
    from findspot.errors import FindspotError

    try:
        yield
    except FindspotError as error:
        raise Failure(error.message, error.kind.advice, 7) from None
    except OSError as error:
        advice = "Check its path and permissions, or choose another folder with --data."
        raise Failure(
            f"The data folder {settings.data} cannot be used: {error.strerror or error}.", advice, 7
        ) from None
