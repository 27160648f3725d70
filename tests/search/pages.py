"""Pages of workspace search: documents that fill them, and what they hold."""

from typing import Any

from findspot.app import App
from findspot.search import Page
from tests.flows import find, make_document, settle


def texts(*pages: Page) -> list[str]:
    return [each.found.chunk.text for page in pages for each in page.results]


def ids(*pages: Page) -> list[int]:
    return [each.found.chunk.id for page in pages for each in page.results]


async def make_herons(app: App, project: int, count: int, per_document: int = 250) -> list[int]:
    """Make documents with this many paragraphs about herons."""
    made = []
    for first in range(0, count, per_document):
        paragraphs = [f"Heron number {number} of many" for number in range(first, min(first + per_document, count))]
        made.append((await make_document(app, project, *paragraphs)).id)
    await settle(app)
    return made


async def read_all(
    app: App, project: int, query: str, strategy: str, *, first: Page | None = None, between: Any = None, **more: Any
) -> list[Page]:
    """Read every page, or every page after `first`."""
    pages = [first or await find(app, project, query, strategy, **more)]
    while pages[-1].has_more:
        if between is not None:
            await between(len(pages))
        pages.append(await find(app, project, query, strategy, cursor=pages[-1].cursor, **more))
        assert len(pages) < 500
    return pages
