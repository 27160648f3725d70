"""What the requirement documents ask for, row by row, and the tests that show it.

A row names its tests, and each of these names the row: `@pytest.mark.scenario("004.fts.no-results")`. A row without
tests is not done yet. `test_scenarios.py` fails when table and tests disagree.

    python -m tests.scenarios              how many rows are covered, by document
    python -m tests.scenarios --missing    and which are not
    python -m tests.scenarios --json       the same for machines
"""

import argparse
import json
from collections.abc import Sequence

from tests.scenario_data.decisions import DECISIONS
from tests.scenario_data.doc000 import DOC000
from tests.scenario_data.doc001 import DOC001
from tests.scenario_data.doc002 import DOC002
from tests.scenario_data.doc003 import DOC003
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

SCENARIOS: tuple[Scenario, ...] = (*DOC000, *DOC001, *DOC002, *DOC003, *DOC004, *DECISIONS)


def as_text(scenarios: Sequence[Scenario], *, missing: bool = False) -> str:
    """The report for people; with `missing`, each row without a test stands below its document."""
    lines = []
    for document, title in DOCUMENTS.items():
        rows = [row for row in scenarios if row.document == document]
        lines.append(_count_line(document, rows, title))
        if missing:
            lines += [f"    {row.id}\n        {row.sentence}  [{row.source}]" for row in rows if not row.covered]
    return "\n".join([*lines, _count_line("total", scenarios, "")])


def as_json(scenarios: Sequence[Scenario]) -> str:
    """The report for machines: counts by document, the total, and every row without a test."""
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
