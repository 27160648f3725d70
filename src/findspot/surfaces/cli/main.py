"""The `findspot` command and its groups. A group's module is loaded only when it is used, so that `--help` is quick."""

import importlib
import os
import sys
from typing import Any

import click

from findspot import __version__

COMMANDS = {
    "serve": ("serve", "Start the server: API and storage, on 127.0.0.1:8321."),
    "project": ("project", "Make, list, show and delete projects."),
    "key": ("key", "Make, list and revoke the keys of a project."),
    "table": ("table", "Make, read, change and delete JSON tables."),
    "doctor": ("doctor", "Check this installation and say what to do."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and one-line helps, and imports the rest on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"findspot.surfaces.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like the original, with a guess when a name is mistyped."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else " 'findspot --help' lists the commands."
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="findspot %(version)s")
def cli() -> None:
    """Search huge JSON and long documents; get the passage and exactly where it stands.

    Start with 'findspot serve'. Every other command talks to the running server, or works on the data folder itself
    when none is running. '--json' gives output for machines.
    """


def run(arguments: list[str] | None = None) -> Any:
    """Entry point: errors become a sentence and an exit code."""
    from findspot.surfaces.cli.outcome import Failure

    try:
        return cli.main(args=arguments, prog_name="findspot")
    except Failure as failure:
        failure.show()
        sys.exit(failure.exit_code)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
