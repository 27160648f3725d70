"""`findspot search`: search the documents of a project, and explain an empty result."""

import shlex
from typing import Any

import click

from findspot.runtime import messages
from findspot.surfaces.cli.arguments import PROJECT_OPTION, REFERENCE, TEXT, TIME
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.index_status import status_of
from findspot.surfaces.cli.printing import hang, show, styled
from findspot.surfaces.cli.results import report

MODES = ("hybrid", "fts", "semantic")
PAGE_SIZE = 50


class _Search(click.Command):
    """A command whose query may start with '-': '-old lighthouse' contains a space, so it is not an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        dashed = [each for each in args[:end] if each.startswith("-") and not each.startswith("--")]
        queries = [each for each in dashed if len(each.split()) > 1]
        if queries:
            others = [each for each in args[:end] if each not in queries]
            args = [*others, "--", *queries, *args[end + 1 :]]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            query = next((each for each in dashed if error.option_name[1:] in each), None)
            if query is None or error.option_name.startswith("--"):
                raise
            example = f"{ctx.command_path} -- {shlex.quote(query)}"
            raise click.UsageError(
                f"No such option '{query}'. Put '--' before a query that starts with '-': {example}", ctx
            ) from None


@click.command(cls=_Search)
@click.argument("query", type=TEXT)
@PROJECT_OPTION
@click.option(
    "--mode", type=click.Choice(MODES), default="hybrid", help="By keywords and meaning (hybrid), or by one of them."
)
@click.option("--explain", is_flag=True, help="Explain the score of every result.")
@click.option("--limit", type=click.IntRange(1, PAGE_SIZE), default=PAGE_SIZE, help="Results on a page.")
@click.option("--page", type=click.IntRange(1), default=1, help="Page number.")
@click.option("--path", type=TEXT, metavar="PREFIX", help="Only documents from files whose path starts with this.")
@click.option("--type", "types", type=TEXT, multiple=True, help="Only documents of this type; may be repeated.")
@click.option(
    "--document", "document_ids", type=REFERENCE, metavar="DOCUMENT", multiple=True,
    help="Only this document; may be repeated.",
)  # fmt: skip
@click.option("--since", type=TIME, help="Only documents changed since a date (2026-11-01), or within 12h, 7d or 4w.")
@click.option("--before", type=TIME, help="Only documents last changed before this date.")
@click.option("--sort", type=click.Choice(("relevance", "date")), default="relevance", help="By date: newest first.")
@click.option("--per-document", type=click.IntRange(1, PAGE_SIZE), metavar="N", help="At most N results per document.")
@click.option("--all", "duplicates", is_flag=True, help="List passages that are otherwise folded into one like them.")
@click.option("--count", "counts", is_flag=True, help="Also count the matches by type and by document.")
@click.option("--low-scores", is_flag=True, help="Include scores below 0.25, which hybrid search hides.")
@click.option(
    "--exact", is_flag=True, help="Search for the query as typed: words that occur nowhere are not corrected."
)
@api_command
async def command(
    api: Api,
    query: str,
    project_id: int,
    mode: str,
    explain: bool,
    limit: int,
    page: int,
    path: str | None,
    types: tuple[str, ...],
    document_ids: tuple[int, ...],
    since: str | None,
    before: str | None,
    sort: str,
    per_document: int | None,
    duplicates: bool,
    counts: bool,
    low_scores: bool,
    exact: bool,
) -> None:
    """Search the documents of a project.

    A query has words, "phrases in quotes" and -excluded words. Everything else counts as plain words.

    \b
      findspot search 'lighthouse keeper'
      findspot search '"old photographs" -warehouse' --mode fts
      findspot search '角色内心的孤独与迷茫' --mode semantic --explain
      findspot search timeout --path docs/ --since 30d --sort date
    """
    body = {"query": query, "strategy": mode, "includeLowScores": low_scores, "limit": limit, "sort": sort}
    body |= {"exact": exact, "perDocument": per_document, "includeDuplicates": duplicates, "counts": counts}
    given = {"pathPrefix": path, "types": list(types), "documentIds": list(document_ids)}
    filters = {
        name: value for name, value in (given | {"updatedAfter": since, "updatedBefore": before}).items() if value
    }
    found = await search_page(api, project_id, body | filters, page)
    if explain and found["results"]:
        await _add_explanations(api, project_id, {"query": query, "exact": exact}, found["results"])
    behind = found["indexState"] == "indexing"
    if behind and api.in_process:
        found["notice"] = f"{found['notice']} {messages.nothing_indexes(api.language)}"
    if found["results"]:
        text = report(found, found["offset"], mode, api.language)
    elif found["offset"]:
        results = count(found["offset"], "result")
        text = hang(f"There is no page {page:,}: this search has {results}, {limit} per page.", 0)
    else:
        text = hang("Nothing was found." if behind else await _explain_empty(api, project_id, body, filters), 0)
    show(found, api.as_json, _notice(found) + text)


async def search_page(api: Api, project_id: int, body: dict[str, Any], page: int) -> dict[str, Any]:
    """Return a page of a search. Later pages continue the ranking of the first, through its cursor."""
    path = f"/api/v1/projects/{project_id}/search/query/strategy"
    found: dict[str, Any] = await api.call("POST", path, json=body)
    if page > 1:
        found = await api.call("POST", path, json=body | {"page": page, "cursor": found["cursor"]})
    return found


async def _add_explanations(api: Api, project_id: int, search: dict[str, Any], results: list[dict[str, Any]]) -> None:
    """Add to each result the explanation of its score, except to one that was deleted since it was found."""
    body = search | {"chunkIds": [each["chunkId"] for each in results]}
    explained = await api.call("POST", f"/api/v1/projects/{project_id}/search/rank/explain", json=body)
    by_chunk = {each["chunkId"]: each for each in explained}
    for each in results:
        if each["chunkId"] in by_chunk:
            each["explained"] = by_chunk[each["chunkId"]]


async def why_nothing_can_match(api: Api, project_id: int, query: str) -> str:
    """Return why no document of a project can match a query, or ""."""
    if not (await status_of(api, project_id))["documents"]:
        return f"Project {project_id} has no documents. 'findspot import {project_id} FOLDER' imports some."
    from findspot.words import parse  # loads the segmentation of Chinese

    return "The query contains no words to search for." if parse(query).is_empty else ""


async def _explain_empty(api: Api, project_id: int, body: dict[str, Any], filters: dict[str, Any]) -> str:
    """Explain why nothing was found, and suggest what to try."""
    if reason := await why_nothing_can_match(api, project_id, body["query"]):
        return reason
    from findspot.words import parse

    query = parse(body["query"])
    if filters and await _has_results(api, project_id, body):
        return "Nothing was found in the documents that the filters admit. Without the filters there are results."
    if query.excluded and await _has_results(api, project_id, body | {"query": query.positive_text}):
        without = query.positive_text.strip()
        return f"All results were excluded by '-'. Without the excluded words there are results: {without}"
    advice = "Nothing was found. Check the spelling, or try other words"
    low = await _has_results(api, project_id, body | {"includeLowScores": True})
    return f"{advice}; '--low-scores' includes scores below 0.25." if low else f"{advice}."


async def _has_results(api: Api, project_id: int, body: dict[str, Any]) -> bool:
    return bool((await search_page(api, project_id, body, 1))["results"])


def _notice(found: dict[str, Any]) -> str:
    return styled("! ", fg="yellow") + hang(found["notice"], 2) + "\n\n" if "notice" in found else ""
