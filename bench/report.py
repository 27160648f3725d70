"""A page of measurements: what was measured, on which machine, and whether the bounds are met."""

import json
import os
import platform
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from findspot import __version__

FOLDER = Path(__file__).parent.parent / "docs" / "bench"
_STEPS = 500_000  # of the loop that shows the speed of the machine


def pace_ms() -> float:
    """Return the milliseconds that a fixed loop of Python takes now, the median of five.

    The same machine is faster or slower from hour to hour, by what else its host does.
    """
    taken = []
    for _ in range(5):
        began, total = time.perf_counter(), 0
        for step in range(_STEPS):
            total += step * step % 7
        taken.append((time.perf_counter() - began) * 1000)
    return sorted(taken)[2]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number and its bounds, if any: it must be below `bound` and at least `least`."""

    what: str
    value: float
    unit: str
    bound: float | None = None
    least: float | None = None

    @property
    def holds(self) -> bool:
        return (self.bound is None or self.value < self.bound) and (self.least is None or self.value >= self.least)

    def row(self) -> str:
        bounds = [] if self.bound is None else [f"< {self.bound:,.10g} {self.unit}"]
        bounds += [] if self.least is None else [f"≥ {self.least:,.10g} {self.unit}"]
        bound = ", ".join(bounds)
        verdict = "" if not bounds else ("yes" if self.holds else "**no**")
        return f"| {self.what} | {self.shown} {self.unit} | {bound} | {verdict} |"

    @property
    def shown(self) -> str:
        return f"{self.value:,.1f}" if self.unit else f"{self.value:.4f}"


@dataclass
class Report:
    """The figures of one benchmark, written as a Markdown page and as JSON."""

    name: str
    title: str
    how: str
    sections: dict[str, list[Figure]] = field(default_factory=dict)
    tables: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)  # title → row → column → value
    unranked: set[str] = field(default_factory=set)  # titles of tables in which a higher value is not better

    notes: dict[str, list[str]] = field(default_factory=dict)  # title → lines
    pace_before: float = field(default_factory=pace_ms)

    def add(self, section: str, figure: Figure) -> None:
        self.sections.setdefault(section, []).append(figure)
        verdict = "" if figure.holds else "  ← out of bounds"
        print(f"  {section}: {figure.what}: {figure.shown} {figure.unit}{verdict}")

    @property
    def holds(self) -> bool:
        return all(figure.holds for figures in self.sections.values() for figure in figures)

    def finish(self, *, write: bool) -> int:
        """Return the exit code of the benchmark, after writing the report if that is wanted."""
        if write:
            self.write()
        return 0 if self.holds else 1

    def write(self, *plots: str) -> None:
        machine = (
            f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
        )
        lines = [
            f"# {self.title}",
            "",
            self.how,
            "",
            f"Findspot {__version__}, {datetime.now(UTC):%Y-%m-%d}, {machine}. A loop of {_STEPS:,} steps in Python "
            f"took {self.pace_before:.0f} ms before the measurement and {pace_ms():.0f} ms after it.",
            "",
        ]
        for plot in plots:
            lines += [f"![{self.title}]({plot})", ""]
        for title, rows in self.tables.items():
            lines += [f"## {title}", "", *_grid(rows, ranked=title not in self.unranked), ""]
        for title, notes in self.notes.items():
            lines += [f"## {title}", "", *(f"- {note}" for note in notes or ("None.",)), ""]
        for section, figures in self.sections.items():
            lines += [f"## {section}", "", "| what | measured | bound | holds |", "|---|---|---|---|"]
            lines += [*(figure.row() for figure in figures), ""]
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{self.name}.md").write_text("\n".join(lines))
        body: dict[str, Any] = {
            section: [asdict(figure) for figure in figures] for section, figures in self.sections.items()
        }
        body |= self.tables | self.notes
        (FOLDER / f"{self.name}.json").write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def _grid(rows: dict[str, dict[str, float]], *, ranked: bool) -> list[str]:
    """Return a table of numbers. The best value of each column is bold; a missing value is a dash."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    best = {column: max(row[column] for row in rows.values() if column in row) for column in columns if ranked}
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, row in rows.items():
        cells = ["–" if each not in row else _cell(row[each], best.get(each)) for each in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _cell(value: float, best: float | None) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    shown = f"{value:.3f}" if abs(value) <= 1 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
    return f"**{shown}**" if value == best else shown


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
