"""The file that `findspot eval` reads: a query a line, with the places that answer it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from findspot.surfaces.cli.outcome import Failure

_LINE = 'A line is {"query": "…", "expected": [{"document": 3, "text": "…"}]}; a document is an id or a title.'


@dataclass(frozen=True, slots=True)
class Expected:
    """A place that answers a query: a document by id or title, and maybe a text or a range of characters in it."""

    document: int | str
    text: str | None = None
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        where = f"document {self.document}"
        if self.start is not None:
            return f"{where}, {self.start}–{self.end}"
        return where if self.text is None else f"{where}, “{self.text[:60]}”"


@dataclass(frozen=True, slots=True)
class Question:
    """A query, what should be found, and the line of the file that says so."""

    query: str
    expected: Sequence[Expected]
    line: int


def read(file: Path) -> list[Question]:
    """All questions of a file; what is not understood is named with its line and field."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}.", exit_code=2) from None
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not UTF-8 (byte {error.start}).", exit_code=2) from None
    lines = enumerate(text.split("\n"), start=1)
    questions = [_question(line, f"{file}, line {number}", number) for number, line in lines if line.strip()]
    if not questions:
        raise Failure(f"{file} holds no queries.", _LINE, 2)
    return questions


def _question(line: str, where: str, number: int) -> Question:
    members = _object(_value(line, where), where, ("query", "expected"))
    query = _text(members.get("query"), where, "query")
    places: Any = members.get("expected")
    _check(isinstance(places, list) and places, where, "expected has to be a list of one place or more")
    expected = [_place(each, f"{where}: expected[{place}]") for place, each in enumerate(places)]
    return Question(query, expected, number)


def _value(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise Failure(f"{where} is not JSON: {reason}.", _LINE, 2) from None


def _object(value: Any, where: str, known: Sequence[str]) -> dict[str, Any]:
    _check(isinstance(value, dict), where, f"an object with {' and '.join(known[:2])} is needed")
    members: dict[str, Any] = value
    strange = next((name for name in members if name not in known), None)
    _check(strange is None, where, f"{json.dumps(strange)} is not known; there are {', '.join(known)}")
    return members


def _place(value: Any, where: str) -> Expected:
    place = _object(value, where, ("document", "text", "start", "end"))
    document: Any = place.get("document")
    _check(
        isinstance(document, str) or (_is_number(document) and document), where, "document has to be an id or a title"
    )
    document = _text(document, where, "document") if isinstance(document, str) else document
    if "text" in place:
        _check("start" not in place and "end" not in place, where, "text stands beside start and end; give one of them")
        return Expected(document, _text(place["text"], where, "text").strip())
    for name, other in (("start", "end"), ("end", "start")):
        _check(name in place or other not in place, where, f"{name} is missing; {other} cannot stand alone")
        _check(name not in place or _is_number(place[name]), where, f"{name} has to be a whole number from 0")
    if "start" in place:
        _check(place["start"] < place["end"], where, "end has to be greater than start")
    return Expected(document, None, place.get("start"), place.get("end"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(value: Any, where: str, name: str) -> str:
    """Text that can be sent: JSON may also name halves of characters."""
    _check(isinstance(value, str) and value.strip(), where, f"{name} has to be text with something in it")
    whole = not any("\ud800" <= each <= "\udfff" for each in value)
    _check(whole, where, f"{name} has half of a character in it (a lone surrogate)")
    return str(value)


def _check(fine: object, where: str, said: str) -> None:
    if not fine:
        raise Failure(f"{where}: {said}.", _LINE, 2)
