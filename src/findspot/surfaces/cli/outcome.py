"""How a command ends: what it prints, for people or machines, and the exit code."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from findspot.errors import KINDS

# What an exit code means; docs/cli.md has the same table, and a test compares them.
EXIT_CODES = {
    0: "done",
    1: "it failed for a reason not listed here",
    2: "the command or its input is wrong",
    3: "there is no such thing, or the key may not see it",
    4: "the key is missing, wrong or not allowed to do this",
    5: "it conflicts with the present state; nothing was changed",
    6: "too large",
    7: "the server or its database cannot be reached right now",
    130: "interrupted with Ctrl-C",
}
_BY_STATUS = {401: 4, 403: 4, 404: 3, 409: 5, 412: 5, 413: 6, 422: 2, 429: 7, 503: 7, 504: 7}


class Failure(Exception):
    """A failure to be shown as a sentence, with what to do about it."""

    def __init__(self, message: str, advice: str = "", exit_code: int = 1, body: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.exit_code = exit_code
        self.body = body

    @classmethod
    def from_answer(cls, status: int, body: dict[str, Any]) -> "Failure":
        kind = KINDS.get(body.get("code", ""))
        return cls(body.get("message", f"HTTP {status}"), kind.advice if kind else "", _BY_STATUS.get(status, 1), body)

    def show(self) -> None:
        if "--json" in sys.argv:
            body = self.body or {"code": "FAILED", "message": self.message}
            click.echo(json.dumps(body, ensure_ascii=False), err=True)
            return
        click.echo(click.style("✗ ", fg="red") + self.message, err=True)
        if self.advice:
            click.echo("  " + self.advice, err=True)


def show(value: Any, as_json: bool, text: str) -> None:
    """Print a result: the value for machines, the text for people."""
    click.echo(json.dumps(value, ensure_ascii=False) if as_json else text)


def show_rows(value: Any, as_json: bool, rows: Sequence[dict[str, Any]], columns: Sequence[str], empty: str) -> None:
    """Print a list: the value for machines, a table for people, and a sentence when there is nothing."""
    if as_json or not rows:
        show(value, as_json, empty)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        right = isinstance(rows[0][column], int)
        table.add_column(column.replace("_", " "), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(f"{row[column]:,}" if column == "size" else str(row[column]) for column in columns))
    Console(highlight=False).print(table)


def done(text: str) -> str:
    return click.style("✓ ", fg="green") + text
