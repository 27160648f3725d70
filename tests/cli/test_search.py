"""`findspot search` against a real server with the offline model."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.surfaces.cli.terminal import columns
from tests.cli.command import Outcome, Terminal, findspot, findspot_on_terminal
from tests.cli.projects import CHAPTERS, HOSTILE, add_project
from tests.servers import Server


@pytest.fixture(scope="module")
def target(served: tuple[Server, Path]) -> tuple[str, ...]:
    """The options that select a project of the shared server with some chapters."""
    return add_project(served[0], CHAPTERS, "chapter")


@pytest.fixture(scope="module")
def many(served: tuple[Server, Path]) -> str:
    """A project with sixty passages."""
    content = "\n\n".join(f"Cellar number {number} is {'deep ' * number}." for number in range(60))
    return add_project(served[0], {"Cellars": content})[1]


@pytest.fixture
def search(target: tuple[str, ...]) -> Callable[..., Outcome]:
    def run(*arguments: str, code: int = 0) -> Outcome:
        ended = findspot("search", *target, *arguments)
        assert ended.code == code, ended
        return ended

    return run


def test_results_show_title_position_score_and_snippet(search: Callable[..., Outcome]) -> None:
    out = search("lantern keeper").out
    assert re.search(r"1–\d of \d \(hybrid, [\d.]+ ms\)", out)
    assert re.search(r"  1  Chapter one  chapter · document \d+, 0–38 · just now", out)
    assert re.search(r"█+▒+░+·+ 0\.\d{3}", out)
    assert "The lighthouse «keeper» lit his «lantern»." in out
    assert "«旧照片»散落一地" in search("旧照片", "--mode", "fts").out


def test_explain_adds_score_parts_words_and_a_sentence(search: Callable[..., Outcome]) -> None:
    out = search("lantern keeper", "--explain").out
    assert re.search(r"█ words 0\.\d+  ▒ meaning 0\.\d+  ░ recency 0\.\d+", out)
    assert re.search(r"words: (keeper|lantern) [\d.]+  (keeper|lantern) [\d.]+", out)
    assert "It contains both words" in out


def test_json_is_the_response_of_the_api(search: Callable[..., Outcome]) -> None:
    answer = search("林远", "--json", "--explain").json
    (result,) = answer["results"]
    assert (result["documentTitle"], result["snippet"]) == ("第二章", "林远推开废弃仓库的大门。")
    assert result["explained"]["matchedWords"][0]["word"] == "林远"


def test_an_empty_result_suggests_what_to_try(search: Callable[..., Outcome]) -> None:
    assert search("zyzzyva", "--mode", "fts").out == "Nothing was found. Check the spelling, or try other words.\n"


@pytest.mark.parametrize("query", ["", " ", "!!!", "…", '""'])
@pytest.mark.parametrize("mode", ["fts", "hybrid"])
def test_a_query_without_words_is_reported(search: Callable[..., Outcome], query: str, mode: str) -> None:
    assert search(query, "--mode", mode).out == "The query contains no words to search for.\n"


def test_an_empty_result_names_exclusion_as_its_cause(search: Callable[..., Outcome]) -> None:
    assert search("lantern -keeper", "--mode", "fts").out == (
        "All results were excluded by '-'. Without the excluded words there are results: lantern\n"
    )
    assert search("zyzzyva -keeper", "--mode", "fts").out.startswith("Nothing was found.")


def test_an_empty_result_with_low_scores_suggests_the_option(search: Callable[..., Outcome]) -> None:
    assert search("income tax").out == (
        "Nothing was found. Check the spelling, or try other words; '--low-scores' includes scores below 0.25.\n"
    )
    assert "of" in search("income tax", "--low-scores").out.splitlines()[0]


def test_the_locale_selects_chinese_explanations(
    search: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "命中全部 2 个词（“keeper”“lantern”，关键词排名第 1）" in search("lantern keeper", "--explain").out
    assert "，折算为 " in search("lantern", "--explain", "--mode", "fts").out
    assert "余弦相似度为 " in search("lantern", "--explain", "--mode", "semantic").out
    monkeypatch.setenv("LC_ALL", "C")
    assert "It contains both words" in search("lantern keeper", "--explain").out


def test_a_notice_says_that_documents_are_not_indexed_yet(
    alone: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone("project", "create", "novel")
    alone("document", "create", "1", "Chapter", "The lighthouse keeper.")
    note = (
        "0 of 1 documents are indexed; results may be incomplete. Try again soon. "
        "No server is running: run 'findspot serve' to update the index."
    )
    shown = alone("search", "keeper").out
    assert " ".join(shown.split()) == f"! {note} Nothing was found."
    answer = alone("search", "keeper", "--json").json
    assert (answer["results"], answer["notice"], answer["indexState"]) == ([], note, "indexing")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    notice = alone("search", "keeper", "--json").json["notice"]
    assert "共 1 篇文档，已索引 0 篇" in notice
    assert "请运行 findspot serve 更新索引" in notice
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    status = alone("project", "status", "1").out
    assert "1, 0 of them indexed" in status
    assert "0 %, cutting texts into chunks" in status


def test_a_page_after_the_last_shows_the_number_of_results(search: Callable[..., Outcome]) -> None:
    assert search("lantern", "--mode", "fts", "--page", "99").out == (
        "There is no page 99: this search has 1 result, 50 per page.\n"
    )
    assert search("zyzzyva", "--mode", "fts", "--page", "2").out.startswith("Nothing was found.")


def test_numbering_continues_on_the_next_page(search: Callable[..., Outcome], many: str) -> None:
    first, second = (search("cellar", "--project", many, "--mode", "fts", "--page", page).out for page in "12")
    assert re.findall(r"^ *(\d+)  ", first, re.MULTILINE) == [str(number) for number in range(1, 51)]
    assert "1–50 of 60" in first
    assert "51–60 of 60" in second
    assert re.findall(r"^ *(\d+)  ", second, re.MULTILINE) == [str(number) for number in range(51, 61)]
    assert "this search has 60 results, 50 per page" in search("cellar", "--project", many, "--page", "4").out


@pytest.fixture(scope="module")
def alike(served: tuple[Server, Path]) -> str:
    """A project in which three documents share a passage."""
    shared = "The tide table 潮汐表"
    documents = {"一": shared, "Two": f"{shared.upper()}\n\nAnother tide 潮汐", "Three": f"{shared}\n\nThird 潮汐"}
    return add_project(served[0], documents, "note")[1]


def test_passages_that_are_alike_are_folded_unless_all_are_asked_for(
    search: Callable[..., Outcome], alike: str
) -> None:
    folded = search("潮汐 tide", "--project", alike, "--mode", "fts").out
    assert folded.count("and 2 more like this (--all)") == 1
    assert "1–3 of 5" in folded
    everything = search("潮汐 tide", "--project", alike, "--mode", "fts", "--all").out
    assert "more like this" not in everything
    assert "1–5 of 5" in everything
    limited = search("潮汐", "--project", alike, "--all", "--per-document", "1", "--limit", "2", "--json").json
    assert (len({each["documentId"] for each in limited["results"]}), limited["hasMore"]) == (2, True)


def test_filters_select_documents_and_an_empty_result_names_them(search: Callable[..., Outcome], alike: str) -> None:
    one = search("潮汐", "--project", alike, "--json", "--all").json["results"][0]["documentId"]
    found = search("潮汐", "--project", alike, "--document", str(one), "--type", "note", "--since", "1d", "--json").json
    assert {each["documentId"] for each in found["results"]} == {one}
    for options in (("--path", "notes/"), ("--type", "chapter"), ("--before", "2020-01-01"), ("--document", "999999")):
        out = search("潮汐", "--project", alike, *options).out
        assert out.startswith("Nothing was found in the documents that the filters admit.")
    error = search("潮汐", "--project", alike, "--since", "yesterday", code=2).err
    assert "'yesterday' is no date such as 2026-11-01, and no age such as 12h, 7d or 4w." in error


def test_matches_are_counted_by_type_and_document(search: Callable[..., Outcome], alike: str) -> None:
    out = search("潮汐 tide", "--project", alike, "--mode", "fts", "--count", "--sort", "date").out
    assert re.search(
        r"matches by type\n  5  note\nmatches by document\n  2  (Two|Three)\n  2  (Two|Three)\n  1  一", out
    )


@pytest.mark.parametrize("query", ["-keeper lantern", "-守塔人 lantern", "-h lantern"])
def test_a_query_may_start_with_an_excluded_word(search: Callable[..., Outcome], query: str) -> None:
    plain, dashed = (search("--json", "--mode", "fts", *given).json for given in ((query,), ("--", query)))
    assert plain["results"] == dashed["results"]
    assert bool(plain["results"]) == ("keeper" not in query)  # the keeper is in the same passage as the lantern


def test_a_single_word_with_a_dash_gets_a_hint(search: Callable[..., Outcome]) -> None:
    for query in ("-old", "-house", "-灯塔"):
        error = search(query, code=2).err
        assert f"No such option '{query}'." in error
        assert f"findspot search -- {shlex.quote(query)}" in error
    assert "Did you mean one of: '--page', " in search("lantern", "--pgae", "3", code=2).err


@pytest.mark.parametrize(
    ("mode", "raw", "name"), [("fts", "BM25", "keyword"), ("semantic", "Cosine similarity", "semantic")]
)
def test_a_search_in_one_mode_is_explained_by_that_mode(
    search: Callable[..., Outcome], mode: str, raw: str, name: str
) -> None:
    out = search("lantern", "--mode", mode, "--explain").out
    score = re.search(r"[█▒]+·* (\d\.\d{3})", out)
    assert score
    assert re.search(rf"{raw} is [\d.]+, a score of {score[1]} on a scale from 0 to 1, rank 1 in {name} search\.", out)
    assert out.count("█ words" if mode == "fts" else "▒ meaning") >= 1
    assert not any(each in out for each in ("Total:", "recency", "▒ meaning" if mode == "fts" else "█ words"))


def test_an_emoji_is_explained_by_keywords_only(search: Callable[..., Outcome]) -> None:
    out = search("🏮", "--explain").out
    assert "It contains the one word (“🏮”, rank 1 by keyword)" in out
    assert "its meaning" not in out


def test_matches_are_coloured_on_a_terminal(target: tuple[str, ...]) -> None:
    with Terminal.running("search", "lantern", *target) as terminal:
        assert terminal.end() == 0
        assert "\x1b[32m\x1b[1mlantern\x1b[0m" in terminal.seen


def test_no_color_applies_to_results_errors_and_help(target: tuple[str, ...]) -> None:
    for arguments, expected in (
        (("search", "lantern", "--explain"), "lantern"),
        (("search", "lantern", "--page", "many"), "many"),
        (("search", "--help"), "Usage"),
    ):
        ended = findspot_on_terminal(*arguments, *target, NO_COLOR="1")
        assert expected in ended.out + ended.err
        assert "\x1b" not in ended.out + ended.err


@pytest.mark.parametrize("query", ["lantern cellar", "旧照片"])
def test_lines_fit_a_narrow_terminal(target: tuple[str, ...], query: str) -> None:
    options = ("--explain", "--low-scores", *target)
    shown = findspot_on_terminal("search", query, *options, COLUMNS="40", NO_COLOR="1").out
    assert max(map(columns, shown.splitlines())) <= 40
    assert len(shown.splitlines()) > 10


def test_documents_cannot_steer_the_terminal(target: tuple[str, ...], search: Callable[..., Outcome]) -> None:
    seen = findspot_on_terminal("search", "hostile", "--explain", "--mode", "fts", *target).out
    assert "\x1b[1mEvil� title\x1b[0m" in seen
    assert "A ␛]0;\x1b[32m\x1b[1mhostile\x1b[0m␇ �text." in seen
    (result,) = search("hostile", "--mode", "fts", "--json").json["results"]
    assert (result["documentTitle"], result["snippet"]) == ("Evil\u202e title", HOSTILE)


def test_the_project_may_be_omitted_if_there_is_only_one(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    findspot("project", "create", "gone", *data)
    findspot("project", "delete", "1", "--yes", *data)
    ended = findspot("search", "x", *data)
    assert (ended.code, "There is no project yet." in ended.err) == (2, True)
    findspot("project", "create", "only", *data)
    ended = findspot("search", "x", *data)
    assert (ended.code, "has no documents" in ended.out) == (0, True)
    findspot("document", "create", "2", "t", "some text", *data)
    assert "0 of 1 documents are indexed" in findspot("search", "text", *data).out
    findspot("project", "create", "second", *data)
    assert "Project 3, second: the one used last." in findspot("search", "x", *data).err
    ended = findspot("search", "x", *data, XDG_STATE_HOME=str(tmp_path / "another user"))
    assert (ended.code, "There are 2 projects: only (2), second (3)." in ended.err) == (2, True)
