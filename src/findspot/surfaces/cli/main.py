"""The `findspot` command. A subcommand's module is imported when it is used, so that `--help` is fast."""

import importlib
import keyword
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from findspot import __version__
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.printing import allows_colours

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETION_VARIABLE = "_FINDSPOT_COMPLETE"  # set by the script of a shell; Click derives it from the program's name
COMMANDS = {
    "serve": "Start the server: API, MCP endpoints and index worker.",
    "worker": "Start an index worker, on any machine.",
    "project": "Create, list, show and delete projects.",
    "key": "Create, list and revoke the keys of a project.",
    "table": "Create, read, change and delete JSON tables.",
    "tool": "Create, list, call and delete tools: what agents may do with a table.",
    "endpoint": "Create endpoints for agents and choose their tools.",
    "document": "Create, read, change and delete documents.",
    "version": "List, read, compare and restore earlier versions of a document.",
    "search": "Search the documents of a project.",
    "replace": "Replace text in the documents of a project, with a preview and an undo.",
    "ask": "Show the passages that a language model would be given for a question.",
    "eval": "Measure search quality with a file of queries and expected passages.",
    "backup": "Save a snapshot of everything to FILE while the server keeps running.",
    "restore": "Restore a backup into an empty data folder or database, completely or not at all.",
    "migrate": "Move this installation to another database and engine while it is used.",
    "import": "Import folders, archives and files into a project.",
    "export": "Write all content of a project into a folder or an archive.",
    "reindex": "Rebuild the index of documents and of search tools.",
    "status": "Show how far the index is behind; with --processes, what runs.",
    "openapi": "Write the OpenAPI description of the HTTP API to FILE, or to standard output.",
    "mcp": "Connect a desktop client to an endpoint: MCP on standard input and output.",
    "calibrate": "Calibrate the scores of the configured embedder with pairs of texts.",
    "completion": "Print the script that completes commands and names in your shell.",
    "doctor": "Check this installation and print what to do.",
}

_SERVERS = {"serve": "findspot.server.command", "worker": "findspot.server.worker_process"}


class LazyGroup(Group):
    """A group that knows the names and one-line help of its commands, and imports each on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(_module(cmd_name)).command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return found if not incomplete.startswith("-") else super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _module(command: str) -> str:
    """Return the module of a command. Those that start processes live with them in `findspot.server`."""
    if command in _SERVERS:
        return _SERVERS[command]
    return f"findspot.surfaces.cli.{command}{'_' if keyword.iskeyword(command) else ''}"


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="findspot %(version)s")
def cli() -> None:
    """Search huge JSON and long documents; get the passage and its exact position.

    Start with 'findspot serve'. Every other command talks to the running server. If none is running, it
    opens the data folder itself. '--json' prints JSON.

    Projects, tables, tools, documents and endpoints are given by name or id. Where a PROJECT may be left out, it is the
    one used last; '-' names that one too. 'findspot completion' completes commands and names in your shell.

    \b
    First steps, in a second terminal:
      findspot project create library
      findspot table create library books '[{"title": "Mardi"}]'
      findspot table get books /0/title
    """


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit. Errors become a message and an exit code."""
    args = sys.argv[1:] if arguments is None else list(arguments)
    _replace_unencodable_characters()
    if COMPLETION_VARIABLE in os.environ:
        importlib.import_module("findspot.surfaces.cli.completing").register()
    try:
        colour = None if allows_colours() else False
        code = cli.main(args=args, prog_name="findspot", standalone_mode=False, color=colour)
    except Failure as failure:
        code = _show(failure, args)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = error.exit_code
    except click.UsageError as error:
        code = _show(Failure(error.format_message(), _usage(error), error.exit_code), args)
    except click.Abort:
        code = 130
    sys.exit(code)


def _show(failure: Failure, args: Sequence[str]) -> int:
    failure.show(as_json="--json" in args)
    return failure.exit_code


def _usage(error: click.UsageError) -> str:
    if error.ctx is None:
        return ""
    return f"{error.ctx.get_usage()}\n'{error.ctx.command_path} --help' shows more."


def _replace_unencodable_characters() -> None:
    """Print '?' for a character that the terminal's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
