"""`findspot search` and `findspot eval`, against a real server with the offline model."""

import json
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from findspot.surfaces.cli.terminal import columns
from tests.cli.command import Outcome, Terminal, findspot
from tests.servers import Server

HOSTILE = "A \x1b]0;hostile\x07 \u202etext."
CHAPTERS = {
    "Chapter one": "The lighthouse keeper lit his lantern.\n\nNobody had come to the island for a year.",
    "Signs": "A 🏮 hung there.",
    "Evil\u202e title": HOSTILE,
    "第二章": "林远推开废弃仓库的大门。\n\n旧照片散落一地，他弯腰捡起其中一张。",
}


def settled(owner: Any, project: int) -> None:
    while owner.get(f"/api/v1/projects/{project}/status").json()["index_state"] != "ready":
        time.sleep(0.05)


@pytest.fixture(scope="module")
def way(served: tuple[Server, Path]) -> tuple[str, ...]:
    """A project of the running server with two chapters, and the options that lead there."""
    server, _ = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "novel"}).json()["id"]
        for title, content in CHAPTERS.items():
            body = {"title": title, "type": "chapter", "format": "text", "content": content}
            owner.post(f"/api/v1/projects/{project}/documents", json=body)
        settled(owner, project)
    return "--project", str(project), "--url", server.url, "--key", server.token


@pytest.fixture(scope="module")
def many(served: tuple[Server, Path]) -> str:
    """A project with sixty passages."""
    server, _ = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "cellars"}).json()["id"]
        content = "\n\n".join(f"Cellar number {number} is {'deep ' * number}." for number in range(60))
        body = {"title": "Cellars", "format": "text", "content": content}
        owner.post(f"/api/v1/projects/{project}/documents", json=body)
        settled(owner, project)
    return str(project)


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
    assert re.search(r"█+▒+░+·+ 0\.\d{3}", out)
    assert "The lighthouse «keeper» lit his «lantern»." in out
    assert "«旧照片»散落一地" in search("旧照片", "--mode", "fts").out


def test_explaining_adds_parts_words_and_a_sentence(search: Callable[..., Outcome]) -> None:
    out = search("lantern keeper", "--explain").out
    assert re.search(r"█ words 0\.\d+  ▒ meaning 0\.\d+  ░ recency 0\.\d+", out)
    assert re.search(r"words: (keeper|lantern) [\d.]+  (keeper|lantern) [\d.]+", out)
    assert "It has both words" in out


def test_machines_get_the_answer_as_it_is(search: Callable[..., Outcome]) -> None:
    answer = search("林远", "--json", "--explain").json
    (result,) = answer["results"]
    assert (result["documentTitle"], result["snippet"]) == ("第二章", "林远推开废弃仓库的大门。")
    assert result["explained"]["matchedWords"][0]["word"] == "林远"


def test_nothing_found_says_what_to_try(search: Callable[..., Outcome]) -> None:
    assert search("zyzzyva", "--mode", "fts").out == "Nothing was found. Check the spelling, or try other words.\n"


@pytest.mark.parametrize("query", ["", " ", "!!!", "…", '""'])
@pytest.mark.parametrize("mode", ["fts", "hybrid"])
def test_a_query_without_words_is_told_so(search: Callable[..., Outcome], query: str, mode: str) -> None:
    assert search(query, "--mode", mode).out == "The query contains no words to search for.\n"


def test_nothing_found_because_all_of_it_is_excluded_is_told_so(search: Callable[..., Outcome]) -> None:
    assert search("lantern -keeper", "--mode", "fts").out == (
        "All results were excluded by '-'. Without the excluded words there are results: lantern\n"
    )
    assert search("zyzzyva -keeper", "--mode", "fts").out.startswith("Nothing was found.")


def test_nothing_found_because_it_scores_low_leads_to_the_option(search: Callable[..., Outcome]) -> None:
    assert search("income tax").out == (
        "Nothing was found. Check the spelling, or try other words; '--low-scores' includes scores below 0.25.\n"
    )
    assert "of" in search("income tax", "--low-scores").out.splitlines()[0]


def test_a_person_who_reads_chinese_gets_chinese_sentences(
    search: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "命中全部 2 个词（“keeper”“lantern”，关键词排名第 1）" in search("lantern keeper", "--explain").out
    assert "，折算为 " in search("lantern", "--explain", "--mode", "fts").out
    assert "余弦相似度为 " in search("lantern", "--explain", "--mode", "semantic").out
    monkeypatch.setenv("LC_ALL", "C")
    assert "It has both words" in search("lantern keeper", "--explain").out


def test_what_is_not_indexed_yet_is_noted_for_people_and_machines(
    alone: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone("project", "create", "novel")
    alone("document", "create", "1", "Chapter", "The lighthouse keeper.")
    note = "Results may be incomplete: not everything is indexed yet. Run 'findspot serve' to update the index."
    assert alone("search", "keeper").out == f"! {note}\n\nNothing was found.\n"
    answer = alone("search", "keeper", "--json").json
    assert (answer["results"], answer["notice"]) == ([], note)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "内容尚未全部建立索引" in alone("search", "keeper", "--json").json["notice"]


def test_a_page_past_the_last_says_how_many_there_are(search: Callable[..., Outcome]) -> None:
    assert search("lantern", "--mode", "fts", "--page", "99").out == (
        "There is no page 99: this search has 1 result, 50 per page.\n"
    )
    assert search("zyzzyva", "--mode", "fts", "--page", "2").out.startswith("Nothing was found.")


def test_results_are_numbered_on_from_the_page_before(search: Callable[..., Outcome], many: str) -> None:
    first, second = (search("cellar", "--project", many, "--mode", "fts", "--page", page).out for page in "12")
    assert re.findall(r"^ *(\d+)  ", first, re.MULTILINE) == [str(number) for number in range(1, 51)]
    assert "1–50 of 60" in first
    assert "51–60 of 60" in second
    assert re.findall(r"^ *(\d+)  ", second, re.MULTILINE) == [str(number) for number in range(51, 61)]
    assert "this search has 60 results, 50 per page" in search("cellar", "--project", many, "--page", "4").out


@pytest.mark.parametrize("query", ["-keeper lantern", "-守塔人 lantern", "-h lantern"])
def test_a_query_may_begin_with_what_is_not_wanted(search: Callable[..., Outcome], query: str) -> None:
    plain, dashed = (search("--json", "--mode", "fts", *given).json for given in ((query,), ("--", query)))
    assert plain["results"] == dashed["results"]
    assert bool(plain["results"]) == ("keeper" not in query)  # it stands beside the lantern


def test_a_single_word_with_a_dash_is_told_from_an_option(search: Callable[..., Outcome]) -> None:
    for query in ("-old", "-house", "-灯塔"):
        said = search(query, code=2).err
        assert f"No such option '{query}'." in said
        assert f"findspot search -- {shlex.quote(query)}" in said
    assert "Did you mean '--page'?" in search("lantern", "--pgae", "3", code=2).err


@pytest.mark.parametrize(
    ("mode", "raw", "name"), [("fts", "BM25", "keyword"), ("semantic", "Cosine similarity", "semantic")]
)
def test_a_search_by_one_leg_is_explained_by_that_leg(
    search: Callable[..., Outcome], mode: str, raw: str, name: str
) -> None:
    out = search("lantern", "--mode", mode, "--explain").out
    score = re.search(r"[█▒]+·* (\d\.\d{3})", out)
    assert score
    assert re.search(rf"{raw} is [\d.]+, a score of {score[1]} on a scale from 0 to 1, rank 1 in {name} search\.", out)
    assert out.count("█ words" if mode == "fts" else "▒ meaning") >= 1
    assert not any(each in out for each in ("Together", "recency", "▒ meaning" if mode == "fts" else "█ words"))


def test_a_sign_is_explained_by_words_alone(search: Callable[..., Outcome]) -> None:
    out = search("🏮", "--explain").out
    assert "It has the one word (“🏮”, rank 1 by keyword)" in out
    assert "its meaning" not in out


def test_a_terminal_gets_colours(way: tuple[str, ...]) -> None:
    with Terminal.running("search", "lantern", *way) as terminal:
        assert terminal.end() == 0
        assert "\x1b[32m\x1b[1mlantern\x1b[0m" in terminal.seen


def test_a_terminal_gets_no_colours_if_no_one_wants_them(way: tuple[str, ...]) -> None:
    for arguments in (
        ("search", "lantern", "--explain"),
        ("search", "lantern", "--page", "many"),
        ("search", "--help"),
    ):
        with Terminal.running(*arguments, *way, NO_COLOR="1") as terminal:
            terminal.end()
            assert "lantern" in terminal.seen or "many" in terminal.seen or "Usage" in terminal.seen
            assert "\x1b" not in terminal.seen


@pytest.mark.parametrize("query", ["lantern cellar", "旧照片"])
def test_lines_fit_a_narrow_terminal(way: tuple[str, ...], query: str) -> None:
    with Terminal.running("search", query, "--explain", "--low-scores", *way, COLUMNS="40") as terminal:
        assert terminal.end() == 0
        assert max(map(columns, terminal.text.splitlines())) <= 40
        assert len(terminal.text.splitlines()) > 10


def test_documents_cannot_steer_the_terminal(way: tuple[str, ...], search: Callable[..., Outcome]) -> None:
    with Terminal.running("search", "hostile", "--explain", "--mode", "fts", *way) as terminal:
        assert terminal.end() == 0
        assert "\x1b[1mEvil� title\x1b[0m" in terminal.seen
        assert "A ␛]0;\x1b[32m\x1b[1mhostile\x1b[0m␇ �text." in terminal.seen
    (result,) = search("hostile", "--mode", "fts", "--json").json["results"]
    assert (result["documentTitle"], result["snippet"]) == ("Evil\u202e title", HOSTILE)


def test_without_a_project_named_there_has_to_be_only_one(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    findspot("project", "create", "gone", *data)
    findspot("project", "delete", "1", "--yes", *data)
    ended = findspot("search", "x", *data)
    assert (ended.code, "There is no project yet." in ended.err) == (2, True)
    findspot("project", "create", "only", *data)
    ended = findspot("search", "x", *data)
    assert (ended.code, "has no documents" in ended.out) == (0, True)
    findspot("document", "create", "2", "t", "some text", *data)
    assert "not everything is indexed yet" in findspot("search", "text", *data).out
    findspot("project", "create", "second", *data)
    ended = findspot("search", "x", *data)
    assert (ended.code, "There are 2 projects: 2 (only), 3 (second)." in ended.err) == (2, True)


# ── eval ──


def wait(way: tuple[str, ...]) -> None:
    while findspot("project", "status", way[1], "--json", *way[2:]).json["index_state"] != "ready":
        time.sleep(0.05)


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
    assert "Every expected passage is among the first ten." in good.out
    out = evaluated(tmp_path, way, right, wrong).out
    assert (
        "Not among the first ten:\n  林远\n    expected document Chapter one: not found\n    first    第二章: 林远推开"
        in out
    )
    value = evaluated(tmp_path, way, wrong, arguments=("--json", "--mode", "fts")).json
    assert (value["queries"], value["mode"], value["recall10"]) == (1, "fts", 0.5)
    assert value["ndcg10"] == pytest.approx(1 / (1 + 0.6309297535714575))
    assert value["wrong"][0]["rank"] is None


@pytest.fixture(scope="module")
def twice(served: tuple[Server, Path]) -> tuple[str, ...]:
    """A project with two documents of one title, and one of another."""
    server, _ = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "twice"}).json()["id"]
        for title, content in (("Notes", "灯塔。"), ("Notes", "The keeper."), ("Chapter", "The lantern.")):
            body = {"title": title, "format": "text", "content": content}
            owner.post(f"/api/v1/projects/{project}/documents", json=body)
        settled(owner, project)
    return "--project", str(project), "--url", server.url, "--key", server.token


@pytest.mark.parametrize(
    ("place", "said"),
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
def test_a_mistake_in_the_file_is_told_from_a_bad_search(
    tmp_path: Path, twice: tuple[str, ...], place: dict[str, Any], said: str
) -> None:
    right = {"query": "lantern", "expected": [{"document": "Chapter", "text": "lantern"}]}
    wrong = {"query": "keeper", "expected": [{"document": "Chapter", "start": 0, "end": 12}, place]}
    ended = evaluated(tmp_path, twice, right, "", wrong)
    assert (ended.code, ended.err) == (2, "")
    assert ended.out.startswith("1 query, hybrid\n  nDCG@10    1.000\n")  # and the other query is left out
    assert "not found" not in ended.out
    assert (
        f"Mistakes in {tmp_path / 'queries.jsonl'}; these queries were not measured:\n  keeper (line 3)\n" in ended.out
    )
    assert said in ended.out
    value = evaluated(tmp_path, twice, right, wrong, arguments=("--json",)).json
    (mistake,) = value["mistakes"]
    assert (value["queries"], value["recall10"], value["wrong"]) == (1, 1.0, [])
    assert (mistake["line"], mistake["query"]) == (2, "keeper")
    assert said in f"{mistake['expected']}: {mistake['mistake']}"


def test_a_file_of_mistakes_alone_judges_nothing(tmp_path: Path, twice: tuple[str, ...]) -> None:
    wrong = {"query": "keeper", "expected": [{"document": "Chapter 9"}]}
    ended = evaluated(tmp_path, twice, wrong)
    assert (ended.code, ended.out.splitlines()[0]) == (2, "No query could be measured.")
    value = evaluated(tmp_path, twice, wrong, arguments=("--json",)).json
    assert (value["queries"], value["ndcg10"], len(value["mistakes"])) == (0, None, 1)


def test_a_file_without_mistakes_says_so_to_machines(tmp_path: Path, twice: tuple[str, ...]) -> None:
    right = {"query": "lantern", "expected": [{"document": "Chapter"}]}
    ended = evaluated(tmp_path, twice, right, arguments=("--json",))
    assert (ended.code, ended.json["mistakes"]) == (0, [])


def test_judging_shows_how_far_it_is_on_a_terminal_alone(tmp_path: Path, twice: tuple[str, ...]) -> None:
    line = {"query": "lantern", "expected": [{"document": "Chapter"}]}
    assert evaluated(tmp_path, twice, *[line] * 40).err == ""
    with Terminal.running("eval", str(tmp_path / "queries.jsonl"), *twice) as terminal:
        assert terminal.end() == 0
        assert re.search(r"Measuring .*\d+/40", terminal.text)
        assert "40 queries, hybrid" in terminal.text


def test_a_place_is_found_by_its_passage_though_the_snippet_does_not_show_it(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    text = "The ferry was late. " + "Rain fell on the pier. " * 30 + "A stranger sold brass buttons."
    with_text = {"query": "ferry", "expected": [{"document": "Long", "text": "brass buttons"}]}
    ranged = {"query": "ferry", "expected": [{"document": "Long", "start": text.index("brass"), "end": len(text)}]}
    elsewhere = {"query": "lantern", "expected": [{"document": "Chapter one", "text": "Nobody had come"}]}
    way = ("--project", findspot("project", "create", "long", "--json", *way[2:]).json["id"], *way[2:])
    way = tuple(map(str, way))
    findspot("document", "create", way[1], "Long", text, *way[2:])
    findspot("document", "create", way[1], "Chapter one", CHAPTERS["Chapter one"], *way[2:])
    wait(way)
    snippet = findspot("search", "ferry", "--json", *way).json["results"][0]["snippet"]
    assert "buttons" not in snippet
    value = evaluated(tmp_path, way, with_text, ranged, elsewhere, arguments=("--json", "--mode", "fts")).json
    assert [each["query"] for each in value["wrong"]] == ["lantern"]  # that is another paragraph


@pytest.mark.parametrize(
    ("line", "said"),
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
            ({"query": "x", "expected": [{"document": "t"}, {"document": 1, **more}]}, f"line 1: expected[1]: {said}")
            for more, said in (
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
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, way: tuple[str, ...], line: Any, said: str) -> None:
    ended = evaluated(tmp_path, way, line)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_file_that_is_not_there_is_named(tmp_path: Path, way: tuple[str, ...]) -> None:
    ended = findspot("eval", str(tmp_path / "gone.jsonl"), *way)
    assert (ended.code, "gone.jsonl cannot be read" in ended.err) == (2, True)
