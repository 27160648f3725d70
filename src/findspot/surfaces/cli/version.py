"""`findspot version …`: what a document held before."""

import sys

import click

from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.difference import rendered
from findspot.surfaces.cli.document import print_document
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.printing import done, has_colours, show, show_rows
from findspot.surfaces.cli.wording import ago


@click.group(cls=Group)
def command() -> None:
    """List, read, compare and restore what a document held before.

    \b
      findspot version list 1
      findspot version diff 1 7
      findspot version restore 1 7
    """


@command.command("list")
@click.argument("document_id", type=int)
@api_command
async def list_(api: Api, document_id: int) -> None:
    """List the versions of a document, newest first."""
    found = await api.call("GET", f"/api/v1/documents/{document_id}/versions")
    rows = [
        (each["id"], ago(each["createdAt"]), each["reason"], each["actor"], f"{each['wordCount']:,}")
        for each in found["versions"]
    ]
    empty = f"Document {document_id} has no version yet: its content has not changed."
    show_rows(found, api.as_json, ("id", "kept", "reason", "by", "words"), rows, empty)


@command.command()
@click.argument("document_id", type=int)
@click.argument("version_id", type=int)
@click.option("--source", is_flag=True, help="The content as it was sent: Markdown, or TipTap's JSON.")
@api_command
async def get(api: Api, document_id: int, version_id: int, source: bool) -> None:
    """Print the text of a version."""
    answer = await api.raw("GET", f"/api/v1/documents/{document_id}/versions/{version_id}")
    print_document(api, answer.content, source)


@command.command()
@click.argument("document_id", type=int)
@click.argument("version_id", type=int)
@click.option("--against", type=int, metavar="VERSION", help="Compare with this version, not with the present text.")
@click.option("--whole", is_flag=True, help="Also print what did not change.")
@api_command
async def diff(api: Api, document_id: int, version_id: int, against: int | None, whole: bool) -> None:
    """Show by word what changed since a version: [-gone-] and {+new+}."""
    query = {} if against is None else {"against": against}
    path = f"/api/v1/documents/{document_id}/versions/{version_id}/diff"
    found = await api.call("GET", path, params=query)
    text = rendered(found["changes"], colour=sys.stdout.isatty() and has_colours(), whole=whole)
    show(found, api.as_json, text or "Nothing has changed.")


@command.command()
@click.argument("document_id", type=int)
@click.argument("version_id", type=int)
@api_command
async def restore(api: Api, document_id: int, version_id: int) -> None:
    """Make a document what it was in a version; what it holds now is kept."""
    saved = await api.call("POST", f"/api/v1/documents/{document_id}/versions/{version_id}/restore")
    kept = saved["versionId"]
    text = f"Document {document_id} is at revision {saved['revision']}, as it was in version {version_id}"
    text += f"; version {kept} keeps what it held until now." if kept else " already."
    show(saved, api.as_json, done(text))
