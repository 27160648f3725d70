"""`findspot completion`: the script with which a shell completes commands and names."""

import click

from findspot.surfaces.cli.completing import script
from findspot.surfaces.cli.printing import emit

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that completes commands and names in your shell.

    Names of projects, tables, tools, documents and endpoints come from the running server.

    \b
      bash   eval "$(findspot completion bash)"                  in ~/.bashrc
      zsh    eval "$(findspot completion zsh)"                   in ~/.zshrc
      fish   findspot completion fish | source                   in ~/.config/fish/config.fish
    """
    emit(script(shell))
