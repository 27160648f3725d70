"""Upload many files: packed into archives of a few megabytes, two requests at a time."""

import asyncio
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from findspot.errors import KINDS
from findspot.sources.file_filter import tar_records_of
from findspot.sources.files import File, Skipped
from findspot.sources.tars import END, padding, tar_header
from findspot.surfaces.cli.connect import Api
from findspot.surfaces.cli.failure import Failure

PACKET_FILES, PACKET_BYTES = 1000, 2 * 1024 * 1024
MAX_REQUESTS = 2  # while the server works on one, the next is packed and sent
_COMPRESS_ABOVE = 8 * 1024 * 1024
_RESULTS = ("created", "changed", "renamed", "unchanged", "skipped")


@dataclass(slots=True)
class Packet:
    """Files as entries of an archive, and the files skipped since the last packet."""

    files: list[tuple[str, bytes]] = field(default_factory=list)
    size: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def add(self, path: str, entry: bytes) -> None:
        self.files.append((path, entry))
        self.size += len(entry)

    def body(self) -> bytes:
        """Return the archive. A large one is compressed, since the size of a request is limited."""
        body = b"".join((*(entry for _, entry in self.files), END))
        return gzip.compress(body, 1) if self.size > _COMPRESS_ABOVE else body

    def halves(self) -> "Iterator[Packet]":
        middle = len(self.files) // 2
        for files in (self.files[:middle], self.files[middle:]):
            yield Packet(files, sum(len(entry) for _, entry in files))


def packets(files: Iterator[File | Skipped]) -> Iterator[Packet]:
    packet = Packet()
    for each in files:
        if isinstance(each, Skipped):
            packet.skipped.append(each)
        else:
            if packet.files and packet.size + len(each.data) > PACKET_BYTES:
                yield packet
                packet = Packet()
            packet.add(each.path, _entry(each))
        if len(packet.files) + len(packet.skipped) >= PACKET_FILES:
            yield packet
            packet = Packet()
    if packet.files or packet.skipped:
        yield packet


def _entry(file: File) -> bytes:
    records = tar_records_of(file.record) if file.record else None
    header = tar_header(file.name, len(file.data), file.modified, records)
    return b"".join((header, file.data, padding(len(file.data))))


@dataclass(slots=True)
class Summary:
    """The result of an import: counts, skipped files, and those that their folders do not have any more."""

    created: int = 0
    changed: int = 0
    renamed: int = 0
    unchanged: int = 0
    skipped: int = 0
    deleted: int = 0
    skipped_files: list[dict[str, str]] = field(default_factory=list)
    missing_files: list[dict[str, Any]] = field(default_factory=list)

    @property
    def done(self) -> int:
        return sum(getattr(self, name) for name in _RESULTS)

    def add(self, before: dict[str, int], now: dict[str, Any]) -> dict[str, int]:
        """Add the counts that a request has reached since its counts were `before`. Return its new counts."""
        counts = {name: int(now[name]) for name in _RESULTS}
        for name, count in counts.items():
            setattr(self, name, getattr(self, name) + count - before.get(name, 0))
        return counts

    def skip(self, skipped: Skipped) -> None:
        self.skipped += 1
        self.skipped_files.append({"path": skipped.name, "reason": skipped.reason})


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload: where it goes, and where its progress is reported."""

    api: Api
    project_id: int
    root: str | None
    summary: Summary
    on_progress: Callable[[], None]


async def upload(to: Upload, files: Iterator[File | Skipped]) -> None:
    """Upload all files. Call `on_progress` whenever the summary has changed."""
    remaining, requests = packets(files), set[asyncio.Task[None]]()
    try:
        while packet := await asyncio.to_thread(next, remaining, None):
            for each in packet.skipped:
                to.summary.skip(each)
            to.on_progress()
            if packet.files:
                requests.add(asyncio.create_task(_send(to, packet)))
            while len(requests) >= MAX_REQUESTS:
                done, requests = await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        await asyncio.gather(*requests)
    finally:
        for task in requests:
            task.cancel()
        await asyncio.gather(*requests, return_exceptions=True)


async def _send(to: Upload, packet: Packet) -> None:
    """Send a packet, or its halves if the server refuses its size."""
    try:
        await _post(to, await asyncio.to_thread(packet.body))
    except Failure as failure:
        if failure.body["code"] != "CONTENT_TOO_LARGE":
            raise
        if len(packet.files) == 1:
            to.summary.skip(Skipped(packet.files[0][0], "it is larger than the server accepts (FINDSPOT_MAX_BODY)"))
            to.on_progress()
            return
        for half in packet.halves():
            await _send(to, half)


async def _post(to: Upload, body: bytes) -> None:
    before: dict[str, int] = {}
    last: dict[str, Any] = {}
    params = {"root": to.root} if to.root else {}
    path = f"/api/v1/projects/{to.project_id}/import"
    async with to.api.stream("POST", path, params=params, content=body) as response:
        async for line in response.aiter_lines():
            last = msgspec.json.decode(line)
            before = to.summary.add(before, last)
            to.on_progress()
    if "skipped_files" not in last:
        raise Failure("The server stopped the import early. Run it again: imported files are kept.", exit_code=7)
    to.summary.skipped_files += last["skipped_files"]
    if "error" in last:
        kind = KINDS.get(last["error"]["code"])
        raise Failure.from_response(kind.status if kind else 500, last["error"])
