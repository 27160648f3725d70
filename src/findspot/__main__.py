"""`python -m findspot` is the `findspot` command."""

from findspot.surfaces.cli.main import run

run()
