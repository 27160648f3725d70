"""Command groups that keep the order of their commands and suggest a name for a mistyped one."""

import difflib

import click


class Command(click.Command):
    """A command whose first argument [PROJECT] may be left out: then it is the project that was used last."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, list(args))
        except click.MissingParameter as error:
            first = next((each for each in self.params if isinstance(each, click.Argument)), None)
            if first is None or first.metavar != "[PROJECT]" or not isinstance(error.param, click.Argument):
                raise
        return super().parse_args(ctx, ["-", *args])


class Group(click.Group):
    """Lists its commands in the order of their definition, not by name."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], names, n=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"Commands: {', '.join(names)}."
            ctx.fail(f"There is no command '{args[0]}'. {hint}")
        return super().resolve_command(ctx, args)
