"""Help texts, and suggestions for mistyped commands."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from findspot import __version__
from findspot.surfaces.cli.main import COMMANDS, cli
from tests.cli.command import findspot

HEAVY = (
    *("fastapi", "sqlalchemy", "pydantic", "httpx2", "rich", "msgspec", "uvicorn", "alembic", "psycopg", "structlog"),
    *("numpy", "sentencepiece", "tantivy"),
)


def every_command(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every_command(below, *path, name)


@pytest.mark.parametrize("path", list(every_command(cli)), ids=" ".join)
def test_every_command_has_a_help_with_usage_and_a_sentence(path: tuple[str, ...]) -> None:
    for option in ("--help", "-h"):
        ended = findspot(*path, option)
        assert (ended.code, ended.err) == (0, "")
        usage, _, sentence, *_ = ended.out.splitlines()
        assert usage.startswith(" ".join(("Usage: findspot", *path)))
        assert sentence.startswith("  ")
        assert sentence.strip()


def test_the_list_of_commands_matches_the_help_of_each() -> None:
    for name, summary in COMMANDS.items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        first = (command.help or "").split(". ")[0].split("\n")[0].rstrip(".")
        assert summary.rstrip(".") in (first, "Check this installation and print what to do")


def test_help_imports_nothing_heavy() -> None:
    script = f"""
import sys
from findspot.surfaces.cli.main import run
try:
    run(["--help"])
except SystemExit as end:
    assert end.code == 0
print("loaded:", [name for name in {HEAVY!r} if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "loaded: []"


def test_version() -> None:
    for option in ("--version", "-V"):
        assert findspot(option).out == f"findspot {__version__}\n"


@pytest.mark.parametrize("path", [(), ("project",), ("key",), ("table",)])
def test_a_group_alone_prints_its_help(path: tuple[str, ...]) -> None:
    ended = findspot(*path)
    assert ended.code == 2
    assert "Commands:" in ended.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("tabel", "table"), ("projects", "project"), ("doctr", "doctor"), ("table lst", "list"), ("key creat", "create")],
)
def test_a_mistyped_command_gets_a_suggestion(typed: str, meant: str) -> None:
    ended = findspot(*typed.split(), "1")
    assert ended.code == 2
    assert f"There is no command '{typed.split()[-1]}'. Did you mean '{meant}'?" in ended.err
    assert ended.out == ""


def test_an_unknown_command_gets_the_list_of_commands() -> None:
    assert "Commands: create, list, status, delete." in findspot("project", "xyzzy").err


def test_a_missing_argument_is_named_with_the_usage() -> None:
    ended = findspot("project", "create")
    assert ended.code == 2
    assert ended.err == (
        "✗ Missing argument 'NAME'.\n"
        "  Usage: findspot project create [OPTIONS] NAME\n"
        "  'findspot project create --help' shows more.\n"
    )
