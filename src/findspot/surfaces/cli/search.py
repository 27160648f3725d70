"""`findspot search`: the documents of a project, page by page; and why, when nothing is found."""

import shlex
from typing import Any

import click

from findspot.runtime import messages
from findspot.surfaces.cli.arguments import TEXT
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import hang, show, styled
from findspot.surfaces.cli.results import report
from findspot.surfaces.cli.state import is_behind, status_of
from findspot.surfaces.cli.wording import count

MODES = ("hybrid", "fts", "semantic")
PAGE = 50  # results
PROJECT = click.option("--project", type=int, metavar="ID", help="Which project; needless if there is only one.")


class _Search(click.Command):
    """A command whose argument may begin with '-': '-old lighthouse' is a query, and no option has a blank in it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = args.index("--") if "--" in args else len(args)
        dashed = [each for each in args[:given] if each.startswith("-") and not each.startswith("--")]
        queries = [each for each in dashed if len(each.split()) > 1]
        if queries:
            others = [each for each in args[:given] if each not in queries]
            args = [*others, "--", *queries, *args[given + 1 :]]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as wrong:
            meant = next((each for each in dashed if wrong.option_name[1:] in each), None)
            if meant is None or wrong.option_name.startswith("--"):
                raise
            example = f"{ctx.command_path} -- {shlex.quote(meant)}"
            raise click.UsageError(
                f"No such option '{meant}'. A query that begins with '-' stands behind '--': {example}", ctx
            ) from None


@click.command(cls=_Search)
@click.argument("query", type=TEXT)
@PROJECT
@click.option("--mode", type=click.Choice(MODES), default="hybrid", help="By words and meaning (hybrid), or by one.")
@click.option("--explain", is_flag=True, help="Say of every result why it has its score.")
@click.option("--page", type=click.IntRange(1), default=1, help="Which fifty results.")
@click.option("--low-scores", is_flag=True, help="Also what a hybrid search hides: scores under 0.25.")
@api_command
async def command(
    api: Api, query: str, project: int | None, mode: str, explain: bool, page: int, low_scores: bool
) -> None:
    """Search the documents of a project.

    Words, "a phrase" and -without are understood; anything else is taken as plain words.

    \b
      findspot search 'lighthouse keeper'
      findspot search '"old photographs" -warehouse' --mode fts
      findspot search '角色内心的孤独与迷茫' --mode semantic --explain
    """
    project_id = await project_of(api, project)
    body = {"query": query, "strategy": mode, "includeLowScores": low_scores}
    found = await paged(api, project_id, body, page)
    if explain:
        for result in found["results"]:
            result["explained"] = await _explained(api, project_id, query, result)
    behind = (api.alone or not found["results"]) and is_behind(await status_of(api, project_id))
    if behind:
        note = messages.not_all_indexed(api.alone, api.language)
        found["notice"] = " ".join(filter(None, (found.get("notice"), note)))
    if found["results"]:
        text = report(found, found["offset"], mode, api.language)
    elif found["offset"]:
        there = count(found["total"], "result")
        text = hang(f"There is no page {page:,}: this search has {there}, {PAGE} on a page.", 0)
    else:
        text = hang("Nothing was found." if behind else await _nothing(api, project_id, body), 0)
    show(found, api.as_json, _notice(found) + text)


async def project_of(api: Api, given: int | None) -> int:
    """The project that is named, or the only one there is."""
    if given is not None:
        return given
    known = (await api.call("GET", "/api/v1/projects"))["projects"]
    if len(known) != 1:
        names = ", ".join(f"{each['id']} ({each['name']})" for each in known[:10])
        there = f"There are {count(len(known), 'project')}: {names}." if known else "There is no project yet."
        advice = "Name one with --project ID." if known else "'findspot project create NAME' makes one."
        raise Failure(there, advice, 2)
    return int(known[0]["id"])


async def paged(api: Api, project_id: int, body: dict[str, Any], page: int) -> dict[str, Any]:
    """A page of a search; further ones are those of the ranking that the first one begins."""
    path = f"/api/v1/projects/{project_id}/search/query/strategy"
    found: dict[str, Any] = await api.call("POST", path, json=body)
    if page > 1:
        found = await api.call("POST", path, json=body | {"page": page, "cursor": found["cursor"]})
    return found


async def _explained(api: Api, project_id: int, query: str, result: dict[str, Any]) -> dict[str, Any]:
    body = {"query": query, "documentId": result["documentId"], "chunkId": result["chunkId"]}
    why: dict[str, Any] = await api.call("POST", f"/api/v1/projects/{project_id}/search/rank/explain", json=body)
    return why


async def _nothing(api: Api, project_id: int, body: dict[str, Any]) -> str:
    """Why nothing was found, and what to try."""
    from findspot.words import parse

    query = parse(body["query"])
    if query.is_empty:
        return "The query has no words in it, so there is nothing to look for."
    if not (await status_of(api, project_id))["documents"]:
        return f"Project {project_id} has no documents. 'findspot import {project_id} FOLDER' brings some."
    if query.excluded and await _finds(api, project_id, body | {"query": query.positive_text}):
        without = query.positive_text.strip()
        return f"All that was found is excluded. Without what stands behind '-' there is more: {without}"
    advice = "Nothing was found. Check the spelling, or try other words"
    low = await _finds(api, project_id, body | {"includeLowScores": True})
    return f"{advice}; '--low-scores' shows what scores under 0.25." if low else f"{advice}."


async def _finds(api: Api, project_id: int, body: dict[str, Any]) -> bool:
    return bool((await paged(api, project_id, body, 1))["results"])


def _notice(found: dict[str, Any]) -> str:
    return styled("! ", fg="yellow") + hang(found["notice"], 2) + "\n\n" if "notice" in found else ""
