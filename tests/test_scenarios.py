"""The table of requirements and the marks on tests agree."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.scenarios import DOCUMENTS, SCENARIOS, Scenario, as_json, as_text, main

ROOT = Path(__file__).resolve().parent.parent
ROWS_OF = {"000": 20, "001": 47, "002": 24, "003": 183, "004": 114, "DECISIONS": 45}
DECISION_IDS = [f"D{number:02}" for number in range(1, 46)]


# ── reading the tests ──


@dataclass(frozen=True, slots=True)
class Survey:
    """The scenario ids of every test, and the marks in places where they have no effect."""

    marked: dict[str, tuple[str, ...]]
    ineffective: tuple[str, ...]


@cache
def survey(root: Path) -> Survey:
    marked: dict[str, tuple[str, ...]] = {}
    ineffective: list[str] = []
    for path in sorted((root / "tests").rglob("*.py")):
        file = path.relative_to(root).as_posix()
        if file.startswith("tests/fixtures/"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=file)
        read: set[ast.AST] = set()
        for node_id, test in _tests_in(tree, file) if path.name.startswith("test_") else ():
            marked[node_id] = ()
            for decorator in test.decorator_list:
                if ids := _ids_of(decorator):
                    marked[node_id] += ids
                    read.update(ast.walk(decorator))
        ineffective += [
            f"{file}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.expr) and _is_mark(node) and node not in read
        ]
    for path in _web_tests(root):
        file = path.relative_to(root).as_posix()
        for found in _WEB_TEST.finditer(path.read_text(encoding="utf-8")):
            marked[f"{file}::{found['title']}"] = tuple((found["ids"] or "").split())
    return Survey(marked, tuple(ineffective))


# A test of the web client. Its mark is a comment in the line above: `// scenario: 004.fts.no-results`.
_WEB_TEST = re.compile(r"^(?:[ \t]*// scenario: (?P<ids>[^\n]+)\n)?[ \t]*test\('(?P<title>[^'\n]+)'", re.MULTILINE)


def _web_tests(root: Path) -> list[Path]:
    folders = (root / "web" / "e2e", root / "web" / "src")
    return sorted(
        path for folder in folders for path in folder.rglob("*.ts*") if re.search(r"\.(e2e|test)\.", path.name)
    )


def _tests_in(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every test that pytest collects below this node, with its node id."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if child.name.startswith("test"):
                yield f"{prefix}::{child.name}", child
        elif isinstance(child, ast.ClassDef):
            if child.name.startswith("Test"):
                yield from _tests_in(child, f"{prefix}::{child.name}")
        else:
            yield from _tests_in(child, prefix)


def _is_mark(node: ast.expr) -> bool:
    spellings = {"pytest.mark.scenario", "mark.scenario"}
    return isinstance(node, ast.Attribute) and node.attr == "scenario" and ast.unparse(node) in spellings


def _ids_of(decorator: ast.expr) -> tuple[str, ...]:
    """Return the ids of a scenario mark; none unless they are string literals."""
    if not (isinstance(decorator, ast.Call) and _is_mark(decorator.func)) or decorator.keywords:
        return ()
    ids = [argument.value for argument in decorator.args if isinstance(argument, ast.Constant)]
    names = tuple(id for id in ids if isinstance(id, str))
    return names if len(names) == len(decorator.args) else ()


# ── comparing ──


def undefined_tests(rows: Sequence[Scenario], root: Path) -> list[str]:
    return [f"{row.id} names {test}" for row in rows for test in row.tests if _bare(test) not in survey(root).marked]


def unmarked_tests(rows: Sequence[Scenario], root: Path) -> list[str]:
    marked = survey(root).marked
    return [
        f"{test} lacks the mark {row.id}"
        for row in rows
        for test in row.tests
        if row.id not in marked.get(_bare(test), ())
    ]


def unlisted_marks(rows: Sequence[Scenario], root: Path) -> list[str]:
    listed = {row.id: {_bare(test) for test in row.tests} for row in rows}
    return [
        f"{test} is marked {id}, which {'does not name it' if id in listed else 'is no row'}"
        for test, ids in survey(root).marked.items()
        for id in ids
        if test not in listed.get(id, set())
    ]


def _bare(test: str) -> str:
    """Return the node id without its `[parameters]`."""
    return test.split("[", 1)[0]


# ── the table itself ──


def test_ids_are_unique() -> None:
    assert [id for id, times in Counter(row.id for row in SCENARIOS).items() if times > 1] == []


def test_ids_are_lower_case_words_after_their_document_and_decisions_are_numbered() -> None:
    shape = re.compile(r"00[0-4](\.[a-z0-9]+(-[a-z0-9]+)*)+|D\d\d")
    assert [row.id for row in SCENARIOS if not shape.fullmatch(row.id)] == []


def test_every_sentence_is_unique_and_ends_with_a_full_stop() -> None:
    assert [row.id for row in SCENARIOS if not re.fullmatch(r"\S.{10,}\w\W*\.", row.sentence)] == []
    assert [text for text, times in Counter(row.sentence for row in SCENARIOS).items() if times > 1] == []


def test_every_source_names_the_document_of_its_row_and_only_decisions_that_exist() -> None:
    places = {id: f"DECISIONS row {number}" for number, id in enumerate(DECISION_IDS, start=1)}
    assert [row.id for row in SCENARIOS if row.source != places.get(row.id, row.source)] == []
    assert [row.id for row in SCENARIOS if not row.source.startswith(row.document)] == []
    settled = [row.source.partition("DECISIONS row")[2] for row in SCENARIOS]
    assert {int(number) for rows in settled for number in re.findall(r"\d+", rows)} == set(range(1, 46))


def test_every_requirement_document_and_every_decision_has_rows() -> None:
    assert {row.document for row in SCENARIOS} == set(DOCUMENTS)
    assert [row.id for row in SCENARIOS if row.document == "DECISIONS"] == DECISION_IDS


def test_the_number_of_rows_per_document_is_fixed() -> None:
    assert dict(Counter(row.document for row in SCENARIOS)) == ROWS_OF


# ── table and tests ──


def test_every_test_that_a_row_names_is_defined() -> None:
    assert undefined_tests(SCENARIOS, ROOT) == []


def test_every_test_that_a_row_names_has_the_mark_of_the_row() -> None:
    assert unmarked_tests(SCENARIOS, ROOT) == []


def test_every_mark_names_a_row_that_names_the_test() -> None:
    assert unlisted_marks(SCENARIOS, ROOT) == []


def test_every_mark_is_on_a_test_and_has_literal_ids() -> None:
    assert survey(ROOT).ineffective == ()


# ── the checks detect errors ──

MARKED = """
import pytest

@pytest.mark.scenario("a", "b")
@pytest.mark.parametrize("n", [1, 2])
async def test_it_works(n): ...

if True:
    class TestGroup:
        @pytest.mark.scenario("b")
        def test_it_works_too(self): ...

def test_nothing_said(): ...
"""


def written(root: Path, source: str, name: str = "test_it.py") -> Path:
    folder = root / "tests" / "deep"
    folder.mkdir(parents=True)
    (folder / name).write_text(source, encoding="utf-8")
    return root


def row(id: str, *tests: str) -> Scenario:
    return Scenario(id, "000 § A", "It works.", tests)


def test_tests_of_the_web_client_are_recognised_with_their_marks(tmp_path: Path) -> None:
    folder = tmp_path / "web" / "e2e"
    folder.mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    text = "  // scenario: a b\n  test('works', async () => {})\ntest('says nothing', () => {})\n"
    (folder / "it.e2e.ts").write_text(text, encoding="utf-8")
    found = survey(tmp_path).marked
    assert found == {"web/e2e/it.e2e.ts::works": ("a", "b"), "web/e2e/it.e2e.ts::says nothing": ()}


def test_functions_methods_and_parameters_are_recognised(tmp_path: Path) -> None:
    root = written(tmp_path, MARKED)
    works, too = "tests/deep/test_it.py::test_it_works", "tests/deep/test_it.py::TestGroup::test_it_works_too"
    rows = (row("a", works), row("b", f"{works}[1]", f"{works}[2]", too), row("c"))
    assert survey(root).ineffective == ()
    assert undefined_tests(rows, root) + unmarked_tests(rows, root) + unlisted_marks(rows, root) == []


@pytest.mark.parametrize(
    "named",
    [
        "tests/deep/test_it.py::test_it_worked",
        "tests/deep/test_it.py::test_it_works_too",
        "tests/deep/test_it.py::TestGroup::test_it_works",
        "tests/deep/test_gone.py::test_it_works",
        "deep/test_it.py::test_it_works",
        "tests/deep/test_it.py",
    ],
)
def test_a_row_that_names_a_missing_test_is_reported(tmp_path: Path, named: str) -> None:
    assert undefined_tests((row("a", named),), written(tmp_path, MARKED)) == [f"a names {named}"]


def test_a_row_that_names_a_test_without_its_mark_is_reported(tmp_path: Path) -> None:
    silent = "tests/deep/test_it.py::test_nothing_said"
    assert unmarked_tests((row("a", silent),), written(tmp_path, MARKED)) == [f"{silent} lacks the mark a"]


def test_a_mark_without_a_row_that_names_the_test_is_reported(tmp_path: Path) -> None:
    works, too = "tests/deep/test_it.py::test_it_works", "tests/deep/test_it.py::TestGroup::test_it_works_too"
    assert unlisted_marks((row("b", too),), written(tmp_path, MARKED)) == [
        f"{works} is marked a, which is no row",
        f"{works} is marked b, which does not name it",
    ]


@pytest.mark.parametrize(
    ("source", "file"),
    [
        ('@pytest.mark.scenario("a")\ndef helper(): ...', "test_it.py"),
        ('@pytest.mark.scenario("a")\nclass TestIt:\n    def test_it(self): ...', "test_it.py"),
        ('@pytest.mark.scenario("a")\ndef test_it(): ...', "shared.py"),
        ("@pytest.mark.scenario(name)\ndef test_it(): ...", "test_it.py"),
        ("@pytest.mark.scenario()\ndef test_it(): ...", "test_it.py"),
        ("@mark.scenario\ndef test_it(): ...", "test_it.py"),
        ('pytestmark = pytest.mark.scenario("a")', "test_it.py"),
        ("shows = pytest.mark.scenario", "test_it.py"),
    ],
)
def test_a_mark_without_effect_is_reported(tmp_path: Path, source: str, file: str) -> None:
    assert survey(written(tmp_path, source, file)).ineffective == (f"tests/deep/{file}:1",)


# ── the report ──

SAMPLE = (
    Scenario("000.done", "000 § A", "This one is shown.", ("tests/test_a.py::test_a",)),
    Scenario("000.open", "000 § B", "This one is open.", ()),
    Scenario("D01", "DECISIONS row 1", "This too.", ()),
)


def test_the_report_counts_covered_rows_by_document_and_in_total() -> None:
    report = " ".join(as_text(SAMPLE).split())
    assert "000 1 of 2 a search tool for agents" in report
    assert "DECISIONS 0 of 1 where the documents disagree" in report
    assert report.endswith("total 1 of 3")
    assert "open" not in report


def test_the_report_lists_missing_rows_on_request() -> None:
    report = as_text(SAMPLE, missing=True)
    assert "This one is open.  [000 § B]" in report
    assert "This too.  [DECISIONS row 1]" in report
    assert "This one is shown." not in report


def test_the_json_report_has_counts_and_missing_rows() -> None:
    report = json.loads(as_json(SAMPLE))
    assert report["documents"]["000"] == {"covered": 1, "of": 2}
    assert report["documents"]["004"] == {"covered": 0, "of": 0}
    assert report["total"] == {"covered": 1, "of": 3}
    assert report["missing"][0] == {"id": "000.open", "sentence": "This one is open.", "source": "000 § B"}
    assert [entry["id"] for entry in report["missing"]] == ["000.open", "D01"]


def test_the_options_choose_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, expected in (
        ([], as_text(SCENARIOS)),
        (["--missing"], as_text(SCENARIOS, missing=True)),
        (["--json"], as_json(SCENARIOS)),
    ):
        main(arguments)
        assert capsys.readouterr().out == expected + "\n"


def test_the_report_runs_as_a_module_from_the_root_of_the_project() -> None:
    command = [sys.executable, "-m", "tests.scenarios", "--json"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert json.loads(finished.stdout)["total"]["of"] == len(SCENARIOS)
