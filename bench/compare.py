"""Compares the results of a benchmark before and after a change, row by row.

Run the benchmark several times on both sides, alternating, and keep each JSON file of docs/bench. The best run of each
side counts, because other work on the machine can only make a run slower. The spread of the runs before the change
shows how much of a difference is noise.

    python -m bench.compare --before a1.json a2.json --after b1.json b2.json
    python -m bench.compare --before a1.json --after b1.json --write layout --title "The package layout"
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import FOLDER

TOLERANCE = 0.05
_RATES = ("/s", "recall", "Recall")  # rows whose larger value is better


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row of a benchmark, with its values in every run before and after the change."""

    name: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    larger_is_better: bool

    @property
    def change(self) -> float:
        """Return the relative change of the best run. Positive is worse."""
        best = max if self.larger_is_better else min
        before, after = best(self.before), best(self.after)
        return (before - after) / before if self.larger_is_better else (after - before) / before

    @property
    def spread(self) -> float:
        """Return how far the runs before the change are apart, relative to the best."""
        return (max(self.before) - min(self.before)) / min(self.before)

    def row(self) -> str:
        best = max if self.larger_is_better else min
        marked = f"**{self.change:+.1%}**" if self.change > TOLERANCE else f"{self.change:+.1%}"
        return f"| {self.name} | {best(self.before):,.2f} | {best(self.after):,.2f} | {marked} | {self.spread:.0%} |"


def compare(before: Sequence[Path], after: Sequence[Path]) -> list[Comparison]:
    """Return a comparison of every row that all runs have, except those that are zero."""
    runs = [[dict(_values(json.loads(path.read_text(encoding="utf-8")))) for path in side] for side in (before, after)]
    names = [name for name in runs[0][0] if all(name in run for side in runs for run in side)]
    found = (
        Comparison(
            name,
            tuple(run[name] for run in runs[0]),
            tuple(run[name] for run in runs[1]),
            any(word in name for word in _RATES),
        )
        for name in names
    )
    return [each for each in found if min(each.before) > 0]


def _values(results: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the name and value of every row of a benchmark's JSON file."""
    for section, content in results.items():
        if isinstance(content, list):
            yield from ((f"{section}: {each['what']}, {each['unit']}", each["value"]) for each in content)
        else:
            for row, columns in content.items():
                yield from ((f"{section}: {row}, {column}", value) for column, value in columns.items())


def page(title: str, rows: Sequence[Comparison], runs: int, note: str) -> str:
    """Return the comparison as a Markdown page."""
    worse = [each for each in rows if each.change > TOLERANCE]
    return "\n".join(
        [
            f"# {title}: before and after",
            "",
            f"Best of {runs} alternating runs on each side (`python -m bench.compare`). A positive change is worse. "
            "The last column is the spread of the runs before the change: a difference below it is noise.",
            "",
            f"{len(worse)} of {len(rows)} rows are more than {TOLERANCE:.0%} worse; "
            f"{sum(each.change > max(TOLERANCE, each.spread) for each in rows)} of them beyond the spread.",
            "",
            *([note, ""] if note else []),
            "| row | before | after | change | spread before |",
            "|---|---|---|---|---|",
            *(each.row() for each in rows),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--before", nargs="+", type=Path, required=True)
    parser.add_argument("--after", nargs="+", type=Path, required=True)
    parser.add_argument("--title", default="A change")
    parser.add_argument("--note", default="", help="a sentence for the page")
    parser.add_argument("--write", metavar="NAME", help="write docs/bench/NAME.md instead of printing it")
    options = parser.parse_args()
    text = page(options.title, compare(options.before, options.after), len(options.before), options.note)
    if options.write:
        (FOLDER / f"{options.write}.md").write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
