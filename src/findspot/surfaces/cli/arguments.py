"""Parameter types of commands: text, JSON, content, URL. They are checked before anything is opened."""

import contextlib
import enum
import os
import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.surfaces.cli.failure import Failure

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _Text(click.ParamType[str]):
    """Text in UTF-8. A shell also passes bytes that are not."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail("not UTF-8.", param, ctx)
        return str(value)


class _Time(click.ParamType[str]):
    """A date, a time, or an age such as 12h, 7d or 4w. Returns it as the API takes it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value).strip()
        if _DATE.fullmatch(text):
            return text
        try:
            if age := _AGE.fullmatch(text):
                time = datetime.now(UTC) - int(age[1]) * _AGE_UNITS[age[2]]
            else:
                time = datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is no date such as 2026-11-01, and no age such as 12h, 7d or 4w.", param, ctx)
        return time.isoformat().replace("+00:00", "Z")


class _Json(click.ParamType[bytes]):
    """JSON: the text itself, '-' for standard input, or '@FILE'."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        if isinstance(value, bytes):
            return value
        if value == "-":
            return _checked(_standard_input(), "Standard input")
        if value.startswith("@"):
            return _checked(_read_file(value[1:]), value[1:])
        return _checked(os.fsencode(value), "JSON", typed=value)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a document, and the format that its file name suggests."""

    data: bytes
    form: str = "text"

    def text(self) -> str:
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Failure(
                f"The content is not UTF-8 (byte {error.start}).", "Convert it, for example with iconv.", 2
            ) from None


class _Content(click.ParamType[Content]):
    """Content: the text itself, '-' for standard input, or '@FILE'."""

    name = "content"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Content:
        if isinstance(value, Content):
            return value
        if value == "-":
            return Content(_standard_input("the text"))
        if value.startswith("@"):
            return Content(_read_file(value[1:]), _FORMATS.get(Path(value).suffix.lower(), "text"))
        return Content(os.fsencode(value))


ENDPOINT_URL = re.compile(r"https?://[^?#]+/mcp/[0-9]+/?")


class _Url(click.ParamType[str]):
    """The URL of a server."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).startswith(("http://", "https://")):
            self.fail(f"{value!r} must start with http:// or https://.", param, ctx)
        return str(value)


class Named(str):
    """The name of an object, which is looked up when the command has connected."""

    must_be_unique = False  # in all projects, not only in the one used last


class _UniqueName(Named):
    must_be_unique = True


class _LastUsed(enum.Enum):
    """Stands for the project that was used last."""

    PROJECT = "-"


LAST_USED = _LastUsed.PROJECT


class _Reference(click.ParamType["int | Named"]):
    """The id of an object, or its name."""

    name = "id or name"
    named: type[Named] = Named

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "int | Named":
        if isinstance(value, int):
            return value
        text = TEXT.convert(value, param, ctx)
        return int(text) if text.isascii() and text.removeprefix("-").isdigit() else self.named(text)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from findspot.surfaces.cli.completing import complete_name

        return complete_name(ctx, param.name or "", incomplete)


class _UniqueReference(_Reference):
    """The id of an object, or a name that nothing else has: for commands that delete."""

    named = _UniqueName


class _Project(_Reference):
    """A project, or '-' for the one that was used last."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return LAST_USED if value in ("-", LAST_USED) else super().convert(value, param, ctx)


class _TableOrNone(_Reference):
    """A table, or '-' for none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return None if value == "-" else super().convert(value, param, ctx)


TEXT, JSON, CONTENT, URL, TIME = _Text(), _Json(), _Content(), _Url(), _Time()
REFERENCE, UNIQUE_REFERENCE, TABLE_OR_NONE = _Reference(), _UniqueReference(), _TableOrNone()

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_AGE = re.compile(r"(\d{1,6})([hdw])", re.ASCII)
_AGE_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_FORMATS = {".md": "markdown", ".markdown": "markdown", ".json": "tiptap"}


# A command of fixed length may leave the project out: see `groups.Command`. Others take '-' for the one used last.
OPTIONAL_PROJECT = click.argument("project_id", metavar="[PROJECT]", type=_Project())
PROJECT = click.argument("project_id", metavar="PROJECT", type=_Project())
PROJECT_OPTION = click.option(
    "--project", "project_id", type=_Project(), metavar="PROJECT", help="The project; by default the one used last."
)
DUPLICATE = click.option("--duplicate", is_flag=True, help="Allow a name that another one in the project has.")
YES = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def confirm(
    question: str,
    yes: bool = False,
    what: str = "",
    *,
    declined: str = "Nothing was deleted.",
    without_terminal: str = "This cannot be undone.",
) -> None:
    """Ask the user, unless '--yes' was given. Without a terminal, require it. `what` says what would be deleted."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Failure(f"{without_terminal} {what}".rstrip(), "Add --yes to do it.", 2)
    try:
        agreed = click.confirm(f"{what} {question}".lstrip(), err=True)
    except click.Abort:  # Ctrl-C leaves the cursor after the question
        click.echo(err=True)
        raise
    if not agreed:
        raise Failure(declined)


def _standard_input(what: str = "JSON") -> bytes:
    if sys.stdin.isatty():
        click.echo(f"Type or paste {what}; Ctrl-D on a line of its own ends it.", err=True)
    return sys.stdin.buffer.read()


def _read_file(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise Failure(f"{name} cannot be read: {error.strerror}.", exit_code=2) from None


def _checked(text: bytes, where: str, typed: str = "") -> bytes:
    """Return the text if it is exactly one JSON value, so that it can be put inside a larger one.

    The server checks it fully.
    """
    import msgspec

    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        reason = str(error).removeprefix("JSON is malformed: ") if text.strip() else "it is empty"
        raise Failure(f"{where} is not valid: {reason}.", _advice(typed) if typed else "", 2) from None
    except RecursionError:
        raise Failure(f"{where} is nested too deep.", exit_code=2) from None
    return text


def _advice(typed: str) -> str:
    """Suggest what the user meant by an argument that is not JSON."""
    with contextlib.suppress(OSError, ValueError):  # it cannot be a file name
        if Path(typed).is_file():
            return f"To use the content of the file {typed}, write @{typed}."
    return "Put JSON in single quotes, and text inside it in double quotes: '\"text\"'."
