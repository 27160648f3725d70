"""How a command ends: a failure is a sentence, what to do about it, and an exit code that means something."""

import json
import re
import sys
from typing import Any

import click

from findspot.errors import KINDS
from findspot.surfaces.cli.printing import hang, styled

# What an exit code means; docs/cli.md is made from this.
EXIT_CODES = {
    0: "done",
    1: "it failed for a reason not listed here, or the answer to a question was no",
    2: "the command, its input or a setting is wrong",
    3: "there is no such thing, or the key may not see it",
    4: "the key is missing, wrong or not allowed to do this",
    5: "it conflicts with the present state; nothing was changed",
    6: "too large",
    7: "the server, its database or the data folder cannot be used right now",
    130: "interrupted with Ctrl-C",
}
_BY_STATUS = {401: 4, 403: 4, 404: 3, 409: 5, 412: 5, 413: 6, 422: 2, 429: 7, 503: 7, 504: 7, 507: 6}
_CODES = {2: "INVALID_ARGUMENT", 3: "NOT_FOUND", 7: "UNREACHABLE"}
# Where the advice for callers of the API would not help someone at a prompt.
_ADVICE = {
    "UNAUTHORIZED": "Give a valid key with --key or FINDSPOT_KEY. A server started with FINDSPOT_TOKEN wants that one.",
    "INVALID_ARGUMENT": "",
    "NOT_FOUND": "",
    "PRECONDITION_FAILED": "Look at the table again, then give the new number with --if-revision.",
}
_NO_SUCH = re.compile(r"There is no such (?:search )?(\w+),")
# Where to look what there is instead.
_LISTS = {
    "project": "project list",
    "key": "key list PROJECT",
    "table": "table list PROJECT",
    "tool": "tool list PROJECT",
    "endpoint": "endpoint list PROJECT",
    "binding": "endpoint tools ENDPOINT",
    "document": "document list PROJECT",
    "version": "version list DOCUMENT",
}


class Failure(Exception):
    """A failure to be shown as a sentence, with what to do about it."""

    def __init__(self, message: str, advice: str = "", exit_code: int = 1, body: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.exit_code = exit_code
        self.body = body or {"code": _CODES.get(exit_code, "FAILED"), "message": message}

    @classmethod
    def from_answer(cls, status: int, body: dict[str, Any]) -> "Failure":
        """What the server said no with."""
        code = str(body.get("code", ""))
        advice = _ADVICE.get(code, KINDS[code].advice if code in KINDS else "")
        if missing := _NO_SUCH.match(str(body.get("message", ""))):
            known = _LISTS.get(missing[1])
            advice = f"'findspot {known}' shows what there is." if known else advice
        return cls(str(body.get("message", f"HTTP {status}")), advice, _BY_STATUS.get(status, 1), body)

    def show(self, as_json: bool) -> None:
        if as_json:
            click.echo(json.dumps(self.body, ensure_ascii=False).encode(), err=True)
            return
        click.echo(styled("✗ ", fg="red") + hang(self.message, 2, sys.stderr), err=True)
        if self.advice:
            click.echo("  " + hang(self.advice, 2, sys.stderr), err=True)
