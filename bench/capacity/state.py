"""What has been measured so far. It is saved after every block, so that an interrupted run continues."""

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.report import pace_ms

CHUNKS = 4_800_000
SEARCHES = 10_000  # during rebuilds of so many chunks


@dataclass
class State:
    file: Path
    chunks: int
    origin: str  # of the texts: another one makes another corpus
    project: int = 0
    blocks: int = 0  # imported
    built_s: float = 0.0  # import and indexing, without the measurements between
    stages: list[dict[str, Any]] = field(default_factory=list)  # one for each size
    samples: list[tuple[float, int, float, float]] = field(default_factory=list)  # seconds, chunks, MB, MB of its own
    results: dict[str, Any] = field(default_factory=dict)  # of the steps after the build
    pace_ms: float = field(default_factory=pace_ms)  # of the machine, when the first run began
    earlier_s: float = 0.0  # that the runs before this one took
    began: float = field(default_factory=time.monotonic)

    @property
    def is_short(self) -> bool:
        return self.chunks < CHUNKS

    @property
    def page(self) -> str:
        """The name of the page: a short form has its own."""
        return "capacity-short" if self.is_short else "capacity"

    @property
    def least_searches(self) -> int:
        """How many searches there are at least during rebuilds. A short form has one rebuild, however short."""
        return 0 if self.is_short else SEARCHES

    @property
    def took_s(self) -> float:
        """How long this run and those before it have taken, measurements included."""
        return self.earlier_s + time.monotonic() - self.began

    @classmethod
    def open(cls, folder: Path, chunks: int, origin: str) -> "State":
        """Read the state of a folder. A larger number of chunks continues a smaller one, without its last steps."""
        file = folder / "capacity.json"
        if not file.exists():
            return cls(file, chunks, origin)
        found = json.loads(file.read_text())
        if found["origin"] != origin or found["chunks"] > chunks:
            raise SystemExit(
                f"{folder} holds {found['chunks']:,} chunks of {found['origin']}. Choose another --folder."
            )
        if found["chunks"] < chunks:
            if "evict" in found["results"]:
                raise SystemExit(f"{folder} has lost vectors to its last step. Choose another --folder.")
            found |= {"results": {}, "chunks": chunks}
        return cls(**found | {"file": file})

    def save(self) -> None:
        body = {key: value for key, value in asdict(self).items() if key not in ("file", "began")}
        body["earlier_s"] = self.took_s
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(body))
        new.replace(self.file)
