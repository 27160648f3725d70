"""Search results as text, with colours and without."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from findspot.surfaces.cli.results import highlight, report

Colours = Callable[[bool], None]


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> Colours:
    def want(colours: bool) -> None:
        monkeypatch.setenv("NO_COLOR", "" if colours else "1")
        monkeypatch.setattr("findspot.surfaces.cli.results.is_coloured", lambda: colours)

    return want


def reported(explained: dict[str, Any] | None = None, **changed: Any) -> str:
    result = {
        "documentId": 74,
        "documentTitle": "The\nlighthouse",
        "documentType": "document",
        "path": None,
        "line": None,
        "column": None,
        "duplicates": 0,
        "snippet": "a lamp, a lamp",
        "highlights": [[2, 6]],
        "startOffset": 0,
        "endOffset": 14,
        "finalScore": 0.75,
        "scoreBreakdown": {"bm25": 0.4, "semantic": 0.25, "recency": 0.1},
        "updatedAt": datetime.now(UTC).isoformat(),
    }
    result |= changed | ({"explained": explained} if explained else {})
    found = {"results": [result], "total": 1, "tookMs": 1.0, "hasMore": False, "page": 1, "fallback": "none"}
    return report(found, 0, "hybrid", "en")


def test_matches_are_coloured_or_put_between_marks(colours: Colours) -> None:
    colours(True)
    assert highlight("a bc d", [[2, 4]]) == "a \x1b[32m\x1b[1mbc\x1b[0m d"
    assert highlight("灯塔", []) == "灯塔"
    colours(False)
    assert highlight("a bc d", [[2, 4]]) == "a «bc» d"
    assert highlight("旧灯塔下，灯", [[1, 3], [5, 6]]) == "旧«灯塔»下，«灯»"
    assert highlight("灯塔", []) == "灯塔"


def test_a_mark_is_not_separated_from_its_match(colours: Colours, monkeypatch: pytest.MonkeyPatch) -> None:
    colours(False)
    monkeypatch.setattr("findspot.surfaces.cli.printing.terminal_width", lambda stream: 25)
    assert highlight("林远推开了那座早已废弃仓库的大门", [[9, 13]]) == "林远推开了那座早已\n     «废弃仓库»的大门"


def test_the_parts_of_a_score_differ_without_colours(colours: Colours) -> None:
    explained = {"matchedWords": [], "explanation": "Because."}
    colours(False)
    plain = reported(explained)
    assert "████████▒▒▒▒▒░░····· 0.750" in plain
    assert "█ words 0.400  ▒ meaning 0.250  ░ recency 0.100" in plain
    colours(True)
    assert "\x1b[36m████████\x1b[0m\x1b[35m█████\x1b[0m\x1b[33m██\x1b[0m\x1b[2m·····\x1b[0m 0.750" in reported()


def test_a_type_is_shown_if_it_is_not_the_default(colours: Colours) -> None:
    colours(False)
    assert "  1  The lighthouse  document 74, 0–14 · just now\n" in reported()
    assert "chapter · document 74, 0–14" in reported(documentType="chapter")


def test_a_document_from_a_file_is_shown_with_its_path_and_line(colours: Colours) -> None:
    colours(False)
    assert "  tidb/tikv-config.md:412 · document 74 · just now\n" in reported(
        path="tidb/tikv-config.md", line=412, column=3
    )
    assert "  笔记/第三章.md:7 · document 74" in reported(path="笔记/第三章.md", line=7, column=1)
    assert "document 74, 0–14" in reported(path="tree.json")


def test_of_many_words_those_with_the_highest_weight_are_shown() -> None:
    words = [{"word": f"w{number}", "weight": number / 10} for number in range(1, 51)]
    text = reported({"matchedWords": words, "explanation": "Because."})
    assert "words: w50 5.00  w49 4.90  " in text
    assert "w39 3.90  and 38 more\n" in text
    few = reported({"matchedWords": words[:12], "explanation": "Because."})
    assert "w1 0.10\n" in few
