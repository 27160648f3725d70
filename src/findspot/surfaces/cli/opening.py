"""From the settings to an open API; what stands in the way becomes a sentence."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.surfaces.cli.outcome import Failure

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pydantic_core import ErrorDetails

    from findspot.runtime.data_folder import DataFolder
    from findspot.settings import Settings

_OURS = {"findspot.db", "owner-token", "lock"}  # what the first start leaves in a data folder
_START_OR_NAME = "Check the path (--data or FINDSPOT_DATA); 'findspot serve' starts with a new folder there."


def read_settings(data: Path | None = None, **overrides: Any) -> "Settings":
    """The settings, with what was given on the command line; those that are wrong are named."""
    from pydantic import ValidationError

    from findspot.settings import Settings

    given = {name: value for name, value in overrides.items() if value is not None}
    if data is not None:
        given["data"] = data
    try:
        return Settings(**given)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)
        raise Failure("\n".join(map(_sentence, wrong)), "docs/settings.md explains every setting.", 2) from None


def _sentence(wrong: "ErrorDetails") -> str:
    from findspot.settings import Settings

    said = wrong["msg"].removeprefix("Value error, ")
    if not wrong["loc"]:  # about several together; they are named in the sentence
        return f"{said}."
    name = str(wrong["loc"][0])
    field = Settings.model_fields.get(name)
    return f"{field.alias if field else name}: {said[:1].lower()}{said[1:]}."


def require_data(settings: "Settings") -> None:
    """A folder that is only read from has to be there: to make one would hide that its name is wrong."""
    if settings.database_url is not None:  # what is true stands there, and the folder can be made anew
        return
    with said_plainly(settings):
        try:
            held = {each.name for each in settings.data.iterdir()}
        except FileNotFoundError:
            raise Failure(f"There is no data folder {settings.data}.", _START_OR_NAME, 3) from None
    if not held & _OURS:
        raise Failure(f"The folder {settings.data} holds no data of Findspot.", _START_OR_NAME, 3)


async def open_api(
    settings: "Settings",
    closing: contextlib.AsyncExitStack,
    folder: "DataFolder | None" = None,
    *,
    worker: bool = True,
) -> "FastAPI":
    """The API with everything behind it open, until `closing` closes it; on a data folder that is already claimed, or
    is claimed here. Without its worker, what is to be indexed is left to a server."""
    from findspot.surfaces.http.api import create_api

    api = create_api(settings, folder, worker=worker)
    with said_plainly(settings):
        await closing.enter_async_context(api.router.lifespan_context(api))
    return api


@contextlib.contextmanager
def said_plainly(settings: "Settings") -> Iterator[None]:
    """What hinders the opening becomes a Failure. FolderInUse passes: some can wait for it."""
    from findspot.errors import FindspotError

    try:
        yield
    except FindspotError as error:
        raise Failure(error.message, error.kind.advice, 7) from None
    except OSError as error:
        advice = "Check its path and rights, or choose another with --data."
        raise Failure(
            f"The data folder {settings.data} cannot be used: {error.strerror or error}.", advice, 7
        ) from None
