"""`findspot openapi`: the OpenAPI document of the HTTP API, without a server."""

import json
from pathlib import Path

import click

from findspot.surfaces.cli.failure import Failure


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-")
def command(file: Path) -> None:
    """Write the OpenAPI description of the HTTP API to FILE, or to standard output.

    A running server has the same document at /openapi.json. It needs no key.

    \b
      findspot openapi openapi.json
      npx @hey-api/openapi-ts -i openapi.json -o client
    """
    from findspot.surfaces.http.api import every_route
    from findspot.surfaces.http.openapi import describe

    text = json.dumps(describe(every_route()), ensure_ascii=False, indent=2)
    if str(file) == "-":
        click.echo(text)
        return
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror}.", exit_code=2) from None
