"""Turns errors of the database drivers into errors of Findspot."""

import contextlib
import errno
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from findspot.errors import FindspotError
from findspot.store.files import disk_full

_SQLITE_DISK_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_POSTGRES_DISK_FULL = "53100"
_POSTGRES_CANCELLED = "57014"
FROZEN = "findspot: this installation is being moved"  # raised by triggers (moves.py)
FROZEN_RETRY_MS = 2000


@contextlib.asynccontextmanager
async def database_errors(on_full: Callable[[], None] | None = None) -> AsyncIterator[None]:
    """Turn errors of the database into errors of Findspot, and call `on_full` if its disk is full."""
    try:
        with raised_as_findspot_errors():
            yield
    except FindspotError as error:
        if error.code == "DISK_FULL" and on_full is not None:
            on_full()
        raise


@contextlib.contextmanager
def raised_as_findspot_errors() -> Iterator[None]:
    """Raise DISK_FULL if the disk is full, and STORE_UNAVAILABLE, without the SQL, if the database is unreachable,
    locked or damaged."""
    try:
        yield
    except (sa.exc.IntegrityError, sa.exc.ProgrammingError, sa.exc.DataError) as error:
        if _is_frozen(error):
            raise _frozen() from error
        raise  # the statement is wrong, not the database
    except (DBAPIError, sqlite3.Error, PoolTimeout, OSError) as error:
        if _is_disk_full(error):
            raise disk_full() from error
        if _is_frozen(error):
            raise _frozen() from error
        if _sqlstate(error) == _POSTGRES_CANCELLED:
            raise FindspotError(
                "STORE_UNAVAILABLE", "A query of the database took too long and was stopped."
            ) from error
        raise FindspotError("STORE_UNAVAILABLE", "The database cannot be used right now.") from error


def _is_disk_full(error: BaseException) -> bool:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_OK) in _SQLITE_DISK_FULL
    if isinstance(cause, OSError):
        return cause.errno in (errno.ENOSPC, errno.EDQUOT)
    return _sqlstate(error) == _POSTGRES_DISK_FULL


def _is_frozen(error: BaseException) -> bool:
    return isinstance(error, DBAPIError) and FROZEN in str(error.orig)


def _frozen() -> FindspotError:
    message = (
        "This installation is being moved to another database, and refuses changes for a few seconds. If that lasts, "
        "it has moved: use the server there."
    )
    return FindspotError("STORE_UNAVAILABLE", message, retryAfterMs=FROZEN_RETRY_MS)


def _sqlstate(error: BaseException) -> str | None:
    """Return PostgreSQL's code of an error."""
    return getattr(error.orig if isinstance(error, DBAPIError) else error, "sqlstate", None)


def is_locked(error: BaseException) -> bool:
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = cause.sqlite_errorcode if isinstance(cause, sqlite3.OperationalError) else sqlite3.SQLITE_OK
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
