"""`findspot import`: import folders, archives and files into a project."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from findspot.surfaces.cli.arguments import TEXT
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.printing import done, hang, show

if TYPE_CHECKING:
    from findspot.surfaces.cli.upload import Summary

_MAX_SKIPPED_SHOWN = 20


@click.command("import")
@click.argument("project_id", metavar="PROJECT", type=int)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@click.option("--name", type=TEXT, metavar="NAME", help="Path for a file from standard input: notes/a.md.")
@api_command
async def command(api: Api, project_id: int, paths: Sequence[str], name: str | None) -> None:
    """Import folders, archives and files into a project.

    Markdown and text become documents. JSON becomes a table, or a document if it is TipTap JSON. JSONL becomes a
    table that is a list. A PATH is a folder, an archive (zip, tar, tar.gz), a file, or '-' for standard input.

    A file is identified by its path in the folder. Importing it again updates it only if it changed, and keeps the
    earlier content as a version. Files that cannot be imported are skipped and listed.

    \b
      findspot import 1 notes/
      findspot import 1 export.zip data.jsonl
    """
    from findspot.surfaces.cli.input_files import find_files
    from findspot.surfaces.cli.progress import show_progress
    from findspot.surfaces.cli.upload import Summary, upload

    summary = Summary()
    try:
        with find_files(paths, name) as found, show_progress("Importing", found.total, silent=api.as_json) as progress:
            await upload(api, project_id, found.files, summary, lambda: progress(summary.done))
    except (asyncio.CancelledError, Failure):
        if summary.done and not api.as_json:
            click.echo(f"Stopped: {_counts(summary)}. Run it again to continue.", err=True)
        raise
    show(asdict(summary), api.as_json, _report(summary))


def _counts(summary: "Summary") -> str:
    counts = (f"{getattr(summary, result):,} {result}" for result in ("created", "changed", "unchanged", "skipped"))
    return ", ".join(counts)


def _report(summary: "Summary") -> str:
    lines = [done(f"{_counts(summary)}.")]
    skipped = summary.skipped_files
    for each in skipped[:_MAX_SKIPPED_SHOWN]:
        lines.append("  " + hang(f"{each['path']}: {each['reason']}.", 2))
    if len(skipped) > _MAX_SKIPPED_SHOWN:
        more = count(len(skipped) - _MAX_SKIPPED_SHOWN, "more file")
        lines.append(f"  and {more} skipped; '--json' lists all of them.")
    return "\n".join(lines)
