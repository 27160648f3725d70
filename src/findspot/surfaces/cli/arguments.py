"""What can be given to a command: JSON, names, an address. Read and checked before anything is opened."""

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from findspot.surfaces.cli.outcome import Failure


class _Text(click.ParamType[str]):
    """Text that can be sent: a shell also lets bytes pass that are none."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail("this is not UTF-8.", param, ctx)
        return str(value)


class _Json(click.ParamType[bytes]):
    """The text itself, '-' for standard input, or '@FILE'."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        if isinstance(value, bytes):
            return value
        if value == "-":
            return _checked(_standard_input(), "Standard input")
        if value.startswith("@"):
            return _checked(_file(value[1:]), value[1:])
        return _checked(os.fsencode(value), "JSON", meant=value)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a document, and the format its file's name speaks for."""

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
    """The text itself, '-' for standard input, or '@FILE'."""

    name = "content"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Content:
        if isinstance(value, Content):
            return value
        if value == "-":
            return Content(_standard_input("the text"))
        if value.startswith("@"):
            return Content(_file(value[1:]), _FORMATS.get(Path(value).suffix.lower(), "text"))
        return Content(os.fsencode(value))


class _Address(click.ParamType[str]):
    """Where a server is."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).startswith(("http://", "https://")):
            self.fail(f"{value!r} must start with http:// or https://.", param, ctx)
        return str(value)


TEXT, JSON, CONTENT, ADDRESS = _Text(), _Json(), _Content(), _Address()

_FORMATS = {".md": "markdown", ".markdown": "markdown", ".json": "tiptap"}


def asks_first(question: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that asks before something is gone for good. The question may name the arguments: '{table_id}'."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @click.option("--yes", is_flag=True, help="Do not ask.")
        @functools.wraps(function)
        def ask(*args: Any, yes: bool, **kwargs: Any) -> None:
            if not yes:
                _confirm(question.format(**kwargs))
            function(*args, **kwargs)

        return ask

    return decorate


def _confirm(question: str) -> None:
    """Without a terminal there is no one to ask, so '--yes' is needed."""
    if not sys.stdin.isatty():
        raise Failure("This cannot be undone.", "Add --yes to do it.", 2)
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:  # Ctrl-C; the prompt left the cursor behind the question
        click.echo(err=True)
        raise
    if not agreed:
        raise Failure("Nothing was deleted.")


def _standard_input(what: str = "JSON") -> bytes:
    if sys.stdin.isatty():
        click.echo(f"Type or paste {what}; Ctrl-D on a line of its own ends it.", err=True)
    return sys.stdin.buffer.read()


def _file(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise Failure(f"{name} cannot be read: {error.strerror}.", exit_code=2) from None


def _checked(text: bytes, where: str, meant: str = "") -> bytes:
    """One JSON value and nothing after it, so that it can stand inside a larger one. The server looks closer."""
    import msgspec

    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        reason = str(error).removeprefix("JSON is malformed: ") if text.strip() else "there is nothing"
        raise Failure(f"{where} is not valid: {reason}.", _advice(meant) if meant else "", 2) from None
    except RecursionError:
        raise Failure(f"{where} is nested too deep.", exit_code=2) from None
    return text


def _advice(meant: str) -> str:
    """What someone may have had in mind with a JSON argument that is none."""
    with contextlib.suppress(OSError, ValueError):  # what cannot be the name of a file
        if Path(meant).is_file():
            return f"For the content of the file {meant}, write @{meant}."
    return "Put it into single quotes; text needs double ones inside."
