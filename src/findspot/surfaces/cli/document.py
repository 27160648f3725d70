"""`findspot document …`. A content argument is the text itself, '-' for standard input, or '@FILE'."""

import json
from typing import Any

import click

from findspot.surfaces.cli.arguments import CONTENT, TEXT, Content, asks_first
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.printing import done, emit, emit_content, show, show_rows
from findspot.surfaces.cli.wording import ago, count

_FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["tiptap", "markdown", "text"]),
    help="What the content is; by default told by the file's name: .md, .json (TipTap), else text.",
)


@click.group(cls=Group)
def command() -> None:
    """Make, read, change and delete documents.

    CONTENT is the text itself, '-' for standard input, or '@FILE'. What a document held before a change is kept:
    'findspot version --help'.

    \b
      findspot document create 1 'Chapter one' @chapter-1.md
      findspot document get 1
      findspot document save 1 @chapter-1.md
    """


@command.command()
@click.argument("project_id", type=int)
@click.argument("title", type=TEXT)
@click.argument("content", type=CONTENT)
@_FORMAT
@click.option("--type", "kind", type=TEXT, help="What you call such a document: chapter, note …")
@api_command
async def create(api: Api, project_id: int, title: str, content: Content, form: str | None, kind: str | None) -> None:
    """Make a document called TITLE."""
    head: dict[str, Any] = {"title": title} | ({"type": kind} if kind else {})
    body = _body(head, content, form or content.form)
    made = await api.call("POST", f"/api/v1/projects/{project_id}/documents", content=body)
    show(made, api.as_json, done(f"Document {made['id']} is called {title}."))


@command.command("list")
@click.argument("project_id", type=int)
@api_command
async def list_(api: Api, project_id: int) -> None:
    """List the documents of a project."""
    found = await api.call("GET", f"/api/v1/projects/{project_id}/documents")
    rows = [
        (each["id"], each["title"], each["type"], each["format"], f"{each['wordCount']:,}", ago(each["updatedAt"]))
        for each in found["documents"]
    ]
    empty = f"Project {project_id} has no document. 'findspot document create {project_id} TITLE @FILE' makes one."
    show_rows(found, api.as_json, ("id", "title", "type", "format", "words", "changed"), rows, empty)


@command.command()
@click.argument("document_id", type=int)
@click.option("--source", is_flag=True, help="The content as it was sent: Markdown, or TipTap's JSON.")
@api_command
async def get(api: Api, document_id: int, source: bool) -> None:
    """Print the text of a document: what is searched, and what offsets count in."""
    answer = await api.raw("GET", f"/api/v1/documents/{document_id}")
    print_document(api, answer.content, source)


def print_document(api: Api, answer: bytes, source: bool) -> None:
    """Print the text, or the content as it was sent, of a document or version."""
    if api.as_json:
        emit(answer)
        return
    import msgspec

    members = msgspec.json.decode(answer, type=dict[str, msgspec.Raw])
    shown = members["content" if source else "text"]
    is_text = bytes(memoryview(shown)[:1]) == b'"'
    emit_content(msgspec.json.decode(shown) if is_text else bytes(shown))


@command.command()
@click.argument("document_id", type=int)
@click.argument("content", type=CONTENT)
@_FORMAT
@click.option("--title", type=TEXT, help="A new title.")
@click.option("--base-revision", type=int, metavar="N", help="Only if the document is still at revision N.")
@api_command
async def save(
    api: Api, document_id: int, content: Content, form: str | None, title: str | None, base_revision: int | None
) -> None:
    """Put CONTENT in place; what was there is kept as a version."""
    head: dict[str, Any] = {"title": title} if title else {}
    if base_revision is not None:
        head["baseRevision"] = base_revision
    if form is None:
        form = (await api.call("GET", f"/api/v1/documents/{document_id}"))["format"]
    body = _body(head, content, form)
    saved = await api.call("PUT", f"/api/v1/documents/{document_id}", content=body)
    kept = f", and version {saved['versionId']} keeps what was there" if saved["versionId"] else ""
    show(saved, api.as_json, done(f"Document {document_id} is at revision {saved['revision']}{kept}."))


def _body(head: dict[str, Any], content: Content, form: str) -> bytes:
    value = content.data if form == "tiptap" else json.dumps(content.text(), ensure_ascii=False).encode()
    return json.dumps(head | {"format": form}, ensure_ascii=False).encode()[:-1] + b',"content":' + value + b"}"


@command.command()
@click.argument("document_id", type=int)
@asks_first("Delete document {document_id} with all its versions?")
@api_command
async def delete(api: Api, document_id: int) -> None:
    """Delete a document with its versions."""
    versions = len((await api.call("GET", f"/api/v1/documents/{document_id}/versions"))["versions"])
    await api.call("DELETE", f"/api/v1/documents/{document_id}")
    also = f" with {count(versions, 'version')}" if versions else ""
    show({"deleted": document_id}, api.as_json, done(f"Document {document_id} is deleted{also}."))
