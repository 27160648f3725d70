"""A failed command: its message, what to do about it, and its exit code."""

import json
import re
import sys
from typing import Any

import click

from findspot.errors import KINDS
from findspot.surfaces.cli.printing import hang, styled

# docs/cli.md is generated from this.
EXIT_CODES = {
    0: "success",
    1: "it failed for a reason not listed here, or the user answered no to a question",
    2: "the command, its input or a setting is wrong",
    3: "not found, or the key may not see it",
    4: "the key is missing, wrong or not allowed to do this",
    5: "it conflicts with the current state; nothing was changed",
    6: "too large",
    7: "the server, its database or the data folder is not available now",
    130: "interrupted with Ctrl-C",
}
_BY_STATUS = {401: 4, 403: 4, 404: 3, 409: 5, 412: 5, 413: 6, 422: 2, 429: 7, 503: 7, 504: 7, 507: 6}
_BY_CODE = {"DISK_FULL": 7}
_CODES = {2: "INVALID_ARGUMENT", 3: "NOT_FOUND", 7: "UNREACHABLE"}
# Replaces the advice for API callers where it would not help a user of the command line.
_ADVICE = {
    "UNAUTHORIZED": "Give a valid key with --key or FINDSPOT_KEY. If the server has a FINDSPOT_TOKEN, give that.",
    "INVALID_ARGUMENT": "",
    "NOT_FOUND": "",
    "PRECONDITION_FAILED": "Read the table again, then give its current revision with --if-revision.",
}
# Options by the fields of bodies that they set, unless `--allow-missing` sets `allow_missing` or `allowMissing`.
_OPTIONS = {
    "json_pointer": "--pointer",
    "search_config": "--config",
    "pathPrefix": "--path",
    "documentIds": "--document",
    "updatedAfter": "--since",
    "updatedBefore": "--before",
    "topK": "--top",
    "maxTokens": "--budget",
    "caseSensitive": "--case",
    "wholeWord": "--word",
}
_FIELD = re.compile(r"(?<![\w/'\"])[a-z]+(?:_[a-z]+|[A-Z][a-z]*)+(?!\w)")
_NO_SUCH = re.compile(r"There is no such (?:search )?(\w+),")
# The command that lists the ones that exist, by the kind that was not found.
_LIST_COMMANDS = {
    "project": "project list",
    "key": "key list PROJECT",
    "table": "table list PROJECT",
    "tool": "tool list PROJECT",
    "endpoint": "endpoint list PROJECT",
    "binding": "endpoint tools ENDPOINT",
    "document": "document list PROJECT",
    "version": "version list DOCUMENT",
    "replace": "replace --list",
}


class Failure(Exception):
    """A failure with a message for the user, advice, and an exit code."""

    def __init__(self, message: str, advice: str = "", exit_code: int = 1, body: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.exit_code = exit_code
        self.body = body or {"code": _CODES.get(exit_code, "FAILED"), "message": message}

    @classmethod
    def from_response(cls, status: int, body: dict[str, Any]) -> "Failure":
        """Return the failure for an error response."""
        code = str(body.get("code", ""))
        advice = _ADVICE.get(code, KINDS[code].advice if code in KINDS else "")
        if missing := _NO_SUCH.match(str(body.get("message", ""))):
            list_command = _LIST_COMMANDS.get(missing[1])
            advice = f"'findspot {list_command}' lists the ones that exist." if list_command else advice
        message = _with_options(str(body.get("message", f"HTTP {status}")))
        return cls(message, advice, _BY_CODE.get(code) or _BY_STATUS.get(status, 1), body)

    def show(self, as_json: bool) -> None:
        if as_json:
            click.echo(json.dumps(self.body, ensure_ascii=False).encode(), err=True)
            return
        click.echo(styled("✗ ", fg="red") + hang(self.message, 2, sys.stderr), err=True)
        if self.advice:
            click.echo("  " + hang(self.advice, 2, sys.stderr), err=True)


def _with_options(message: str) -> str:
    """Return a message of the API with the options of the command that runs in place of the fields that they set."""
    context = click.get_current_context(silent=True)
    options = {name for each in context.command.params for name in each.opts} if context else set()

    def option(field: re.Match[str]) -> str:
        dashed = "--" + re.sub("_?([A-Z])|_", lambda at: f"-{(at[1] or '').lower()}", field[0])
        return next((name for name in (_OPTIONS.get(field[0]), dashed) if name in options), field[0])

    return _FIELD.sub(option, message)
