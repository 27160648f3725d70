"""Plots of `make bench-capacity`: cost by the number of chunks, and memory over time."""

from typing import Any

from bench.capacity.state import State
from bench.report import FOLDER, percentile


def draw(state: State) -> tuple[str, ...]:
    """Draw the plots, and return their names."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "findspot"
    FOLDER.mkdir(parents=True, exist_ok=True)
    plots = {f"{state.page}-growth.svg": _growth(state), f"{state.page}-memory.svg": _memory(state)}
    for name, figure in plots.items():
        figure.savefig(FOLDER / name, metadata={"Date": None})
    return tuple(plots)


def _growth(state: State) -> Any:
    from matplotlib import pyplot as plt

    sizes = [stage["chunks"] for stage in state.stages]
    figure, (times, costs) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
    for number, strategy in enumerate(state.stages[0]["times"]):
        for share, style in ((0.5, "-"), (0.95, "--"), (0.99, ":")):
            values = [percentile(stage["times"][strategy], share) for stage in state.stages]
            times.plot(sizes, values, style, color=f"C{number}", marker="o", label=f"{strategy} p{share * 100:.0f}")
    saves = [percentile(stage["saves"], 0.95) for stage in state.stages]
    times.plot(sizes, saves, "--", color="C3", marker="s", label="save to hit p95")
    times.set(xscale="log", yscale="log", xlabel="chunks", ylabel="ms", title="Search over HTTP, and save to hit")
    times.legend(fontsize=7, ncols=2)
    for label, values in (
        ("memory", [stage["memory_mb"][0] for stage in state.stages]),
        ("memory of its own", [stage["memory_mb"][1] for stage in state.stages]),
        ("disk", [stage["disk_mb"] for stage in state.stages]),
        ("disk of the index", [stage["index_mb"] for stage in state.stages]),
    ):
        costs.plot(sizes, values, marker="o", label=label)
    costs.set(xscale="log", yscale="log", xlabel="chunks", ylabel="MB", title="Memory and disk")
    costs.legend(fontsize=7)
    return figure


def _memory(state: State) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(12, 3.6), layout="constrained")
    minutes = [sample[0] / 60 for sample in state.samples]
    axes.plot(minutes, [sample[2] for sample in state.samples], label="memory")
    axes.plot(minutes, [sample[3] for sample in state.samples], label="memory of its own")
    axes.set(xlabel="minutes", ylabel="MB", title="Memory of the server while building")
    chunks = axes.twinx()
    chunks.plot(minutes, [sample[1] for sample in state.samples], ":", color="grey", label="chunks imported")
    chunks.set(ylabel="chunks")
    axes.legend(fontsize=7, loc="upper left")
    return figure
