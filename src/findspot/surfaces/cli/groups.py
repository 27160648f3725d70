"""A command group that keeps the order of its commands and suggests a name for a mistyped one."""

import difflib

import click


class Group(click.Group):
    """Lists its commands in the order of their definition, not by name."""

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
