"""Texts by the million, made on demand: block after block, the same in every run and in every process.

The first blocks are real chunks of real texts, in random order. The others are spliced: runs of one to four sentences
from random pieces of these texts, until a text has 310 to 800 characters. Texts can repeat, if rarely.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

from bench import speed_data

OF_A_DOCUMENT = 100  # chunks
BLOCK = 10_000  # chunks in one archive
SAMPLED = 50_000  # texts that queries are made from
DOCS = Path(__file__).parent.parent.parent / "docs"


@dataclass(frozen=True)
class Texts:
    """The real chunks, and the sentences that the others are made of."""

    files: tuple[Path, ...]
    real: list[str]
    parts: list[list[str]] = field(repr=False)

    @classmethod
    def of(cls, data: Path | None) -> "Texts":
        """Read the question sets of a folder or, without one, the documentation and the extracts of the tests."""
        files = tuple(sorted(speed_data.source_files(data)))
        if data is None:
            files += tuple(sorted(DOCS.rglob("*.md")))
        pieces = speed_data.real_pieces(files)
        random.Random(speed_data.SEED).shuffle(pieces)
        return cls(files, speed_data.long_enough(pieces), speed_data.sentences(pieces))

    def block(self, number: int, count: int = BLOCK) -> list[str]:
        """Return the texts of a block."""
        first = number * BLOCK
        real = self.real[first : first + count]
        chooser = random.Random(f"{speed_data.SEED} {number}")
        return real + [speed_data.spliced(self.parts, chooser) for _ in range(count - len(real))]

    def queries(self) -> list[str]:
        """Return 300 different queries, the same for every number of chunks."""
        some = [text for number in range(SAMPLED // BLOCK) for text in self.block(number)]
        return speed_data.queries_of(self.files, some, random.Random(speed_data.SEED))


def blocks(count: int) -> list[tuple[int, int]]:
    """Return number and size of the blocks that make `count` chunks."""
    return [(number, min(BLOCK, count - number * BLOCK)) for number in range(-(-count // BLOCK))]
