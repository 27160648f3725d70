"""A light load generator in its own process: many connections, one request in flight on each.

`run` starts `python -m bench.load` with the order on standard input. It reads answers without parsing them, so that it
takes little of the processor that the server needs.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec
import uvloop

PATIENCE_S = 60.0  # for one answer
_GIVE_UP_S = 5.0  # after the end, for answers that are still on their way


@dataclass(frozen=True, slots=True)
class Call:
    """A request. `{n}` in the body is replaced by a number that no other request of the run has."""

    kind: str
    method: str
    path: str
    body: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Clients that send the same calls in turn, each beginning with another one."""

    name: str
    clients: int
    calls: list[Call]
    patient: bool = True  # wait as long as a refusal asks for
    pause_s: float = 0.0  # between an answer and the next request
    headers: dict[str, str] = field(default_factory=dict)  # of every request, besides those that all clients send


@dataclass(frozen=True, slots=True)
class Order:
    """What to send, where, and for how long."""

    url: str
    key: str
    seconds: float
    groups: list[Group]


@dataclass(slots=True)
class Outcome:
    """What the clients of a group saw."""

    taken: dict[str, list[float]] = field(default_factory=dict)  # seconds of answers with 2xx, by kind of call
    statuses: dict[str, int] = field(default_factory=dict)  # how often a kind of call got a status or an error
    began: dict[str, list[float]] = field(default_factory=dict)  # when each of these was sent, in seconds of the clock
    answers: list[int] = field(default_factory=list)  # with 2xx, by client
    closed: int = 0  # connections that the server closed

    def count(self, status: str) -> None:
        self.statuses[status] = self.statuses.get(status, 0) + 1

    def latencies(self, kind: str) -> list[float]:
        return self.taken.get(kind, [])

    def latencies_between(self, kind: str, start: float, end: float) -> list[float]:
        """Return the latencies of the calls that were on their way at some time between `start` and `end`."""
        calls = zip(self.began.get(kind, []), self.taken.get(kind, []), strict=True)
        return [taken for began, taken in calls if began < end and began + taken > start]


def run(url: str, key: str, seconds: float, groups: Sequence[Group]) -> dict[str, Outcome]:
    """Send requests until the time is over. Return the outcome of each group by its name."""
    order = msgspec.json.encode(Order(url, key, seconds, list(groups)))
    done = subprocess.run([sys.executable, "-m", "bench.load"], input=order, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=dict[str, Outcome])


class _Refusal(msgspec.Struct):
    retryAfterMs: int = 0


class _Connection:
    """A connection that is opened again when the server has closed it."""

    def __init__(self, host: str, port: int, key: str, headers: dict[str, str]) -> None:
        self._address = host, port
        own = {"Host": f"{host}:{port}", "Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in (own | headers).items())
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.closed = 0

    async def ask(self, call: Call, body: str) -> tuple[int, int]:
        """Return the status, and the milliseconds that the answer asks to wait for."""
        content = body.encode()
        head = f"{call.method} {call.path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n"
        reader, writer = self._streams or await self._open()
        writer.write(head.encode() + content)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        status = int(answer[9:12])
        length = int(answer.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        received = await reader.readexactly(length)
        if b"connection: close" in answer:
            self.drop()
        refused = status in (429, 503)
        return status, msgspec.json.decode(received, type=_Refusal).retryAfterMs if refused else 0

    def drop(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
            self.closed += 1

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self._streams = await asyncio.open_connection(*self._address)
        return self._streams


class _Clients:
    """All clients of an order. They stop when its time is over."""

    def __init__(self, order: Order) -> None:
        address = urlsplit(order.url)
        self._address = address.hostname or "", address.port or 80, order.key
        self._end = time.perf_counter() + order.seconds
        self._number = 0

    async def work(self, group: Group) -> Outcome:
        outcome = Outcome()
        outcome.answers = [0] * group.clients
        await asyncio.gather(*(self._client(group, client, outcome) for client in range(group.clients)))
        return outcome

    async def _client(self, group: Group, client: int, outcome: Outcome) -> None:
        connection, place = _Connection(*self._address, group.headers), client
        while (began := time.perf_counter()) < self._end:
            call = group.calls[place % len(group.calls)]
            place += 1
            self._number += 1
            try:
                async with asyncio.timeout(min(PATIENCE_S, self._end + _GIVE_UP_S - began)):
                    status, wait_ms = await connection.ask(call, call.body.replace("{n}", str(self._number)))
            except (OSError, asyncio.IncompleteReadError) as error:
                outcome.count(type(error).__name__)
                connection.drop()
                continue
            outcome.count(f"{call.kind} {status}")
            if status < 300:
                taken = time.perf_counter() - began
                outcome.taken.setdefault(call.kind, []).append(taken)
                outcome.began.setdefault(call.kind, []).append(time.time() - taken)
                outcome.answers[client] += 1
            elif group.patient:
                await asyncio.sleep(min(wait_ms / 1000, max(0.0, self._end - time.perf_counter())))
            await asyncio.sleep(group.pause_s)
        outcome.closed += connection.closed
        connection.drop()


async def _work(order: Order) -> dict[str, Outcome]:
    clients = _Clients(order)
    outcomes = await asyncio.gather(*map(clients.work, order.groups))
    return {group.name: outcome for group, outcome in zip(order.groups, outcomes, strict=True)}


if __name__ == "__main__":
    found = uvloop.run(_work(msgspec.json.decode(sys.stdin.buffer.read(), type=Order)))
    sys.stdout.buffer.write(msgspec.json.encode(found))
