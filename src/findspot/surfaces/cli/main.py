"""The `findspot` command and its groups. A group's module is loaded only when it is used, so that `--help` is quick."""

import importlib
import keyword
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from findspot import __version__
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import has_colours

COMMANDS = {
    "serve": "Start the server: API and storage, on 127.0.0.1:8321.",
    "project": "Make, list, show and delete projects.",
    "key": "Make, list and revoke the keys of a project.",
    "table": "Make, read, change and delete JSON tables.",
    "tool": "Make, list, call and delete tools: what agents may do with a table.",
    "endpoint": "Make endpoints for agents, and say which tools stand behind them.",
    "document": "Make, read, change and delete documents.",
    "version": "List, read, compare and restore what a document held before.",
    "search": "Search the documents of a project.",
    "eval": "Judge the search by a file of queries with expected places.",
    "backup": "Save everything at one moment to FILE, while the server goes on working.",
    "restore": "Put a backup into an empty data folder or database: all of it, or nothing.",
    "import": "Import folders, archives and files into a project.",
    "export": "Write everything of a project into a folder or an archive.",
    "reindex": "Index documents, and what search tools see, anew.",
    "mcp": "Connect a desktop client to an endpoint: MCP on standard input and output.",
    "calibrate": "Fit the score of the embedder that is set to pairs of related and unrelated texts.",
    "doctor": "Check this installation and say what to do.",
}


class LazyGroup(Group):
    """A group that knows its commands' names and one-line helps, and imports the rest on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(_module(cmd_name)).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _module(command: str) -> str:
    """Return the module of a command. `serve` starts processes, so it lives with them in `findspot.server`."""
    if command == "serve":
        return "findspot.server.command"
    return f"findspot.surfaces.cli.{command}{'_' if keyword.iskeyword(command) else ''}"


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="findspot %(version)s")
def cli() -> None:
    """Search huge JSON and long documents; get the passage and exactly where it stands.

    Start with 'findspot serve'. Every other command talks to the running server, or works on the data folder itself
    when none is running. '--json' gives output for machines.

    \b
    A first walk, in a second terminal:
      findspot project create library
      findspot table create 1 books '[{"title": "Mardi"}]'
      findspot table get 1 /0/title
    """


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point: errors become a sentence and an exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    _never_fail_on_a_character()
    try:
        colour = None if has_colours() else False
        code = cli.main(args=given, prog_name="findspot", standalone_mode=False, color=colour)
    except Failure as failure:
        code = _show(failure, given)
    except click.exceptions.NoArgsIsHelpError as bare:
        bare.show()
        code = bare.exit_code
    except click.UsageError as wrong:
        code = _show(Failure(wrong.format_message(), _usage(wrong), wrong.exit_code), given)
    except click.Abort:
        code = 130
    sys.exit(code)


def _show(failure: Failure, given: Sequence[str]) -> int:
    failure.show(as_json="--json" in given)
    return failure.exit_code


def _usage(wrong: click.UsageError) -> str:
    if wrong.ctx is None:
        return ""
    return f"{wrong.ctx.get_usage()}\n'{wrong.ctx.command_path} --help' says more."


def _never_fail_on_a_character() -> None:
    """A terminal that knows no '✓' gets a '?', not a trace."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
