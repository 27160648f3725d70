"""Calls of module-level functions in another process, over a socket.

A function travels by its name, `module:name`. Its type hints decide how arguments and results travel:

    bytes                 as they are, without a copy
    list[bytes]           each as it is
    Iterator[list[X]]     each list encoded on its own, and decoded when it is reached
    anything else         encoded with msgpack and checked when it is decoded

A result that is a tuple of fixed length travels item by item. A FindspotError travels as code, message and fields;
without the fields if one of them cannot be encoded.
"""

import importlib
import socket
import struct
import sys
import traceback
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, Protocol, TypeVar, cast

import msgspec

from findspot.errors import FindspotError

T = TypeVar("T")

_PACKAGE = "findspot."  # only our own functions can be called
_COUNT = struct.Struct("!I")
_LENGTH = struct.Struct("!Q")
TOO_MUCH_MEMORY = "This takes more memory than one operation may use (FINDSPOT_HELPER_MEMORY). Nothing was changed."
_SENT_AT_ONCE = 1 << 17  # smaller pieces are sent together


class Call(msgspec.Struct, frozen=True, array_like=True):
    """The first part of a call. `counts` is the number of parts of each argument."""

    number: int
    function: str
    counts: list[int]


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """The first part of a reply. `counts` is the number of parts of each item of the result."""

    number: int
    counts: list[int] = []
    error: tuple[str, str, dict[str, Any]] | None = None


class _Pieces(tuple[bytes, ...]):
    """Bytes in pieces that are sent as one part."""


def joined_there(text: bytes | Sequence[bytes]) -> bytes:
    """Return a text in pieces as an argument of type bytes. The other process receives it as one `bytes` object."""
    return text if isinstance(text, bytes) else cast(bytes, _Pieces(text))


def joined_here(argument: T) -> T:
    """Undo `joined_there`, for a call in this process."""
    return cast(T, b"".join(argument)) if isinstance(argument, _Pieces) else argument


def encoded(argument: T) -> T:
    """Return an item of an `Iterator[list[X]]` argument in its encoded form, which takes less memory while it waits."""
    return cast(T, msgspec.msgpack.encode(argument))


def size(argument: object) -> int:
    """Return the number of bytes in an argument; 0 for one that is not made of bytes."""
    if isinstance(argument, bytes):
        return len(argument)
    return sum(map(len, argument)) if isinstance(argument, _Pieces) else 0


# ── how values travel ──


class _Travel(Protocol):
    def write(self, value: Any) -> Sequence[Any]: ...

    def read(self, parts: list[bytes]) -> Any: ...


class _Bytes:
    def write(self, value: Any) -> Sequence[Any]:
        return (value,)

    def read(self, parts: list[bytes]) -> Any:
        return parts[0]


class _ListOfBytes:
    def write(self, value: Any) -> Sequence[Any]:
        return cast(Sequence[Any], value)

    def read(self, parts: list[bytes]) -> Any:
        return parts


class _Value:
    def __init__(self, type: Any) -> None:
        self._decoder = msgspec.msgpack.Decoder(type)

    def write(self, value: Any) -> Sequence[Any]:
        return (msgspec.msgpack.encode(value),)

    def read(self, parts: list[bytes]) -> Any:
        return self._decoder.decode(parts[0])


class _Iterator:
    def __init__(self, type: Any) -> None:
        self._decoder = msgspec.msgpack.Decoder(type)

    def write(self, value: Any) -> Sequence[Any]:
        return [each if isinstance(each, bytes) else msgspec.msgpack.encode(each) for each in value]

    def read(self, parts: list[bytes]) -> Any:
        return map(self._decoder.decode, _consumed(parts))


def _consumed(parts: list[bytes]) -> Iterator[bytes]:
    parts.reverse()
    while parts:
        yield parts.pop()


def _travel(type: Any) -> _Travel:
    if type is bytes:
        return _Bytes()
    if type == list[bytes]:
        return _ListOfBytes()
    if typing.get_origin(type) is Iterator:
        return _Iterator(*typing.get_args(type))
    return _Value(type)


class _Signature:
    """How the arguments and the result of a function travel."""

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = typing.get_type_hints(function)
        result = hints.pop("return")
        items = typing.get_args(result)
        self._is_tuple = typing.get_origin(result) is tuple and Ellipsis not in items
        self._arguments = [_travel(each) for each in hints.values()]
        self._result = [_travel(each) for each in (items if self._is_tuple else (result,))]

    def write_arguments(self, values: Sequence[Any]) -> tuple[list[int], Iterator[Any]]:
        return _write(self._arguments, values)

    def read_arguments(self, counts: Sequence[int], parts: list[bytes]) -> Iterator[Any]:
        return _read(self._arguments, counts, parts)

    def write_result(self, value: Any) -> tuple[list[int], Iterator[Any]]:
        return _write(self._result, value if self._is_tuple else (value,))

    def read_result(self, counts: Sequence[int], parts: list[bytes]) -> Any:
        items = tuple(_read(self._result, counts, parts))
        return items if self._is_tuple else items[0]


def _write(travels: Iterable[_Travel], values: Sequence[Any]) -> tuple[list[int], Iterator[Any]]:
    written = [travel.write(value) for travel, value in zip(travels, values, strict=True)]
    return list(map(len, written)), chain.from_iterable(written)


def _read(travels: Iterable[_Travel], counts: Sequence[int], parts: list[bytes]) -> Iterator[Any]:
    start = 0
    for travel, count in zip(travels, counts, strict=True):
        yield travel.read(parts[start : start + count])
        start += count


_signature = cache(_Signature)


def _name(function: Callable[..., Any]) -> str:
    name = f"{function.__module__}:{function.__qualname__}"
    if not name.startswith(_PACKAGE) or "." in function.__qualname__:
        raise ValueError(f"{name} is not a module-level function of {_PACKAGE}*")
    return name


@cache
def _function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    if not module.startswith(_PACKAGE):
        raise ValueError(f"{name} is not a function of {_PACKAGE}*")
    return cast(Callable[..., Any], getattr(importlib.import_module(module), attribute))


# ── the side that calls ──


def write_call(number: int, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    """Return the parts of a message that calls a function."""
    counts, parts = _signature(function).write_arguments(arguments)
    return [msgspec.msgpack.encode(Call(number, _name(function), counts)), *parts]


def read_reply(message: list[bytes]) -> Reply:
    """Return the first part of a reply. `result_of` reads the others."""
    return msgspec.msgpack.decode(message[0], type=Reply)


def result_of(function: Callable[..., Any], reply: Reply, message: list[bytes]) -> Any:
    """Return the result in a reply, or raise the error in it."""
    if reply.error is not None:
        code, sentence, fields = reply.error
        raise FindspotError(code, sentence, **fields)
    return _signature(function).read_result(reply.counts, message[1:])


# ── the side that answers ──


def answer(message: list[bytes]) -> list[Any]:
    """Call the function that a message names, and return the parts of the reply."""
    call = msgspec.msgpack.decode(message[0], type=Call)
    try:
        function = _function(call.function)
        signature = _signature(function)
        counts, parts = signature.write_result(function(*signature.read_arguments(call.counts, message[1:])))
    except FindspotError as error:
        return [_refusal(call.number, error)]
    except MemoryError:
        message.clear()  # what is left may not be enough for the reply
        return [_refusal(call.number, FindspotError("CONTENT_TOO_LARGE", TOO_MUCH_MEMORY))]
    except Exception as error:  # noqa: BLE001 - a fault of Findspot; the process can go on
        traceback.print_exc(file=sys.stderr)
        sentence = f"Something went wrong ({type(error).__name__}). Nothing was changed; the log has the details."
        return [_refusal(call.number, FindspotError("INTERNAL", sentence))]
    return [msgspec.msgpack.encode(Reply(call.number, counts)), *parts]


def _refusal(number: int, error: FindspotError) -> bytes:
    try:
        return msgspec.msgpack.encode(Reply(number, error=(error.code, error.message, error.fields)))
    except Exception:  # noqa: BLE001 - whatever it is, the caller waits for a reply
        message = error.message.encode(errors="replace").decode()
        return msgspec.msgpack.encode(Reply(number, error=(error.code, message, {})))


# ── messages on a socket ──


def length(message: Sequence[Any]) -> int:
    """Return the number of bytes in a message."""
    return sum(sum(map(len, part)) if isinstance(part, _Pieces) else len(part) for part in message)


def send(connection: socket.socket, message: Sequence[Any]) -> None:
    """Send a message. Other threads run while a large part is on its way."""
    parts = [part if isinstance(part, _Pieces) else (part,) for part in message]
    head = _COUNT.pack(len(parts)) + b"".join(_LENGTH.pack(sum(map(len, part))) for part in parts)
    small, waiting = [head], len(head)
    for piece in chain.from_iterable(parts):
        small.append(piece)
        waiting += len(piece)
        if waiting > _SENT_AT_ONCE:
            *before, last = small
            connection.sendall(b"".join(before))
            connection.sendall(last)  # it may be large: it is not copied
            small, waiting = [], 0
    connection.sendall(b"".join(small))


def receive(connection: socket.socket) -> list[bytes]:
    """Receive a message; EOFError if the other side has ended."""
    (count,) = _COUNT.unpack(_exactly(connection, _COUNT.size))
    lengths = [each for (each,) in _LENGTH.iter_unpack(_exactly(connection, count * _LENGTH.size))]
    return [_exactly(connection, length) for length in lengths]


def _exactly(connection: socket.socket, length: int) -> bytes:
    """Receive into one object of the final size: there is no second copy, and other threads run meanwhile."""
    data = connection.recv(length, socket.MSG_WAITALL) if length else b""
    while len(data) < length:  # a signal interrupts it
        more = connection.recv(length - len(data), socket.MSG_WAITALL)
        if not more:
            raise EOFError("the other process has ended")
        data += more
    return data
