"""Structured logs: one line per event, with the request id and without secrets."""

import asyncio
import logging
import re
import sys
import traceback
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor

_DATABASES = {"sqlalchemy", "psycopg", "sqlite3"}
_SECRET = re.compile(r"fs[ke]_[A-Za-z0-9_-]{8,}|(?<=[?&]token=)[^&\s\"']+")


def configure(
    level: str, form: Literal["auto", "json", "console"], secrets: tuple[str, ...] = (), stream: TextIO | None = None
) -> None:
    """Set up logging for the process. Replace `secrets` wherever they appear."""
    stream = stream or sys.stderr
    readable = form == "console" or (form == "auto" and stream.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(_trace),
        _redact(secrets),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        cache_logger_on_first_use=False,
    )
    renderer = structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer(ensure_ascii=False)
    handler = logging.StreamHandler(stream)
    handler.addFilter(_is_fault)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=shared,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)  # at lower levels libraries log statements and addresses, which contain user content
    logging.getLogger("findspot").setLevel(level.upper())


def _is_fault(record: logging.LogRecord) -> bool:
    """Drop what the connection pool logs as an error when a client hangs up and its query is cancelled."""
    cancelled = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not (cancelled and record.name.startswith("sqlalchemy.pool"))


def _trace(exc_info: ExcInfo) -> str:
    """Return a traceback with only the first line of database errors: the other lines hold values and SQL."""
    text, error = "".join(traceback.format_exception(*exc_info)).rstrip(), exc_info[1] or None
    while error is not None:
        if type(error).__module__.partition(".")[0] in _DATABASES:
            text = text.replace(str(error), str(error).partition("\n")[0])
        error = error.__cause__ or error.__context__
    return text


def _redact(secrets: tuple[str, ...]) -> Processor:
    def redact(logger: Any, method: str, event: EventDict) -> EventDict:
        for name, value in event.items():
            if isinstance(value, str):
                for secret in secrets:
                    value = value.replace(secret, "…")
                event[name] = _SECRET.sub("…", value)
        return event

    return redact
