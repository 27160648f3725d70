"""A flame graph as an SVG that needs no script: a frame's width is its share of the samples, its title says which."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from bench import profile_stages
from bench.profile_stages import Sample

WIDTH, ROW, LEAST = 1400, 16, 0.8  # pixels; narrower frames are left out
_CHARACTER = 6.5


@dataclass
class _Frame:
    """A frame, how many samples have it, and the frames that it calls."""

    name: str
    count: int = 0
    calls: dict[str, "_Frame"] = field(default_factory=dict)

    def add(self, names: list[str], count: int) -> None:
        self.count += count
        if names:
            self.calls.setdefault(names[0], _Frame(names[0])).add(names[1:], count)

    @property
    def depth(self) -> int:
        return 1 + max((each.depth for each in self.calls.values()), default=0)


def flame_graph(sampled: Mapping[str, str]) -> str:
    """Return the graph of all kinds of calls, side by side, given their stacks in the raw format of py-spy."""
    root = _Frame("all")
    for load, raw in sampled.items():
        for sample in profile_stages.read(raw):
            root.add([load, *_names(sample)], sample.count)
    shapes: list[str] = []
    _draw(root, 0.0, 0, WIDTH / max(1, root.count), shapes)
    height = ROW * root.depth
    font = 'font-size="11" font-family="monospace"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {font}>'
    return "\n".join([head, *shapes, "</svg>", ""])


def _names(sample: Sample) -> list[str]:
    """Return the frames from the first one of Findspot on, or all if there is none. One without a file is a process,
    whose command names folders of this machine."""
    names = [f"{function} ({_short(file)})" if file else function.partition(" ")[0] for function, file in sample.frames]
    first = next((place for place, (_, file) in enumerate(sample.frames) if "findspot/surfaces" in file), 0)
    return names[first:]


def _short(file: str) -> str:
    for mark in ("/src/", "/site-packages/", "/lib/"):
        if mark in file:
            return file.rpartition(mark)[2]
    return file.rpartition("/")[2]


def _draw(frame: _Frame, x: float, row: int, scale: float, shapes: list[str]) -> None:
    width = frame.count * scale
    if width < LEAST:
        return
    hue = 20 + _number(frame.name) % 40
    label = escape(frame.name[: int(width / _CHARACTER)]) if width > 4 * _CHARACTER else ""
    shapes.append(
        f'<g><title>{escape(frame.name)}: {frame.count}</title><rect x="{x:.1f}" y="{row * ROW}" width="{width:.1f}" '
        f'height="{ROW - 1}" fill="hsl({hue},80%,65%)"/><text x="{x + 2:.1f}" y="{row * ROW + 11}">{label}</text></g>'
    )
    for each in sorted(frame.calls.values(), key=lambda called: -called.count):
        _draw(each, x, row + 1, scale, shapes)
        x += each.count * scale


def _number(name: str) -> int:
    """Return a number for a name, the same in every run."""
    return sum(name.encode())
