"""`findspot eval`: measures, and mistakes in the file of queries."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Outcome, Terminal, findspot
from tests.cli.projects import CHAPTERS, add_project
from tests.servers import Server

LONG = "The ferry was late. " + "Rain fell on the pier. " * 30 + "A stranger sold brass buttons."


@pytest.fixture(scope="module")
def target(served: tuple[Server, Path]) -> tuple[str, ...]:
    """The options that select a project of the shared server with some chapters."""
    return add_project(served[0], CHAPTERS | {"Long": LONG})


def evaluated(tmp_path: Path, target: tuple[str, ...], *lines: Any, arguments: tuple[str, ...] = ()) -> Outcome:
    file = tmp_path / "queries.jsonl"
    file.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines), encoding="utf-8")
    return findspot("eval", str(file), *target, *arguments)


def test_a_file_of_queries_is_measured(tmp_path: Path, target: tuple[str, ...]) -> None:
    right = {"query": "lantern", "expected": [{"document": "Chapter one", "text": "lit his lantern"}]}
    ranged = {"query": "旧照片", "expected": [{"document": "第二章", "start": 14, "end": 17}]}
    wrong = {"query": "林远", "expected": [{"document": "第二章", "start": 0, "end": 2}, {"document": "Chapter one"}]}
    good = evaluated(tmp_path, target, right, "", ranged)
    assert good.out.startswith("2 queries, hybrid\n  nDCG@10    1.000\n  recall@10  1.000\n  recall@50  1.000\n")
    assert "Every expected passage is among the first ten." in good.out
    out = evaluated(tmp_path, target, right, wrong).out
    assert (
        "Not among the first ten:\n  林远\n    expected document Chapter one: not found\n    first    第二章: 林远推开"
        in out
    )
    value = evaluated(tmp_path, target, wrong, arguments=("--json", "--mode", "fts")).json
    assert (value["queries"], value["mode"], value["recall10"]) == (1, "fts", 0.5)
    assert value["ndcg10"] == pytest.approx(1 / (1 + 0.6309297535714575))
    assert value["wrong"][0]["rank"] is None


@pytest.fixture(scope="module")
def twice(served: tuple[Server, Path]) -> tuple[str, ...]:
    """The options that select a project with two documents of one title, and one of another."""
    return add_project(served[0], [("Notes", "灯塔。"), ("Notes", "The keeper."), ("Chapter", "The lantern.")])


@pytest.mark.parametrize(
    ("passage", "message"),
    [
        ({"document": "Chapter 9"}, "document Chapter 9: no such document"),
        ({"document": 10**9}, "document 1000000000: no such document"),
        (
            {"document": "Chapter", "text": "the Lantern"},
            "document Chapter, “the Lantern”: the document does not contain this text",
        ),
        ({"document": "Chapter", "start": 4, "end": 13}, "document Chapter, 4–13: the text of the document ends at 12"),
        ({"document": "Notes", "text": "灯塔"}, "2 documents have this title; give the id of one: "),
    ],
)
def test_a_mistake_in_the_file_does_not_count_as_a_bad_result(
    tmp_path: Path, twice: tuple[str, ...], passage: dict[str, Any], message: str
) -> None:
    right = {"query": "lantern", "expected": [{"document": "Chapter", "text": "lantern"}]}
    wrong = {"query": "keeper", "expected": [{"document": "Chapter", "start": 0, "end": 12}, passage]}
    ended = evaluated(tmp_path, twice, right, "", wrong)
    assert (ended.code, ended.err) == (2, "")
    assert ended.out.startswith("1 query, hybrid\n  nDCG@10    1.000\n")  # and the other query is left out
    assert "not found" not in ended.out
    assert (
        f"Mistakes in {tmp_path / 'queries.jsonl'}; these queries were not measured:\n  keeper (line 3)\n" in ended.out
    )
    assert message in ended.out
    value = evaluated(tmp_path, twice, right, wrong, arguments=("--json",)).json
    (mistake,) = value["mistakes"]
    assert (value["queries"], value["recall10"], value["wrong"]) == (1, 1.0, [])
    assert (mistake["line"], mistake["query"]) == (2, "keeper")
    assert message in f"{mistake['expected']}: {mistake['mistake']}"


def test_a_file_with_only_mistakes_measures_nothing(tmp_path: Path, twice: tuple[str, ...]) -> None:
    wrong = {"query": "keeper", "expected": [{"document": "Chapter 9"}]}
    ended = evaluated(tmp_path, twice, wrong)
    assert (ended.code, ended.out.splitlines()[0]) == (2, "No query could be measured.")
    value = evaluated(tmp_path, twice, wrong, arguments=("--json",)).json
    assert (value["queries"], value["ndcg10"], len(value["mistakes"])) == (0, None, 1)


def test_json_lists_no_mistakes_for_a_correct_file(tmp_path: Path, twice: tuple[str, ...]) -> None:
    right = {"query": "lantern", "expected": [{"document": "Chapter"}]}
    ended = evaluated(tmp_path, twice, right, arguments=("--json",))
    assert (ended.code, ended.json["mistakes"]) == (0, [])


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path, twice: tuple[str, ...]) -> None:
    line = {"query": "lantern", "expected": [{"document": "Chapter"}]}
    assert evaluated(tmp_path, twice, *[line] * 40).err == ""
    with Terminal.running("eval", str(tmp_path / "queries.jsonl"), *twice) as terminal:
        assert terminal.end() == 0
        assert re.search(r"Measuring .*\d+/40", terminal.text)
        assert "40 queries, hybrid" in terminal.text


def test_a_passage_is_found_by_its_chunk_even_if_the_snippet_does_not_show_it(
    tmp_path: Path, target: tuple[str, ...]
) -> None:
    with_text = {"query": "ferry", "expected": [{"document": "Long", "text": "brass buttons"}]}
    ranged = {"query": "ferry", "expected": [{"document": "Long", "start": LONG.index("brass"), "end": len(LONG)}]}
    other_chunk = {"query": "lantern", "expected": [{"document": "Chapter one", "text": "Nobody had come"}]}
    snippet = findspot("search", "ferry", "--json", *target).json["results"][0]["snippet"]
    assert "buttons" not in snippet
    value = evaluated(tmp_path, target, with_text, ranged, other_chunk, arguments=("--json", "--mode", "fts")).json
    assert [each["query"] for each in value["wrong"]] == ["lantern"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "line 1 is not JSON"),
        ("[" * 100_000, "line 1 is not JSON"),
        ([1], "line 1: an object with query and expected is needed"),
        ({"query": "x"}, "line 1: expected must be a list of at least one passage"),
        ({"query": "x", "expected": []}, "line 1: expected must be a list of at least one passage"),
        ({"query": " ", "expected": [{"document": 1}]}, "line 1: query must be text that is not empty"),
        ({"query": "a\ud800", "expected": [{"document": 1}]}, "line 1: query contains half of a character"),
        (
            {"query": "x", "expected": [{"document": 1}], "k": 3},
            'line 1: unknown field "k"; the fields are query, expected',
        ),
        ({"query": "x", "expected": [3]}, "expected[0]: an object with document"),
        ({"query": "x", "expected": [{"place": 1}]}, 'expected[0]: unknown field "place"'),
        *(
            (
                {"query": "x", "expected": [{"document": "t"}, {"document": 1, **more}]},
                f"line 1: expected[1]: {message}",
            )
            for more, message in (
                ({"document": True}, "document must be an id or a title"),
                ({"document": 0}, "document must be an id or a title"),
                ({"document": None}, "document must be an id or a title"),
                ({"document": "\udc00"}, "document contains half of a character"),
                ({"text": ""}, "text must be text that is not empty"),
                ({"text": None}, "text must be text that is not empty"),
                ({"text": "灯\udfff"}, "text contains half of a character"),
                ({"text": "灯", "start": 1, "end": 2}, "give either text, or start and end"),
                ({"start": 5}, "end is missing"),
                ({"end": 5}, "start is missing"),
                ({"start": -5, "end": 2}, "start must be a whole number, 0 or more"),
                ({"start": True, "end": 2}, "start must be a whole number, 0 or more"),
                ({"start": 0, "end": 2.5}, "end must be a whole number, 0 or more"),
                ({"start": 5, "end": 2}, "end must be greater than start"),
            )
        ),
        ("", "contains no queries"),
    ],
)
def test_an_invalid_line_is_refused(tmp_path: Path, target: tuple[str, ...], line: Any, message: str) -> None:
    ended = evaluated(tmp_path, target, line)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_a_missing_file_is_named(tmp_path: Path, target: tuple[str, ...]) -> None:
    ended = findspot("eval", str(tmp_path / "gone.jsonl"), *target)
    assert (ended.code, "gone.jsonl cannot be read" in ended.err) == (2, True)
