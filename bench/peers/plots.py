"""Plots of the tables of `make bench-peers`."""

from collections.abc import Mapping
from typing import Any

from bench.peers.tables import FINDSPOT, RELEVANCE, SIDE_BY_SIDE
from bench.report import FOLDER, Report

Rows = Mapping[str, Mapping[str, float]]


def draw(report: Report) -> tuple[str, ...]:
    """Draw the plots, and return their names. Without relevance there are two."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "findspot"
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = {name: row for name, row in report.tables[SIDE_BY_SIDE].items() if FINDSPOT in row}
    searches = [name for name in rows if name.endswith("p95, ms") and "and" not in name]
    costs = [name for name in rows if name not in searches and "p50" not in name and "recall" not in name]
    figures = {"searches": _bars(rows, searches, "ms, p95"), "costs": _bars(rows, costs, "")}
    if RELEVANCE in report.tables:
        figures["relevance"] = _relevance(report.tables[RELEVANCE])
    files = {f"{report.name}-{what}.svg": figure for what, figure in figures.items()}
    for name, figure in files.items():
        figure.savefig(FOLDER / name, metadata={"Date": None})
    return tuple(files)


def _bars(rows: Rows, names: list[str], unit: str) -> Any:
    """Plot each row on an axis of its own: one bar per product, Findspot's in another colour."""
    from matplotlib import pyplot as plt

    across = 3
    down = -(-len(names) // across)
    figure, plots = plt.subplots(down, across, figsize=(13, 2.6 * down), layout="constrained", squeeze=False)
    for axes, name in zip(plots.flat, names, strict=False):
        products = sorted(rows[name], key=lambda product: rows[name][product], reverse=True)
        colours = ["C3" if product == FINDSPOT else "C0" for product in products]
        bars = axes.barh(products, [rows[name][product] for product in products], color=colours)
        axes.bar_label(bars, fmt="%.4g", fontsize=7, padding=2)
        axes.set(xscale="log", title=name.removesuffix(" p95, ms"), xlabel=unit)
        axes.tick_params(labelsize=7)
    for axes in plots.flat[len(names) :]:
        axes.axis("off")
    return figure


def _relevance(rows: Rows) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 0.28 * len(rows) + 1), layout="constrained")
    names = sorted(rows, key=lambda name: rows[name]["mean"])
    colours = ["C3" if name.startswith(FINDSPOT) else "C0" for name in names]
    bars = axes.barh(names, [rows[name]["mean"] for name in names], color=colours)
    axes.bar_label(bars, fmt="%.3f", fontsize=7, padding=2)
    axes.set(title="nDCG@10, mean of the sets")
    axes.tick_params(labelsize=7)
    return figure
