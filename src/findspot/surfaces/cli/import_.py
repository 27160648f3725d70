"""`findspot import`: import folders, archives and files into a project."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from findspot.surfaces.cli.arguments import PROJECT, TEXT, confirm
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.printing import done, hang, show

if TYPE_CHECKING:
    from findspot.surfaces.cli.input_files import InputFiles
    from findspot.surfaces.cli.missing import Missing
    from findspot.surfaces.cli.upload import Summary

_MAX_LISTED = 20
_ALIKE = 5  # files skipped for one reason, from which they share a line


@click.command("import")
@PROJECT
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@click.option("--name", type=TEXT, metavar="NAME", help="Path for a file from standard input: notes/a.md.")
@click.option("--root", type=TEXT, metavar="NAME", help="Name under which the folder is known; by default its own.")
@click.option("--prune", is_flag=True, help="Delete what came from files that the folder does not have any more.")
@click.option("--yes", is_flag=True, help="Do not ask before '--prune' deletes.")
@api_command
async def command(
    api: Api, project_id: int, paths: Sequence[str], name: str | None, root: str | None, prune: bool, yes: bool
) -> None:
    """Import folders, archives and files into a project.

    Markdown and text become documents. JSON becomes a table, or a document if it is TipTap JSON. JSONL becomes a
    table that is a list. A PATH is a folder, an archive (zip, tar, tar.gz), a file, or '-' for standard input.

    A file is identified by its path in the folder. Importing it again restores its content where the document
    differs, also if that was edited here, and keeps the earlier content as a version. A file that was renamed is
    recognised by its content. Files that cannot be imported are skipped and listed.

    \b
      findspot import library notes/
      findspot import library notes/ --prune
      findspot import library export.zip data.jsonl
    """
    from findspot.surfaces.cli.input_files import find_files
    from findspot.surfaces.cli.missing import Missing
    from findspot.surfaces.cli.upload import Summary

    summary = Summary()
    with find_files(paths, name, root) as parts:
        if prune:
            _require_complete(paths, parts)
        missing = Missing(api, project_id, parts)
        await missing.compare()
        await _upload(api, project_id, parts, summary)
    summary.missing_files = await missing.still_missing()
    if prune and summary.missing_files:
        await _prune(missing, summary, ask=not yes, silent=api.as_json)
    show(asdict(summary), api.as_json, _report(summary))


def _require_complete(paths: Sequence[str], parts: "Sequence[InputFiles]") -> None:
    """Refuse '--prune' where it is not known what is missing."""
    for path, part in zip(paths, parts, strict=True):
        if part.root is None:
            advice = "Give a folder or an archive; for standard input, also its name with --root."
            raise Failure(f"'--prune' does not know which folder {path} belongs to.", advice, 2)
        if part.paths is None:
            raise Failure(f"'--prune' needs to know every file of {path}, but it cannot be read completely.", "", 2)
        if not part.paths:
            raise Failure(f"{path} has no file that can be imported, so nothing is deleted.", "", 2)


async def _upload(api: Api, project_id: int, parts: "Sequence[InputFiles]", summary: "Summary") -> None:
    from findspot.surfaces.cli.progress import show_progress
    from findspot.surfaces.cli.upload import Upload, upload

    counts = [part.total for part in parts]
    total = None if None in counts else sum(number or 0 for number in counts)
    try:
        with show_progress("Importing", total, silent=api.as_json) as progress:
            for part in parts:
                to = Upload(api, project_id, part.root, summary, lambda: progress(summary.done))
                await upload(to, part.files)
    except (asyncio.CancelledError, Failure):
        if summary.done and not api.as_json:
            click.echo(f"Stopped: {_counts(summary)}. Run it again to continue.", err=True)
        raise


async def _prune(missing: "Missing", summary: "Summary", *, ask: bool, silent: bool) -> None:
    """Show what is missing, ask, and delete what came from it."""
    from findspot.surfaces.cli.progress import show_progress

    lost = summary.missing_files
    if ask:
        click.echo(f"{count(len(lost), 'file')} no longer in the folder:\n{_listed(lost)}", err=True)
        try:
            confirm(f"Delete what came from {count(len(lost), 'file')}?")
        except Failure:
            if not silent:
                click.echo(_report(summary))
            raise
    with show_progress("Deleting", len(lost), silent=silent) as progress:
        async for deleted in missing.prune(lost):
            summary.deleted += deleted
            progress(summary.deleted)


def _counts(summary: "Summary") -> str:
    always = ("created", "changed", "unchanged", "skipped")
    shown = (*always, *(each for each in ("renamed", "deleted") if getattr(summary, each)))
    return ", ".join(f"{getattr(summary, each):,} {each}" for each in shown)


def _report(summary: "Summary") -> str:
    lines = [done(f"{_counts(summary)}.")]
    lines += _skipped(summary.skipped_files)
    if summary.missing_files and not summary.deleted:
        lost = count(len(summary.missing_files), "file")
        lines.append(f"  {lost} no longer in the folder; '--prune' deletes what came from them.")
    return "\n".join(lines)


def _skipped(files: Sequence[dict[str, Any]]) -> list[str]:
    """Return lines on the skipped files. Many that are skipped for one reason share a line."""
    by_reason: dict[str, list[str]] = {}
    for each in files:
        by_reason.setdefault(each["reason"], []).append(each["path"])
    alike = {reason: paths for reason, paths in by_reason.items() if len(paths) >= _ALIKE}
    lines = [f"{count(len(paths), 'file')}, such as {paths[0]}: {reason}." for reason, paths in alike.items()]
    single = [f"{each['path']}: {each['reason']}." for each in files if each["reason"] not in alike]
    lines += single[:_MAX_LISTED]
    if len(single) > _MAX_LISTED:
        lines.append(f"and {count(len(single) - _MAX_LISTED, 'more file')} skipped.")
    if alike or len(single) > _MAX_LISTED:
        lines.append("'--json' lists all skipped files.")
    return ["  " + hang(line, 2) for line in lines]


def _listed(files: Sequence[dict[str, Any]]) -> str:
    lines = [f"  {each['path']} ({each['kind']} {each['id']})" for each in files[:_MAX_LISTED]]
    if len(files) > _MAX_LISTED:
        lines.append(f"  and {len(files) - _MAX_LISTED:,} more")
    return "\n".join(lines)
