"""`findspot search` and `findspot eval`, against a real server with the offline model."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from findspot.surfaces.cli.search import marked
from tests.cli.command import Outcome, Terminal, findspot
from tests.servers import Server

CHAPTERS = {
    "Chapter one": "The lighthouse keeper lit his lantern.\n\nNobody had come to the island for a year.",
    "第二章": "林远推开废弃仓库的大门。\n\n旧照片散落一地，他弯腰捡起其中一张。",
}


@pytest.fixture(scope="module")
def way(served: tuple[Server, Path]) -> tuple[str, ...]:
    """A project of the running server with two chapters, and the options that lead there."""
    server, _ = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "novel"}).json()["id"]
        for title, content in CHAPTERS.items():
            body = {"title": title, "type": "chapter", "format": "text", "content": content}
            owner.post(f"/api/v1/projects/{project}/documents", json=body)
        while owner.get(f"/api/v1/projects/{project}/status").json()["index_state"] != "ready":
            time.sleep(0.05)
    return "--project", str(project), "--url", server.url, "--key", server.token


@pytest.fixture
def search(way: tuple[str, ...]) -> Callable[..., Outcome]:
    def run(*arguments: str, code: int = 0) -> Outcome:
        ended = findspot("search", *way, *arguments)
        assert ended.code == code, ended
        return ended

    return run


def test_results_show_title_place_score_and_snippet(search: Callable[..., Outcome]) -> None:
    out = search("lantern keeper").out
    assert re.search(r"1–\d of \d \(hybrid, [\d.]+ ms\)", out)
    assert re.search(r"  1  Chapter one  chapter · document \d+, 0–38 · just now", out)
    assert re.search(r"█+░+ 0\.\d{3}", out)
    assert "The lighthouse keeper lit his lantern." in out
    assert "旧照片散落一地" in search("旧照片", "--mode", "fts").out


def test_explaining_adds_parts_words_and_a_sentence(search: Callable[..., Outcome]) -> None:
    out = search("lantern keeper", "--explain").out
    assert re.search(r"█ words 0\.\d+  █ meaning 0\.\d+  █ recency 0\.\d+", out)
    assert re.search(r"words: (keeper|lantern) [\d.]+  (keeper|lantern) [\d.]+", out)
    assert "It has 2 of 2 words" in out


def test_machines_get_the_answer_as_it_is(search: Callable[..., Outcome]) -> None:
    answer = search("林远", "--json", "--explain").json
    (result,) = answer["results"]
    assert (result["documentTitle"], result["snippet"]) == ("第二章", "林远推开废弃仓库的大门。")
    assert result["explained"]["matchedWords"][0]["word"] == "林远"


def test_nothing_found_says_what_to_try(search: Callable[..., Outcome]) -> None:
    assert search("zyzzyva", "--mode", "fts").out == "Nothing was found. Check the spelling, or try other words.\n"


def test_a_terminal_gets_colours(way: tuple[str, ...]) -> None:
    with Terminal.running("search", "lantern", *way) as terminal:
        assert terminal.end() == 0
        assert "\x1b[32m\x1b[1mlantern\x1b[0m" in terminal.seen


def test_marks_are_put_where_the_highlights_are() -> None:
    assert marked("a bc d", [[2, 4]]) == "a \x1b[32m\x1b[1mbc\x1b[0m d"
    assert marked("灯塔", []) == "灯塔"


def test_without_a_project_named_there_has_to_be_only_one(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    ended = findspot("search", "x", *data)
    assert (ended.code, "There is no project yet." in ended.err) == (2, True)
    findspot("project", "create", "only", *data)
    ended = findspot("search", "x", *data)
    assert (ended.code, "has no documents" in ended.out) == (0, True)
    findspot("document", "create", "1", "t", "some text", *data)
    assert "not everything is indexed yet" in findspot("search", "text", *data).out
    findspot("project", "create", "second", *data)
    ended = findspot("search", "x", *data)
    assert (ended.code, "There are 2 projects: 1 (only), 2 (second)." in ended.err) == (2, True)


# ── eval ──


def evaluated(tmp_path: Path, way: tuple[str, ...], *lines: Any, arguments: tuple[str, ...] = ()) -> Outcome:
    file = tmp_path / "queries.jsonl"
    file.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines), encoding="utf-8")
    return findspot("eval", str(file), *way, *arguments)


def test_a_file_of_queries_is_judged(tmp_path: Path, way: tuple[str, ...]) -> None:
    right = {"query": "lantern", "expected": [{"document": "Chapter one", "text": "lit his lantern"}]}
    ranged = {"query": "旧照片", "expected": [{"document": "第二章", "start": 14, "end": 17}]}
    wrong = {"query": "林远", "expected": [{"document": "第二章", "start": 0, "end": 2}, {"document": "Chapter one"}]}
    good = evaluated(tmp_path, way, right, "", ranged)
    assert good.out.startswith("2 queries, hybrid\n  nDCG@10    1.000\n  recall@10  1.000\n  recall@50  1.000\n")
    assert "Every expected place is among the first ten." in good.out
    out = evaluated(tmp_path, way, right, wrong).out
    assert (
        "What went wrong:\n  林远\n    expected document Chapter one: not found\n    first    第二章: 林远推开" in out
    )
    value = evaluated(tmp_path, way, wrong, arguments=("--json", "--mode", "fts")).json
    assert (value["queries"], value["mode"], value["recall10"]) == (1, "fts", 0.5)
    assert value["ndcg10"] == pytest.approx(1 / (1 + 0.6309297535714575))
    assert value["wrong"][0]["rank"] is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "line 1 is not JSON"),
        ({"query": "x"}, "line 1 is not a query"),
        ({"query": "x", "expected": []}, "line 1 is not a query"),
        ({"query": "x", "expected": [{"place": 1}]}, "is no place"),
        ({"query": "x", "expected": [{"document": 1, "start": 5, "end": 2}]}, "is no place"),
        ("", "holds no queries"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, way: tuple[str, ...], line: Any, said: str) -> None:
    ended = evaluated(tmp_path, way, line)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_file_that_is_not_there_is_named(tmp_path: Path, way: tuple[str, ...]) -> None:
    ended = findspot("eval", str(tmp_path / "gone.jsonl"), *way)
    assert (ended.code, "gone.jsonl cannot be read" in ended.err) == (2, True)
