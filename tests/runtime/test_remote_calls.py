"""Functions called in another process: which ones, and how their arguments and results travel."""

import socket
import subprocess
import sys
import threading
from typing import Any

import msgspec
import pytest

from findspot.agents import views
from findspot.content import document_bodies
from findspot.content.import_files import ImportFile, SizeLimits, convert_files
from findspot.errors import FindspotError
from findspot.indexing import cutting
from findspot.jsontext import operations
from findspot.runtime import remote_calls
from findspot.runtime.helpers import Helpers
from findspot.runtime.remote_calls import Call, answer, encoded, joined_there, read_reply, result_of, write_call
from findspot.sources.lines import LinePiece

HEAVY = {"sqlalchemy", "fastapi", "pydantic", "mcp", "tantivy", "numpy", "uvicorn", "click", "litellm"}


def passed_on(message: list[Any]) -> list[bytes]:
    """Send a message over a socket and return what arrives."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sending = threading.Thread(target=remote_calls.send, args=(ours, message))
        sending.start()
        received = remote_calls.receive(theirs)
        sending.join()
    return received


def call(function: Any, *arguments: Any) -> Any:
    """Return what a function returns when it is called by message."""
    asked = passed_on(write_call(7, function, arguments))
    received = passed_on(answer(asked))
    reply = read_reply(received)
    assert reply.number == 7
    return result_of(function, reply, received)


def test_arguments_and_results_travel_as_the_type_hints_say() -> None:
    document = cutting.DocumentToCut(3, "t", "markdown", frozenset({"known"}))
    parts, (lines,) = call(cutting.cut_documents, [document], [b"alpha\n\n---\n\nbeta"])
    assert [each.text for part in parts for each in part] == ["alpha", "beta"]
    assert LinePiece(*cutting.line_index(lines)).position(len("alpha\n\n")) == (5, 1)
    became, contents = call(
        convert_files,
        [ImportFile("a.md"), ImportFile("b.md")],
        SizeLimits(9, 9),
        [b"a", b"b"],
    )
    assert ([each.kind for each in became], contents) == (["document", "document"], [b"a", b"b"])
    assert call(cutting.index_terms, ["Rivers"]) == cutting.index_terms(["Rivers"])
    draft, content = call(document_bodies.parse_body, b'{"title":"t","content":"x","format":"text"}', "", 100)
    assert (draft.title, draft.word_count, content) == ("t", 1, b"x")
    assert b"rows" in call(views.view, views.View("get_all_data", "", {}, 500, "en"), b'{"rows":[]}')


def test_lists_in_parts_may_be_encoded_before_they_are_sent() -> None:
    table = cutting.TableToCut(7, (), 1000, 10, 100)
    known = [[("/a", "h", 100, 10)], [("/b", "h", 100, 10)]]
    for given in (known, [encoded(part) for part in known]):
        summary, gone, new = call(cutting.cut_table, table, b"null", iter(given))
        assert (summary.nodes, [node for part in gone for node in part], list(new)) == (0, [*known[0], *known[1]], [])


@pytest.mark.parametrize("pieces", [[], [b""], [b"a"], [b"a" * 200_000, b"", b"b" * 300_000, b"c"], [b"xy"] * 100_000])
def test_a_text_in_pieces_arrives_whole(pieces: list[bytes]) -> None:
    text = [b'"', *pieces, b'"']
    assert call(operations.accept, joined_there(text), 10**9) == b"".join(text)


def test_an_error_travels_with_code_message_and_fields() -> None:
    with pytest.raises(FindspotError) as caught:
        call(operations.accept, b"[1, 2]", 5)
    assert caught.value.body() == {
        "code": "CONTENT_TOO_LARGE",
        "message": "The table would have 6 bytes; 5 is the limit (FINDSPOT_MAX_TABLE).",
        "limit": 5,
    }


def refuse_oddly(text: bytes) -> bytes:
    raise FindspotError("INVALID_ARGUMENT", "not \ud800 this", value=object())


def test_an_error_that_cannot_be_encoded_travels_without_its_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refuse_oddly, "__module__", operations.__name__)
    monkeypatch.setattr(operations, "refuse_oddly", refuse_oddly, raising=False)
    with pytest.raises(FindspotError) as caught:
        call(refuse_oddly, b"")
    assert caught.value.body() == {"code": "INVALID_ARGUMENT", "message": "not ? this"}


def test_a_fault_is_an_internal_error_that_names_only_its_kind(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FindspotError) as caught:
        call(cutting.index_terms, ["secret", 5])
    assert caught.value.code == "INTERNAL"
    assert "secret" not in caught.value.message
    assert "Traceback" in capfd.readouterr().err


def test_only_functions_of_findspot_can_be_called() -> None:
    for function in (len, print, Helpers.run, lambda: None):
        with pytest.raises((ValueError, KeyError, TypeError)):
            write_call(1, function, ())
    foreign = msgspec.msgpack.encode(Call(1, "os:getcwd", []))
    assert read_reply(answer([foreign])).error is not None


def test_a_process_that_has_ended_is_the_end_of_the_message() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(b"\0\0\0\1" + b"\0" * 7 + b"\x09" + b"half")
        with pytest.raises(EOFError):
            remote_calls.receive(ours)


def test_a_helper_imports_nothing_heavy_for_json_and_documents() -> None:
    """It starts in a fraction of a second and takes little memory."""
    script = (
        "import sys, findspot.runtime.processes\n"
        "import findspot.jsontext.operations, findspot.content.document_bodies, findspot.content.import_files\n"
        "import findspot.indexing.cutting, findspot.agents.views\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    ended = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(ended.stdout.split())
