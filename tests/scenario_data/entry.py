"""One row of the table of requirements."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something a requirement document asks for, and the tests that show it."""

    id: str
    source: str
    sentence: str
    tests: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """`000` … `004`, or `DECISIONS` for the rows that settle where those disagree."""
        return "DECISIONS" if self.id.startswith("D") else self.id.split(".")[0]

    @property
    def covered(self) -> bool:
        return bool(self.tests)


def need(id: str, source: str, sentence: str, *tests: str) -> Scenario:
    """A row: its id, where it comes from, what must hold, and pytest node ids (none: not yet)."""
    return Scenario(id, source, sentence, tests)
