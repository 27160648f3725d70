"""From the settings to an open API; what stands in the way becomes a sentence."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.surfaces.cli.outcome import Failure

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from findspot.settings import Settings


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


@contextlib.contextmanager
def said_plainly(settings: "Settings") -> Iterator[None]:
    """Around the opening of the API. FolderInUse passes: some can wait for it."""
    from sqlalchemy.exc import DBAPIError

    from findspot.errors import FindspotError

    try:
        yield
    except FindspotError as error:
        raise Failure(error.message, error.kind.advice, 7) from None
    except DBAPIError as error:
        raise Failure(
            f"The database cannot be used: {error.orig}.", "Ask 'findspot doctor' what is wrong.", 7
        ) from None
    except OSError as error:
        advice = "Check its path and rights, or choose another with --data."
        raise Failure(
            f"The data folder {settings.data} cannot be used: {error.strerror or error}.", advice, 7
        ) from None
    except ValueError as error:  # the token file is there, but no token in it
        raise Failure(f"{error}.", exit_code=7) from None
