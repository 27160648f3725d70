"""`findspot ask` against a real server with the offline model."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import Outcome, findspot
from tests.cli.projects import add_project
from tests.servers import Server

TEXTS = {
    "Keepers": "The keeper of the lighthouse is Mara Voss. Write to her at mara@example.org before you visit.",
    "第二章": "废弃仓库坐落在码头尽头，铁皮屋顶早已锈穿，雨水顺着裂缝滴在堆积的木箱上。",
    "Odd": "The tower of the observatory has a hidden\u202e sign and a bell.",
}


@pytest.fixture(scope="module")
def target(served: tuple[Server, Path]) -> tuple[str, ...]:
    return add_project(served[0], TEXTS)


@pytest.fixture
def ask(target: tuple[str, ...]) -> Callable[..., Outcome]:
    def run(*arguments: str, code: int = 0) -> Outcome:
        ended = findspot("ask", *target, *arguments)
        assert ended.code == code, ended
        return ended

    return run


def test_passages_show_their_place_their_score_and_the_reason(ask: Callable[..., Outcome]) -> None:
    out = ask("keeper of the lighthouse", "--budget", "1500").out
    assert re.search(r"1 passage, \d+ of 1,500 tokens; redacted: 1 email", out)
    assert re.search(r"  1  Keepers  document \d+, 0–\d+", out)
    assert re.search(r"0\.\d\d · related in meaning \(0\.\d\d\); has “keeper”, “lighthouse” · \d+ tokens", out)
    assert "[EMAIL_1]" in out
    assert "mara@example.org" not in out
    assert "废弃仓库坐落在码头尽头" in ask("废弃仓库").out


def test_json_is_the_answer_of_the_api(ask: Callable[..., Outcome]) -> None:
    answer = ask("废弃仓库", "--json", "--top", "1").json
    (chunk,) = answer["chunks"]
    assert chunk["text"] == TEXTS["第二章"]
    assert answer["usedTokens"] <= answer["maxTokens"]


def test_an_empty_answer_is_no_failure_and_says_what_to_try(ask: Callable[..., Outcome]) -> None:
    assert "No passage is related enough. '--min-score' sets the limit." in ask("quantum chromodynamics").out
    small = ask("keeper of the lighthouse", "--budget", "5").out
    assert small == "The budget of 5 tokens is too small: 1 related passage did not fit. '--budget' sets another.\n"


def test_a_question_that_can_match_nothing_says_why(ask: Callable[..., Outcome], served: tuple[Server, Path]) -> None:
    assert ask("（ ）").out == "The query contains no words to search for.\n"
    empty = findspot("ask", "灯塔", *add_project(served[0], {}))
    assert re.fullmatch(r"Project (\d+) has no documents\. 'findspot import \1 FOLDER' imports some\.\n", empty.out)


def test_hidden_characters_are_reported_and_not_sent_to_the_terminal(ask: Callable[..., Outcome]) -> None:
    out = ask("bell in the tower of the observatory").out
    assert "has 1 hidden character: U+202E" in out
    assert "\u202e" not in out


def test_values_out_of_range_are_refused(ask: Callable[..., Outcome]) -> None:
    assert "--top" in ask("x", "--top", "51", code=2).err
    assert "--min-score" in ask("x", "--min-score", "2", code=2).err
    assert "--budget" in ask("x", "--budget", "32001", code=2).err
