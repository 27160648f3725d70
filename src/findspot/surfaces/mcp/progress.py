"""Progress notifications for long calls, to clients that asked for them."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext

_FIRST_S, _NEXT_S = 0.1, 0.5

T = TypeVar("T")


async def with_progress(ctx: ServerRequestContext[Any, Any], name: str, work: Awaitable[T]) -> T:
    """Do the work. If the client sent a progress token, report the elapsed time while it waits."""
    if not ctx.meta or "progress_token" not in ctx.meta:
        return await work
    reporting = asyncio.create_task(_report(ctx, name))
    try:
        return await work
    finally:
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)


async def _report(ctx: ServerRequestContext[Any, Any], name: str) -> None:
    started = time.monotonic()
    await asyncio.sleep(_FIRST_S)
    while True:
        elapsed = time.monotonic() - started
        await ctx.session.report_progress(round(elapsed, 3), message=f"{name}: running for {elapsed:.1f} s")
        await asyncio.sleep(_NEXT_S)
