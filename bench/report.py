"""A page of figures: what was measured, on what, and whether it holds."""

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from findspot import __version__

FOLDER = Path(__file__).parent.parent / "docs" / "bench"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, and the bound it has to stay under or the floor it has to reach, if any."""

    what: str
    value: float
    unit: str
    bound: float | None = None
    floor: float | None = None

    @property
    def holds(self) -> bool:
        under = self.bound is None or self.value < self.bound
        return under and (self.floor is None or self.value >= self.floor)

    def row(self) -> str:
        limits = (("<", self.bound), ("≥", self.floor))
        bound = ", ".join(f"{sign} {limit:,g} {self.unit}" for sign, limit in limits if limit is not None)
        verdict = "" if not bound else ("yes" if self.holds else "**no**")
        return f"| {self.what} | {self.value:,.1f} {self.unit} | {bound} | {verdict} |"


@dataclass
class Report:
    """The figures of one benchmark, written as a page for people and a file for machines."""

    name: str
    title: str
    how: str
    sections: dict[str, list[Figure]] = field(default_factory=dict)

    def add(self, section: str, figure: Figure) -> None:
        self.sections.setdefault(section, []).append(figure)
        print(f"  {section}: {figure.what}: {figure.value:,.1f} {figure.unit}{'' if figure.holds else '  ← not kept'}")

    @property
    def holds(self) -> bool:
        return all(figure.holds for figures in self.sections.values() for figure in figures)

    def write(self) -> None:
        machine = (
            f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
        )
        lines = [
            f"# {self.title}",
            "",
            self.how,
            "",
            f"Findspot {__version__}, {datetime.now(UTC):%Y-%m-%d}, {machine}.",
            "",
        ]
        for section, figures in self.sections.items():
            lines += [f"## {section}", "", "| what | measured | bound | holds |", "|---|---|---|---|"]
            lines += [*(figure.row() for figure in figures), ""]
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{self.name}.md").write_text("\n".join(lines))
        body = {section: [asdict(figure) for figure in figures] for section, figures in self.sections.items()}
        (FOLDER / f"{self.name}.json").write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
