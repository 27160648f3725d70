"""`findspot import`"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from findspot.surfaces.cli.arguments import TEXT
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import done, hang, show
from findspot.surfaces.cli.wording import count

if TYPE_CHECKING:
    from findspot.surfaces.cli.sending import Summary

_SHOWN = 20


@click.command("import")
@click.argument("project_id", metavar="PROJECT", type=int)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@click.option("--name", type=TEXT, metavar="NAME", help="What a file from standard input is called: notes/a.md.")
@api_command
async def command(api: Api, project_id: int, paths: Sequence[str], name: str | None) -> None:
    """Import folders, archives and files into a project.

    Markdown and text become documents; JSON becomes a table, or a document if it is a TipTap tree; JSONL becomes a
    table that is a list. A PATH is a folder, an archive (zip, tar, tar.gz), a file, or '-' for standard input.

    Files are known by their path in the folder: importing them again changes only what changed, and keeps what was
    there as a version. What cannot be read is skipped and named.

    \b
      findspot import 1 notes/
      findspot import 1 export.zip data.jsonl
    """
    from findspot.surfaces.cli.gathering import gathered
    from findspot.surfaces.cli.progress import following
    from findspot.surfaces.cli.sending import Summary, send

    summary = Summary()
    try:
        with gathered(paths, name) as found, following("Importing", found.total, silent=api.as_json) as moved:
            await send(api, project_id, found.files, summary, lambda: moved(summary.done))
    except (asyncio.CancelledError, Failure):
        if summary.done and not api.as_json:
            click.echo(f"Stopped: {_counts(summary)}. Run it again to go on.", err=True)
        raise
    show(asdict(summary), api.as_json, _told(summary))


def _counts(summary: "Summary") -> str:
    counts = (f"{getattr(summary, fate):,} {fate}" for fate in ("created", "changed", "unchanged", "skipped"))
    return ", ".join(counts)


def _told(summary: "Summary") -> str:
    lines = [done(f"{_counts(summary)}.")]
    skipped = summary.skipped_files
    for each in skipped[:_SHOWN]:
        lines.append("  " + hang(f"{each['path']}: {each['reason']}.", 2))
    if len(skipped) > _SHOWN:
        more = count(len(skipped) - _SHOWN, "more file")
        lines.append(f"  and {more} that could not be imported; '--json' names all of them.")
    return "\n".join(lines)
