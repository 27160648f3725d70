"""Read the file of `findspot eval`: one query per line, with the passages that answer it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from findspot.surfaces.cli.failure import Failure

_LINE_FORMAT = (
    'Each line must be {"query": "…", "expected": [{"document": 3, "text": "…"}]}. A document is an id or a title.'
)


@dataclass(frozen=True, slots=True)
class ExpectedPassage:
    """A passage that answers a query: a document by id or title, and optionally a text or a range of characters."""

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
class EvalQuery:
    """A query, its expected passages, and its line in the file."""

    query: str
    expected: Sequence[ExpectedPassage]
    line: int


def read_queries(file: Path) -> list[EvalQuery]:
    """Return the queries of a file. Raise a Failure that names the line and field of a mistake."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}.", exit_code=2) from None
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not UTF-8 (byte {error.start}).", exit_code=2) from None
    lines = enumerate(text.split("\n"), start=1)
    queries = [_query(line, f"{file}, line {number}", number) for number, line in lines if line.strip()]
    if not queries:
        raise Failure(f"{file} contains no queries.", _LINE_FORMAT, 2)
    return queries


def _query(line: str, where: str, number: int) -> EvalQuery:
    members = _object(_value(line, where), where, ("query", "expected"))
    query = _text(members.get("query"), where, "query")
    passages: Any = members.get("expected")
    _check(isinstance(passages, list) and passages, where, "expected must be a list of at least one passage")
    expected = [_passage(each, f"{where}: expected[{index}]") for index, each in enumerate(passages)]
    return EvalQuery(query, expected, number)


def _value(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise Failure(f"{where} is not JSON: {reason}.", _LINE_FORMAT, 2) from None


def _object(value: Any, where: str, known: Sequence[str]) -> dict[str, Any]:
    _check(isinstance(value, dict), where, f"an object with {' and '.join(known[:2])} is needed")
    members: dict[str, Any] = value
    unknown = next((name for name in members if name not in known), None)
    _check(unknown is None, where, f"unknown field {json.dumps(unknown)}; the fields are {', '.join(known)}")
    return members


def _passage(value: Any, where: str) -> ExpectedPassage:
    passage = _object(value, where, ("document", "text", "start", "end"))
    document: Any = passage.get("document")
    _check(isinstance(document, str) or (_is_number(document) and document), where, "document must be an id or a title")
    document = _text(document, where, "document") if isinstance(document, str) else document
    if "text" in passage:
        _check("start" not in passage and "end" not in passage, where, "give either text, or start and end")
        return ExpectedPassage(document, _text(passage["text"], where, "text").strip())
    for name, other in (("start", "end"), ("end", "start")):
        _check(name in passage or other not in passage, where, f"{name} is missing; {other} needs it")
        _check(name not in passage or _is_number(passage[name]), where, f"{name} must be a whole number, 0 or more")
    if "start" in passage:
        _check(passage["start"] < passage["end"], where, "end must be greater than start")
    return ExpectedPassage(document, None, passage.get("start"), passage.get("end"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(value: Any, where: str, name: str) -> str:
    """Return the text. Lone surrogates, which JSON can contain, cannot be sent."""
    _check(isinstance(value, str) and value.strip(), where, f"{name} must be text that is not empty")
    is_valid = not any("\ud800" <= each <= "\udfff" for each in value)
    _check(is_valid, where, f"{name} contains half of a character (a lone surrogate)")
    return str(value)


def _check(valid: object, where: str, mistake: str) -> None:
    if not valid:
        raise Failure(f"{where}: {mistake}.", _LINE_FORMAT, 2)
