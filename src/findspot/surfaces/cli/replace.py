"""`findspot replace`: search and replace in the documents of a project, and undo it."""

import re
import shlex
import sys
from typing import Any

import click

from findspot.errors import KINDS
from findspot.surfaces.cli.arguments import PROJECT_OPTION, REFERENCE, TEXT, Named, confirm
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.diff import render_diff
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import ago, count
from findspot.surfaces.cli.naming import KINDS as NAMED_KINDS
from findspot.surfaces.cli.naming import id_of
from findspot.surfaces.cli.printing import done, emit, hang, is_coloured, show, show_rows, styled
from findspot.surfaces.cli.terminal import visible

_LISTED = 20  # skipped documents that are named; '--json' has all
_SHOWN = 30  # characters of a text in a list
_REASONS = {
    "changed": "it changed meanwhile",
    "deleted": "it was deleted meanwhile",
    "unreadable": "its content is damaged",
    "too_large": "it would be too large",
    "unsafe": "not all of it, because some matches cannot be replaced without changing other text",
}


_Excluded = tuple[int | Named, int | None]  # a document, and the start of a match in it


class _Exclusion(click.ParamType[_Excluded]):
    """A document, or one match of it: DOCUMENT or DOCUMENT:START."""

    name = "exclusion"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> _Excluded:
        if isinstance(value, tuple):
            return value
        document, start = value, None
        if found := re.fullmatch(r"(.+):([0-9]{1,11})", str(value), re.ASCII | re.DOTALL):
            document, start = found[1], int(found[2])
        return REFERENCE.convert(document, param, ctx), start


@click.command("replace")
@click.argument("search", type=TEXT, required=False)
@click.argument("replacement", type=TEXT, required=False)
@PROJECT_OPTION
@click.option("--document", "document_id", type=REFERENCE, metavar="DOCUMENT", help="Only in this document.")
@click.option(
    "--regex", is_flag=True, help="SEARCH is a regular expression; REPLACEMENT may contain $1, $& and $<name>."
)
@click.option("--case", "case_sensitive", is_flag=True, help="Distinguish upper and lower case.")
@click.option("--word", "whole_word", is_flag=True, help="Only whole words.")
@click.option("--preserve-case", is_flag=True, help="Write replacements in upper or lower case as the match was.")
@click.option(
    "--exclude", type=_Exclusion(), multiple=True, metavar="DOCUMENT[:START]",
    help="Leave out a document, or the match that starts at START; can be repeated.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Show every match, not only the first page of them.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--risk", is_flag=True, help="With '--yes': also if text is deleted, or over 1,000 matches are replaced.")
@click.option("--undo", "undo_id", type=int, metavar="ID", help="Undo the replace with this id.")
@click.option("--list", "listing", is_flag=True, help="List past replaces.")
@api_command
async def command(
    api: Api,
    /,
    search: str | None,
    replacement: str | None,
    project_id: int,
    document_id: int | None,
    exclude: tuple[_Excluded, ...],
    every: bool,
    yes: bool,
    risk: bool,
    undo_id: int | None,
    listing: bool,
    **options: bool,
) -> None:
    """Replace text in the documents of a project, with a preview and an undo.

    Every match of SEARCH is shown with its replacement, by document; nothing is changed until you agree. A version of
    each document is kept, and '--undo' takes the whole replace back. With '--json' and without '--yes', only the
    preview is printed.

    \b
      findspot replace 废弃仓库 荒废工厂 --project 1
      findspot replace 'warehouse' 'factory' --word --preserve-case
      findspot replace '(\\d+) km' '$1 kilometres' --regex --exclude 12 --exclude 14:340
      findspot replace --list
      findspot replace --undo 5
    """
    _require_one(search, replacement, undo_id, listing)
    here = f"/api/v1/projects/{project_id}/search/replace"
    if listing:
        await _list(api, here)
    elif undo_id is not None:
        await _undo(api, here, undo_id)
    else:
        names = {"regex": "regex", "case_sensitive": "caseSensitive", "whole_word": "wholeWord"}
        names |= {"preserve_case": "preserveCase"}
        body: dict[str, Any] = {"search": search, "replace": replacement, "scope": "project"}
        body |= {names[name]: value for name, value in options.items()}
        body |= {} if document_id is None else {"scope": "document", "documentId": document_id}
        left_out = [await _exclusion(api, each, project_id) for each in exclude]
        found = await _preview(api, here, body, every or (api.as_json and not yes), left_out)
        if found["totalMatches"] and (yes or not api.as_json):
            chosen = {"previewId": found["previewId"], "confirmed": True, "exclude": left_out}
            _ask(found, bool(exclude), yes, risk, is_deletion=not replacement)
            chosen["confirmedRisk"] = found["needsConfirmedRisk"]
            undo = f"findspot replace --undo {found['previewId']} --project {project_id}"
            await _execute(api, here, chosen, found["affectedDocuments"], undo)
        else:
            show(found, api.as_json, "No document matches. Nothing was changed.")


def _require_one(search: str | None, replacement: str | None, undo_id: int | None, listing: bool) -> None:
    asked = (search is not None) + (undo_id is not None) + listing
    if asked != 1:
        raise click.UsageError("Give SEARCH and REPLACEMENT, or '--undo ID', or '--list'.")
    if search is not None and replacement is None:
        raise click.UsageError(f"Give a replacement for {search!r}; '' deletes the text.")


async def _exclusion(api: Api, excluded: _Excluded, project_id: int) -> dict[str, int]:
    document, start = excluded
    if isinstance(document, Named):
        document = await id_of(api, NAMED_KINDS["document_id"], document, project_id)
    return {"documentId": document} if start is None else {"documentId": document, "start": start}


async def _preview(
    api: Api, here: str, body: dict[str, Any], every: bool, left_out: list[dict[str, int]]
) -> dict[str, Any]:
    """Preview a replace, and print its matches unless JSON is wanted. With `every`, take all pages."""
    found: dict[str, Any] = await api.call("POST", f"{here}/preview", json=body)
    if found["totalMatches"] and not api.as_json:
        documents = count(found["affectedDocuments"], "document")
        emit(styled(f"{_matches(found['totalMatches'])} in {documents}", bold=True) + "\n")
        emit(_page(found["items"], left_out))
    page = found
    while every and page["hasMore"]:
        body = {"previewId": found["previewId"], "page": page["page"] + 1}
        page = await api.call("POST", f"{here}/preview", json=body)
        if not api.as_json:
            emit(_page(page["items"], left_out))
        found["items"] += page["items"]
    if every:
        found["hasMore"] = False
    shown = sum(len(item["matches"]) for item in found["items"])
    if found["hasMore"] and not api.as_json:
        emit(styled(f"and {found['totalMatches'] - shown:,} more; '--all' shows them.", dim=True) + "\n")
    for each in [] if api.as_json else found["skipped"]:
        emit(_skipped_line(each))
    return found


def _page(items: list[dict[str, Any]], left_out: list[dict[str, int]]) -> str:
    return "\n".join(_document(item, left_out) for item in items)


def _document(item: dict[str, Any], left_out: list[dict[str, int]]) -> str:
    id = item["documentId"]
    head = f"{styled(item['documentTitle'], bold=True)}  {styled(f'document {id}', dim=True)}"
    if item["changed"]:
        return f"{head}\n  {_REASONS['changed']}\n"
    if {"documentId": id} in left_out:
        return f"{head}\n  excluded\n"
    starts = {each["start"] for each in left_out if each["documentId"] == id}
    return "\n".join([head, *(_match(each, each["start"] in starts) for each in item["matches"]), ""])


def _match(match: dict[str, Any], is_excluded: bool) -> str:
    changes = [
        {"op": "equal", "text": match["leading"]},
        {"op": "delete", "text": match["before"]},
        *([{"op": "insert", "text": match["after"]}] if match["after"] else ()),
        {"op": "equal", "text": match["trailing"]},
    ]
    if is_excluded:
        text = visible(match["leading"] + match["before"] + match["trailing"]) + styled("  excluded", dim=True)
    else:
        text = render_diff(changes, colour=is_coloured(), whole=True)
    return f"{match['start']:>7}  " + text.replace("\n", "\n         ")


def _ask(found: dict[str, Any], has_exclusions: bool, yes: bool, risk: bool, *, is_deletion: bool) -> None:
    """Ask whether to replace, unless '--yes' was given; a risky replace then needs '--risk' too."""
    is_risky = found["needsConfirmedRisk"]
    why = "This deletes the text." if is_deletion else "This replaces more than 1,000 matches."
    if yes and is_risky and not risk:
        raise Failure(f"{why} Nothing was changed.", "Add --risk to do it.", 2)
    left_out = " except what you exclude" if has_exclusions else ""
    confirm(
        f"Replace {_matches(found['totalMatches'])}{left_out}?",
        yes,
        why if is_risky else "",
        declined="Nothing was changed.",
        without_terminal="Nothing was changed.",
    )


async def _execute(api: Api, here: str, body: dict[str, Any], documents: int, undo: str) -> None:
    """Execute a preview and show its progress, then the outcome and the command that undoes it."""
    import msgspec

    from findspot.surfaces.cli.progress import show_progress

    last: dict[str, Any] = {}
    headers = {"Accept": "application/x-ndjson"}
    with show_progress("Replacing", documents, unit="documents", silent=api.as_json) as progress:
        async with api.stream("POST", f"{here}/execute", json=body, headers=headers) as lines:
            async for line in lines.aiter_lines():
                last = msgspec.json.decode(line)
                progress(last["done"])
    if "error" in last:
        code = last["error"]["code"]
        raise Failure.from_response(KINDS[code].status if code in KINDS else 500, last["error"])
    if "outcome" not in last:
        raise Failure("The server stopped before it answered.", "'findspot replace --list' shows what was done.", 7)
    outcome = last["outcome"]
    changed = count(outcome["affectedDocumentCount"], "document")
    text = "Nothing was replaced."
    if outcome["replacedCount"]:
        text = done(f"Replaced {_matches(outcome['replacedCount'])} in {changed}. Undo: {undo}")
    show(
        {"previewId": body["previewId"], **outcome},
        api.as_json,
        "\n".join([text, *_skipped(outcome["skipped"])]),
    )


async def _undo(api: Api, here: str, preview_id: int) -> None:
    undone = await api.call("POST", f"{here}/undo", json={"previewId": preview_id})
    restored = undone["restoredDocumentCount"]
    text = done(f"Put back {count(restored, 'document')}.") if restored else "No document was put back."
    show(undone, api.as_json, "\n".join([text, *_skipped(undone["skipped"])]))


async def _list(api: Api, here: str) -> None:
    found = await api.call("POST", f"{here}/list", json={})
    rows = [
        (
            each["previewId"],
            ago(each["executedAt"]),
            each["executedBy"],
            _short(each["search"]),
            _short(each["replace"]),
            each["replacedCount"],
            each["affectedDocumentCount"],
            "undone" if each["undoneAt"] else f"{each['undoableDocumentCount']:,} can be undone",
        )
        for each in found["replaces"]
    ]
    headings = ("id", "when", "by", "search", "replacement", "matches", "documents", "undo")
    show_rows(found, api.as_json, headings, rows, "Nothing has been replaced in this project.")


def _matches(number: int) -> str:
    return f"{number:,} match" if number == 1 else f"{number:,} matches"


def _short(text: str) -> str:
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return shlex.quote(shown) if shown != shown.strip() or not shown else shown


def _skipped(skipped: list[dict[str, Any]]) -> list[str]:
    lines = [_skipped_line(each) for each in skipped[:_LISTED]]
    if len(skipped) > _LISTED:
        lines.append(f"  and {count(len(skipped) - _LISTED, 'more document')}; '--json' lists all of them.")
    return lines


def _skipped_line(skipped: dict[str, Any]) -> str:
    return hang(f"  Skipped document {skipped['documentId']}: {_REASONS[skipped['reason']]}.", 2, sys.stdout)
