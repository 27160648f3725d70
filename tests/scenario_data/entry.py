"""One row of the table of requirements."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scenario:
    """A requirement from a requirement document, and the tests that show it."""

    id: str
    source: str
    sentence: str
    tests: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """`000` … `004`, or `DECISIONS` for decisions where those disagree."""
        return "DECISIONS" if self.id.startswith("D") else self.id.split(".")[0]

    @property
    def covered(self) -> bool:
        return bool(self.tests)


def need(id: str, source: str, sentence: str, *tests: str) -> Scenario:
    """Return a row: its id, its source, the requirement, and pytest node ids (none: not covered yet)."""
    return Scenario(id, source, sentence, tests)
