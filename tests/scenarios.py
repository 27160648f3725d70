"""The table of requirements and the tests that show them.

A row names its tests, and each test names the row: `@pytest.mark.scenario("004.fts.no-results")`. A row without tests
is not covered yet. `test_scenarios.py` fails if the table and the tests disagree.

    python -m tests.scenarios              print the number of covered rows per document
    python -m tests.scenarios --missing    also list the rows that are not covered
    python -m tests.scenarios --json       print the report as JSON
"""

import argparse
import json
from collections.abc import Sequence

from tests.scenario_data.decisions import DECISIONS
from tests.scenario_data.doc000 import DOC000
from tests.scenario_data.doc001 import DOC001
from tests.scenario_data.doc002 import DOC002
from tests.scenario_data.doc003_chunks import DOC003_CHUNKS
from tests.scenario_data.doc003_operation import DOC003_OPERATION
from tests.scenario_data.doc003_search import DOC003_SEARCH
from tests.scenario_data.doc004 import DOC004
from tests.scenario_data.entry import Scenario

__all__ = ["DOCUMENTS", "SCENARIOS", "Scenario", "as_json", "as_text", "main"]

DOCUMENTS = {
    "000": "a search tool for agents",
    "001": "how the search tool is built",
    "002": "what the search tool changes",
    "003": "chunking and hybrid search",
    "004": "workspace search, retrieval and replace",
    "DECISIONS": "where the documents disagree",
}

SCENARIOS: tuple[Scenario, ...] = (
    *DOC000,
    *DOC001,
    *DOC002,
    *DOC003_CHUNKS,
    *DOC003_SEARCH,
    *DOC003_OPERATION,
    *DOC004,
    *DECISIONS,
)


def as_text(scenarios: Sequence[Scenario], *, missing: bool = False) -> str:
    """Return the report as text. With `missing`, list the rows without a test below their document."""
    lines = []
    for document, title in DOCUMENTS.items():
        rows = [row for row in scenarios if row.document == document]
        lines.append(_count_line(document, rows, title))
        if missing:
            lines += [f"    {row.id}\n        {row.sentence}  [{row.source}]" for row in rows if not row.covered]
    return "\n".join([*lines, _count_line("total", scenarios, "")])


def as_json(scenarios: Sequence[Scenario]) -> str:
    """Return the report as JSON: counts by document, the total, and every row without a test."""
    by_document = {name: [row for row in scenarios if row.document == name] for name in DOCUMENTS}
    report = {
        "documents": {name: _counts(rows) for name, rows in by_document.items()},
        "total": _counts(scenarios),
        "missing": [
            {"id": row.id, "sentence": row.sentence, "source": row.source} for row in scenarios if not row.covered
        ],
    }
    return json.dumps(report, ensure_ascii=False, indent=2)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios", description="Which requirements have a test?")
    parser.add_argument("--missing", action="store_true", help="list the rows that no test shows yet")
    parser.add_argument("--json", action="store_true", help="machine-readable, missing rows included")
    options = parser.parse_args(argv)
    print(as_json(SCENARIOS) if options.json else as_text(SCENARIOS, missing=options.missing))


def _counts(rows: Sequence[Scenario]) -> dict[str, int]:
    return {"covered": sum(row.covered for row in rows), "of": len(rows)}


def _count_line(name: str, rows: Sequence[Scenario], title: str) -> str:
    counts = _counts(rows)
    return f"{name:<9} {counts['covered']:>4} of {counts['of']:>4}  {title}".rstrip()


if __name__ == "__main__":
    main()
