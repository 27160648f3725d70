"""`findspot document …`: create, read, save and delete documents."""

import json
from typing import Any

import click

from findspot.surfaces.cli.arguments import (
    CONTENT,
    DUPLICATE,
    OPTIONAL_PROJECT,
    REFERENCE,
    TEXT,
    UNIQUE_REFERENCE,
    YES,
    Content,
    confirm,
)
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.formatting import ago, count
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.naming import refuse_duplicate
from findspot.surfaces.cli.printing import done, emit, emit_content, show, show_rows

_FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["tiptap", "markdown", "text"]),
    help="Format of the content; by default from the file name: .md, .json (TipTap), else text.",
)


@click.group(cls=Group)
def command() -> None:
    """Create, read, change and delete documents.

    CONTENT is the text itself, '-' for standard input, or '@FILE'. Earlier content is kept as versions: see
    'findspot version --help'.

    \b
      findspot document create library 'Chapter one' @chapter-1.md
      findspot document get 'Chapter one'
      findspot document save 'Chapter one' @chapter-1.md
    """


@command.command()
@OPTIONAL_PROJECT
@click.argument("title", type=TEXT)
@click.argument("content", type=CONTENT)
@_FORMAT
@click.option("--type", "kind", type=TEXT, help="A type of your choice: chapter, note …")
@DUPLICATE
@api_command
async def create(
    api: Api, project_id: int, title: str, content: Content, form: str | None, kind: str | None, duplicate: bool
) -> None:
    """Create a document called TITLE."""
    await refuse_duplicate(api, "document_id", project_id, title, duplicate)
    fields: dict[str, Any] = {"title": title} | ({"type": kind} if kind else {})
    body = _body(fields, content, form or content.form)
    created = await api.call("POST", f"/api/v1/projects/{project_id}/documents", content=body)
    show(created, api.as_json, done(f"Created document {created['id']}, {title}."))


@command.command("list")
@OPTIONAL_PROJECT
@api_command
async def list_(api: Api, project_id: int) -> None:
    """List the documents of a project."""
    found = await api.call("GET", f"/api/v1/projects/{project_id}/documents")
    rows = [
        (
            each["id"],
            each["title"],
            each["path"] or "",
            each["type"],
            each["format"],
            f"{each['wordCount']:,}",
            ago(each["updatedAt"]),
        )
        for each in found["documents"]
    ]
    empty = f"Project {project_id} has no document. 'findspot document create {project_id} TITLE @FILE' creates one."
    show_rows(found, api.as_json, ("id", "title", "path", "type", "format", "words", "changed"), rows, empty)


@command.command()
@click.argument("document_id", metavar="DOCUMENT", type=REFERENCE)
@click.option("--source", is_flag=True, help="Print the content as it was sent: Markdown or TipTap JSON.")
@api_command
async def get(api: Api, document_id: int, source: bool) -> None:
    """Print the text of a document. Search works on this text, and offsets refer to it."""
    response = await api.raw("GET", f"/api/v1/documents/{document_id}")
    print_document(api, response.content, source)


def print_document(api: Api, body: bytes, source: bool) -> None:
    """Print the text of a document or version, or its content as it was sent."""
    if api.as_json:
        emit(body)
        return
    import msgspec

    members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    shown = members["content" if source else "text"]
    is_text = bytes(memoryview(shown)[:1]) == b'"'
    emit_content(msgspec.json.decode(shown) if is_text else bytes(shown))


@command.command()
@click.argument("document_id", metavar="DOCUMENT", type=REFERENCE)
@click.argument("content", type=CONTENT)
@_FORMAT
@click.option("--title", type=TEXT, help="A new title.")
@DUPLICATE
@click.option("--base-revision", type=int, metavar="N", help="Save only if the document is still at revision N.")
@api_command
async def save(
    api: Api, document_id: int, content: Content, form: str | None, title: str | None, duplicate: bool,
    base_revision: int | None,
) -> None:  # fmt: skip
    """Replace the content of a document. The earlier content is kept as a version."""
    fields: dict[str, Any] = {"title": title} if title else {}
    if base_revision is not None:
        fields["baseRevision"] = base_revision
    if form is None or title:
        document = await api.call("GET", f"/api/v1/documents/{document_id}")
        form = form or document["format"]
        if title and title != document["title"]:
            await refuse_duplicate(api, "document_id", document["projectId"], title, duplicate)
    body = _body(fields, content, form)
    saved = await api.call("PUT", f"/api/v1/documents/{document_id}", content=body)
    version = f"; the earlier content is version {saved['versionId']}" if saved["versionId"] else ""
    show(saved, api.as_json, done(f"Document {document_id} is at revision {saved['revision']}{version}."))


def _body(fields: dict[str, Any], content: Content, form: str) -> bytes:
    value = content.data if form == "tiptap" else json.dumps(content.text(), ensure_ascii=False).encode()
    return json.dumps(fields | {"format": form}, ensure_ascii=False).encode()[:-1] + b',"content":' + value + b"}"


@command.command()
@click.argument("document_id", metavar="DOCUMENT", type=UNIQUE_REFERENCE)
@YES
@api_command
async def delete(api: Api, document_id: int, yes: bool) -> None:
    """Delete a document and its versions."""
    versions = len((await api.call("GET", f"/api/v1/documents/{document_id}/versions"))["versions"])
    what = f"Document {document_id} has {count(versions, 'earlier version')}." if versions else ""
    confirm(f"Delete document {document_id}?", yes, what)
    await api.call("DELETE", f"/api/v1/documents/{document_id}")
    also = f" with {count(versions, 'earlier version')}" if versions else ""
    show({"deleted": document_id, "versions": versions}, api.as_json, done(f"Deleted document {document_id}{also}."))
