"""The process of the index worker, if several API processes serve: it alone writes the index."""

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

from findspot.app import open_app
from findspot.runtime import metrics
from findspot.server.api_process import configure_logs, loop_factory, tune_process
from findspot.surfaces.cli.opening import opening_failures

if TYPE_CHECKING:
    from findspot.runtime.data_folder import DataFolder
    from findspot.runtime.peers import Peers
    from findspot.server.supervisor import SupervisorLink
    from findspot.settings import Settings

_LOCK_WAIT_S = 4
SERVES = "index"  # in the list of processes, in place of an address


def serve_index(settings: "Settings", folder: "DataFolder", link: "SupervisorLink", peers: "Peers") -> None:
    """Keep the index up to date until a signal arrives."""
    tune_process()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(settings, folder, link, peers))


async def _serve(settings: "Settings", folder: "DataFolder", link: "SupervisorLink", peers: "Peers") -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop(*_: object) -> None:  # remains in place while the app closes: a second signal must not interrupt that
        if not loop.is_closed():
            loop.call_soon_threadsafe(stopped.set)

    signal.signal(signal.SIGTERM, stop)
    async with contextlib.AsyncExitStack() as closing:
        with opening_failures(settings):
            app = await closing.enter_async_context(open_app(settings, folder, peers=peers, role="worker"))
        await app.store.keep_reserve()
        configure_logs(settings, app.token)
        await app.presence.begin(SERVES, lambda: metrics.of_process(app.presence.id, app.presence.role))
        link.report_started()
        preparing = asyncio.create_task(app.index_worker.prepare())
        await stopped.wait()
        preparing.cancel()
        app.store.stop_waiting(_LOCK_WAIT_S)
        await app.drain()
