"""Progress of a call: a sign of life for whoever asked for one, as long as the call takes."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext

_FIRST_S, _NEXT_S = 0.1, 0.5

T = TypeVar("T")


async def with_progress(ctx: ServerRequestContext[Any, Any], what: str, work: Awaitable[T]) -> T:
    """Do the work; tell the client how long it has taken so far if it sent a progress token."""
    if not ctx.meta or "progress_token" not in ctx.meta:
        return await work
    beat = asyncio.create_task(_beat(ctx, what))
    try:
        return await work
    finally:
        beat.cancel()
        await asyncio.gather(beat, return_exceptions=True)


async def _beat(ctx: ServerRequestContext[Any, Any], what: str) -> None:
    started = time.monotonic()
    await asyncio.sleep(_FIRST_S)
    while True:
        passed = time.monotonic() - started
        await ctx.session.report_progress(round(passed, 3), message=f"{what}: at work for {passed:.1f} s")
        await asyncio.sleep(_NEXT_S)
