"""Plots of the tables of `bench.speed`."""

from collections.abc import Mapping
from typing import Any

from bench.report import FOLDER, Report

NAMES = ("speed.svg", "speed-sizes.svg")

Rows = Mapping[str, Mapping[str, float]]


def draw(report: Report) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "findspot"
    FOLDER.mkdir(parents=True, exist_ok=True)
    sides = {title: rows for title, rows in report.tables.items() if title.startswith("Side by side")}
    for name, figure in zip(NAMES, (_side_by_side(sides), _by_size(report.tables)), strict=True):
        figure.savefig(FOLDER / name, metadata={"Date": None})


def _side_by_side(sides: Mapping[str, Rows]) -> Any:
    """Plot the hybrid p95 of every product at each size; the vector p95 if it has no hybrid search."""
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(name for rows in sides.values() for name in rows))
    figure, axes = plt.subplots(figsize=(11, 4.2), layout="constrained")
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        cells = [rows.get(name, {}) for rows in sides.values()]
        heights = [row.get("hybrid p95, ms", row.get("vector p95, ms", 0.0)) for row in cells]
        label = name if any("hybrid p95, ms" in row for row in cells) else f"{name} (vectors only)"
        positions = [place + (number - (len(names) - 1) / 2) * width for place in range(len(sides))]
        bars = axes.bar(positions, heights, width=width * 0.95, label=label)
        axes.bar_label(bars, fmt="%.0f", fontsize=7)
    axes.set_xticks(range(len(sides)), [title.removeprefix("Side by side, ") for title in sides])
    axes.set(
        yscale="log",
        ylabel="ms, p95",
        title="Hybrid search, one at a time; only Findspot's times include embedding the query",
    )
    axes.legend(fontsize=8, ncols=3)
    return figure


def _by_size(tables: Mapping[str, Rows]) -> Any:
    """Plot p50, p95 and p99 by the number of chunks, for one search at a time and for four at once."""
    from matplotlib import pyplot as plt

    titles = [title for title in tables if title.startswith("Search, ")]
    figure, plots = plt.subplots(1, len(titles), figsize=(11, 4.2), layout="constrained", sharey=True)
    for axes, title in zip(plots, titles, strict=True):
        lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for name, row in tables[title].items():
            mode, count = name.removesuffix(" chunks").split(", ", 1)
            for share in ("p50", "p95", "p99"):
                lines.setdefault((mode, share), []).append((int(count.replace(",", "")), row[share]))
        colours = {mode: f"C{number}" for number, mode in enumerate(dict.fromkeys(mode for mode, _ in lines))}
        for (mode, share), points in lines.items():
            style = {"p50": "-", "p95": "--", "p99": ":"}[share]
            axes.plot(*zip(*points, strict=True), style, color=colours[mode], marker="o", label=f"{mode} {share}")
        axes.set(xscale="log", yscale="log", xlabel="chunks", ylabel="ms", title=title.removesuffix(", ms"))
        axes.legend(fontsize=7, ncols=3)
    return figure
