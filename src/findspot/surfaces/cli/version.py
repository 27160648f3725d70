"""`findspot version …`: earlier versions of a document."""

import sys

import click

from findspot.surfaces.cli.arguments import REFERENCE
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.diff import render_diff
from findspot.surfaces.cli.document import print_document
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import ago
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.printing import allows_colours, done, show, show_rows


@click.group(cls=Group)
def command() -> None:
    """List, read, compare and restore earlier versions of a document.

    \b
      findspot version list 'Chapter one'
      findspot version diff 'Chapter one'
      findspot version restore 'Chapter one' 7
    """


@command.command("list")
@click.argument("document_id", metavar="DOCUMENT", type=REFERENCE)
@api_command
async def list_(api: Api, document_id: int) -> None:
    """List the versions of a document, newest first."""
    found = await api.call("GET", f"/api/v1/documents/{document_id}/versions")
    rows = [
        (each["id"], ago(each["createdAt"]), each["reason"], each["actor"], f"{each['wordCount']:,}")
        for each in found["versions"]
    ]
    empty = f"Document {document_id} has no earlier version: its content has not changed."
    show_rows(found, api.as_json, ("id", "saved", "reason", "by", "words"), rows, empty)


@command.command()
@click.argument("document_id", metavar="DOCUMENT", type=REFERENCE)
@click.argument("version_id", type=int)
@click.option("--source", is_flag=True, help="Print the content as it was sent: Markdown or TipTap JSON.")
@api_command
async def get(api: Api, document_id: int, version_id: int, source: bool) -> None:
    """Print the text of a version."""
    response = await api.raw("GET", f"/api/v1/documents/{document_id}/versions/{version_id}")
    print_document(api, response.content, source)


@command.command()
@click.argument("document_id", metavar="DOCUMENT", type=REFERENCE)
@click.argument("version_id", type=int, required=False)
@click.option("--against", type=int, metavar="VERSION", help="Compare with this version instead of the current text.")
@click.option("--whole", is_flag=True, help="Print unchanged text, too.")
@api_command
async def diff(api: Api, document_id: int, version_id: int | None, against: int | None, whole: bool) -> None:
    """Show the words that changed since a version, by default the newest.

    Without colours, they are [-deleted-] and {+inserted+}.
    """
    if version_id is None:
        version_id = await _newest(api, document_id)
    query = {} if against is None else {"against": against}
    path = f"/api/v1/documents/{document_id}/versions/{version_id}/diff"
    found = await api.call("GET", path, params=query)
    text = render_diff(found["changes"], colour=sys.stdout.isatty() and allows_colours(), whole=whole)
    show(found, api.as_json, text or "Nothing has changed.")


async def _newest(api: Api, document_id: int) -> int:
    versions = (await api.call("GET", f"/api/v1/documents/{document_id}/versions"))["versions"]
    if not versions:
        raise Failure(f"Document {document_id} has no earlier version: its content has not changed.", exit_code=3)
    return int(versions[0]["id"])


@command.command()
@click.argument("document_id", metavar="DOCUMENT", type=REFERENCE)
@click.argument("version_id", type=int)
@api_command
async def restore(api: Api, document_id: int, version_id: int) -> None:
    """Restore a document to a version. The current content is kept as another version."""
    saved = await api.call("POST", f"/api/v1/documents/{document_id}/versions/{version_id}/restore")
    new_version = saved["versionId"]
    text = f"Document {document_id} is at revision {saved['revision']} with the content of version {version_id}"
    text += f". The earlier content is version {new_version}." if new_version else "; nothing changed."
    show(saved, api.as_json, done(text))
