"""Generate the reference pages in docs/ from the code, so that they always match it.

    python -m findspot.surfaces.cli.reference docs

They do not depend on the machine: not on the terminal width, the environment or paths.
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
from findspot.surfaces.cli.failure import EXIT_CODES
from findspot.surfaces.cli.main import cli
from findspot.surfaces.cli.markdown import page, table, text
from findspot.surfaces.http.api import every_route
from findspot.surfaces.http.openapi import describe
from findspot.surfaces.http.rules import RULES

_WIDTH = 88
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_HEADING = re.compile(r"    # ── (.+) ──")
_FIELD = re.compile(r"    (\w+): ")


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    return {"settings.md": settings_page(), "cli.md": cli_page(), "errors.md": errors_page(), "api.md": api_page()}


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0] if arguments else "docs")
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in pages().items():
        (folder / name).write_text(written, encoding="utf-8")


# ── settings ──


def settings_page() -> str:
    schemas = Settings.model_json_schema(by_alias=True)["properties"]
    return page(
        "Settings",
        "Every setting has a default. Environment variables are read once, at the start. An empty one counts as not "
        "set; an invalid value is refused with the name of its variable. `findspot doctor` shows which are set.",
        *(part for heading, names in _settings_by_heading() for part in (f"## {heading}", _settings(names, schemas))),
    )


def _settings_by_heading() -> Iterable[tuple[str, list[str]]]:
    """Return the variables by the headings in settings.py."""
    heading, found = "Others", dict[str, list[str]]()
    for line in inspect.getsource(Settings).splitlines():
        if title := _HEADING.fullmatch(line):
            heading = title[1][:1].upper() + title[1][1:]
        elif (field := _FIELD.match(line)) and field[1] in Settings.model_fields:
            found.setdefault(heading, []).append(str(Settings.model_fields[field[1]].alias))
    return found.items()


def _settings(names: Iterable[str], schemas: dict[str, Any]) -> str:
    rows = [(f"`{name}`", *_value(schemas[name]), text(schemas[name].get("description", ""))) for name in names]
    return table(("variable", "value", "default", "meaning"), rows)


def _value(schema: dict[str, Any]) -> tuple[str, str]:
    """Return the kind of value a setting takes, and its default."""
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
        "`findspot` talks to the running server, or to the one that `--url` names. If no server is running, it opens "
        "the data folder itself. Results go to standard output; with `--json` they are one JSON value.",
        "## On a terminal",
        "Output has colours, unless the variable `NO_COLOR` is set, and lines are wrapped to the terminal. Without "
        "colours, as in a pipe, matches of a search are between `«` and `»`, and the parts of a score are `█` words, "
        "`▒` meaning and `░` recency. Notices and explanations are in Chinese if `LANGUAGE`, `LC_ALL`, `LC_MESSAGES` "
        "or `LANG` asks for it.",
        "Control characters in content, such as escape sequences, are not sent to the terminal. A visible character "
        "takes their place: `␛`, or `�` for characters that change the text direction. In a pipe, the content of "
        "documents and tables is not changed; with `--json` it never is.",
        "## Exit codes",
        "An error is a message on standard error, with `--json` an object with `code` and `message`.",
        table(("code", "meaning"), [(str(code), text(meaning)) for code, meaning in EXIT_CODES.items()]),
        *(part for path, text in _helps(cli, None, "findspot") for part in (f"## {path}", f"```text\n{text}\n```")),
    )


def _helps(command: click.Command, parent: click.Context | None, name: str) -> Iterator[tuple[str, str]]:
    """Yield the help of a command and of all its subcommands."""
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
        'Every error is an object `{"code": …, "message": …}`; over HTTP it has the status below. Programs should use '
        "`code`, which does not change between versions; `message` is for people. The command line has its own "
        "[exit codes](cli.md#exit-codes).",
        table(("code", "status", "try again?", "what to do"), rows),
    )


# ── the API ──


def api_page() -> str:
    described = dict(_operations())
    return page(
        "The API",
        "Send a key as `Authorization: Bearer …` or `X-API-Key`. The roles are read, write, admin and owner; each may "
        "do everything that the roles before it may. The owner's token is made at the first start and kept in the data "
        "folder. An object that a key may not see answers 404, as if it did not exist.",
        "`/openapi.json` of a running server (no key needed) and `findspot openapi` describe every request, answer and "
        "error; client generators such as `@hey-api/openapi-ts` make a typed client from it. All [errors](errors.md) "
        "have one shape. A server that is out of memory for large request bodies (see `FINDSPOT_BODY_MEMORY`), has as "
        "many busy connections as it can serve, or has waited 30 seconds for the next piece of a body, answers 503 "
        "`SERVER_BUSY` with `retryAfterMs`.",
        *(part for tag, names in _routes_by_tag(described) for part in (f"## {tag}", _routes(names, described))),
    )


def _operations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each route with its OpenAPI description, or with its docstring if it is not in OpenAPI."""
    routes = every_route()
    for route in routes:
        yield f"{route.method} {route.path}", {"description": inspect.getdoc(route.endpoint) or ""}
    for path, methods in describe(routes)["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _routes_by_tag(described: dict[str, dict[str, Any]]) -> Iterable[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for name in RULES:
        (tag, *_) = described[name].get("tags", ["home"])
        found.setdefault("MCP" if tag == "mcp" else tag.capitalize(), []).append(name)
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
    """Return the first paragraph of the description, in one line."""
    return " ".join(operation.get("description", "").split("\n\n")[0].split())


if __name__ == "__main__":
    main(sys.argv[1:])
