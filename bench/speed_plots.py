"""Plots of the tables of `bench.speed`."""

from collections.abc import Mapping
from typing import Any

from bench.report import FOLDER, Report

NAMES = ("speed-sizes.svg",)

Rows = Mapping[str, Mapping[str, float]]


def draw(report: Report) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "findspot"
    FOLDER.mkdir(parents=True, exist_ok=True)
    _by_size(report.tables).savefig(FOLDER / NAMES[0], metadata={"Date": None})


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
