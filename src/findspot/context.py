"""Where a passage is: the title of its document and the headings above it, or the keys above a string of a table.

It is indexed with the passage, and is never part of its text.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from findspot import pointer as pointers

LONGEST = 120  # characters of one heading
DEEPEST = 8  # headings
_PREFIX = 160  # characters
_BREAK = "\n"  # no title and no heading contains one


@dataclass(frozen=True, slots=True)
class Context:
    """The title, and the headings from the outermost to the nearest. A passage of a table has no title."""

    title: str = ""
    headings: tuple[str, ...] = ()

    @classmethod
    def of(cls, title: str, headings: Iterable[str]) -> "Context":
        """Return a context of single lines. What is too long is cut, and of a deep path the nearest headings remain."""
        lines = [_line(each) for each in headings]
        return cls(_line(title), tuple(each for each in lines if each)[-DEEPEST:])

    @classmethod
    def of_pointer(cls, pointer: str) -> "Context":
        """Return the keys on the way to a string. Positions in lists are left out."""
        return cls.of("", (key for key in pointers.parse(pointer) if pointers.index(key) is None))

    @classmethod
    def of_row(cls, stored: str | None, pointer: str) -> "Context":
        """Return the context of a chunk row: what is stored, or the keys of its pointer."""
        if stored is None:
            return cls.of_pointer(pointer)
        title, *headings = stored.split(_BREAK)
        return cls(title, tuple(headings))

    def outside(self, text: str) -> "Context":
        """Return the context without the headings that a passage begins with: they count as its text."""
        if not self.headings:
            return self
        own = {_line(each) for each in text.split("\n\n", len(self.headings))[:-1]}
        return Context(self.title, tuple(each for each in self.headings if each not in own))

    @property
    def stored(self) -> str:
        """The context as text; `of_row` reads it."""
        return _BREAK.join((self.title, *self.headings))

    @property
    def prefix(self) -> str:
        """What the vector of a passage has in front of its text: title and headings, without repetitions. Outer
        headings of a long path are left out."""
        parts = list(dict.fromkeys(filter(None, (self.title, *self.headings))))
        while len(parts) > 2 and sum(map(len, parts)) > _PREFIX:
            del parts[1]
        return " > ".join(parts)


def embedded_text(context: Context, text: str) -> str:
    """Return the text whose vector a passage gets."""
    return f"{prefix}\n\n{text}" if (prefix := context.prefix) else text


def _line(text: str) -> str:
    return " ".join(text[: 4 * LONGEST].split())[:LONGEST].rstrip()
