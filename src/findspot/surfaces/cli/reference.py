"""The reference pages, made from what they describe, so that they cannot differ from it.

    python -m findspot.surfaces.cli.reference docs

Nothing of the machine goes into them: no terminal width, no variable, no path.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from findspot.errors import KINDS
from findspot.settings import Settings
from findspot.surfaces.cli.main import cli
from findspot.surfaces.cli.markdown import page, table, text
from findspot.surfaces.cli.outcome import EXIT_CODES
from findspot.surfaces.http.access import RULES
from findspot.surfaces.http.api import create_api

_WIDTH = 88
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_HEADING = re.compile(r"    # ── (.+) ──")
_FIELD = re.compile(r"    (\w+): ")


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {"settings.md": settings_page(), "cli.md": cli_page(), "errors.md": errors_page(), "api.md": api_page()}


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0] if arguments else "docs")
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in pages().items():
        (folder / name).write_text(written, encoding="utf-8")


# ── settings ──


def settings_page() -> str:
    known = Settings.model_json_schema(by_alias=True)["properties"]
    return page(
        "Settings",
        "Findspot runs with nothing set. Environment variables are read once, at the start: an empty one counts as not "
        "set, and a value that cannot be is refused with its name. `findspot doctor` shows which are set.",
        *(part for heading, names in _settings_by_heading() for part in (f"## {heading}", _settings(names, known))),
    )


def _settings_by_heading() -> Iterable[tuple[str, list[str]]]:
    """The variables below the headings that settings.py itself has."""
    heading, found = "Others", dict[str, list[str]]()
    for line in inspect.getsource(Settings).splitlines():
        if title := _HEADING.fullmatch(line):
            heading = title[1][:1].upper() + title[1][1:]
        elif (field := _FIELD.match(line)) and field[1] in Settings.model_fields:
            found.setdefault(heading, []).append(str(Settings.model_fields[field[1]].alias))
    return found.items()


def _settings(names: Iterable[str], known: dict[str, Any]) -> str:
    rows = [(f"`{name}`", *_value(known[name]), text(known[name].get("description", ""))) for name in names]
    return table(("variable", "value", "default", "meaning"), rows)


def _value(schema: dict[str, Any]) -> tuple[str, str]:
    """What a setting takes, and what it is when it is not set."""
    default = schema.get("default")
    kind = next((each for each in schema.get("anyOf", ()) if each["type"] != "null"), schema)
    return _kind(kind), "–" if default is None else f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if schema["type"] == "string":
        return {"password": "secret", "path": "path"}.get(schema.get("format", ""), "text")
    name = {"integer": "whole number", "number": "number", "boolean": "`true`, `false`"}[schema["type"]]
    return ", ".join([name, *_bounds(schema)])


def _bounds(schema: dict[str, Any]) -> Iterator[str]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        yield f"{least:,} to {most:,}"
    elif least is not None:
        yield f"from {least:,}"
    if "exclusiveMinimum" in schema:
        yield f"above {schema['exclusiveMinimum']:g}"


# ── the command line ──


def cli_page() -> str:
    return page(
        "The command line",
        "`findspot` talks to the running server, to the one that `--url` names, or, when none is running, works on the "
        "data folder itself. Results go to standard output; with `--json` they are one JSON value.",
        "## On a terminal",
        "There are colours, unless the variable `NO_COLOR` is set, and lines are wrapped by columns. Where there are "
        "no colours, as in a pipe, what a search found stands between `«` and `»`, and the parts of a score are `█` "
        "words, `▒` meaning and `░` recency. Notices and explanations are in Chinese where `LANGUAGE`, `LC_ALL`, "
        "`LC_MESSAGES` or `LANG` says so.",
        "What a terminal would obey, such as escapes in a document, is shown by a sign in its place: `␛`, or `�` for "
        "what turns the order of letters around. In a pipe, the content of documents and tables stays as it is; "
        "`--json` always does.",
        "## Exit codes",
        "An error is a sentence on standard error, with `--json` an object with `code` and `message`.",
        table(("code", "meaning"), [(str(code), text(meaning)) for code, meaning in EXIT_CODES.items()]),
        *(part for path, text in _helps(cli, None, "findspot") for part in (f"## {path}", f"```text\n{text}\n```")),
    )


def _helps(command: click.Command, parent: click.Context | None, name: str) -> Iterator[tuple[str, str]]:
    """The help of a command and of all below it."""
    width = {"terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = click.Context(command, parent, name, **{**command.context_settings, **width})
    yield context.command_path, click.unstyle(command.get_help(context))
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            if below is not None:
                yield from _helps(below, context, each)


# ── errors ──


def errors_page() -> str:
    rows = [
        (f"`{kind.code}`", str(kind.status), "yes" if kind.retryable else "no", text(kind.advice))
        for kind in KINDS.values()
    ]
    return page(
        "Errors",
        'Every error is an object `{"code": …, "message": …}`, in HTTP with the status below. The code stays the same '
        "from version to version, the message is for people. The command line ends with "
        "[exit codes](cli.md#exit-codes) of its own.",
        table(("code", "status", "try again?", "what to do"), rows),
    )


# ── the API ──


def api_page() -> str:
    described = dict(_operations())
    return page(
        "The API",
        "A key goes into `Authorization: Bearer …` or `X-API-Key`. A role may do all that the ones before it may: "
        "read, write, admin, and the owner, whose token the first start leaves in the data folder; what a key may not "
        "see answers like what is not there. [Errors](errors.md) have one shape, and a running server describes itself "
        "in OpenAPI at `/openapi.json`.",
        *(part for tag, names in _routes_by_tag(described) for part in (f"## {tag}", _routes(names, described))),
    )


def _operations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each route with its OpenAPI description; routes for browsers, which OpenAPI leaves out, with their docstring."""
    api = create_api(Settings.model_construct())  # the defaults, whatever the environment says
    for route in api.routes:
        for method in getattr(route, "methods", None) or ():
            said = inspect.getdoc(getattr(route, "endpoint", None)) or ""
            yield f"{method} {getattr(route, 'path', '')}", {"description": said}
    for path, methods in api.openapi()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _routes_by_tag(described: dict[str, dict[str, Any]]) -> Iterable[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for name in RULES:
        (tag, *_) = described[name].get("tags", ["home"])
        found.setdefault(tag.capitalize(), []).append(name)
    return found.items()


def _routes(names: Iterable[str], described: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name in sorted(names, key=_path_then_method):
        method, path = name.split(" ")
        role = RULES[name].role
        rows.append((method, f"`{path}{_query(described[name])}`", role or "open", text(_first(described[name]))))
    return table(("method", "path", "least role", "what it does"), rows)


def _path_then_method(name: str) -> tuple[str, int]:
    method, path = name.split(" ")
    return path, _METHODS.index(method)


def _query(operation: dict[str, Any]) -> str:
    names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
    return "?" + "&".join(f"{name}=" for name in names) if names else ""


def _first(operation: dict[str, Any]) -> str:
    """The first paragraph, in one line."""
    return " ".join(operation.get("description", "").split("\n\n")[0].split())


if __name__ == "__main__":
    main(sys.argv[1:])
