"""Reports characters that a reader does not see: controls, invisible characters, and marks that reverse the text.

They are reported and not deleted, because offsets must stay valid. Such characters hide instructions from a person who
checks a document, but not from a language model.
"""

import re
import unicodedata
from dataclasses import dataclass

MAX_REPORTED = 20  # of one passage

_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200d\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_FLAG = "\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f"  # the flag of a region is written with tag characters
_FOUND = re.compile(
    f"(?P<flag>{_FLAG})|(?P<bidirectional>[{_BIDIRECTIONAL}])|(?P<invisible>[{_INVISIBLE}])|(?P<control>[{_CONTROL}])"
)
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class HiddenCharacter:
    """A character that a reader does not see: `bidirectional`, `invisible` or `control`."""

    offset: int
    code_point: str
    kind: str


def hidden_characters(text: str, start: int = 0) -> tuple[HiddenCharacter, ...]:
    """Return the first hidden characters of a text. `start` is added to their offsets.

    Joiners inside an emoji, or between letters of scripts that need them, are ordinary text.
    """
    found: list[HiddenCharacter] = []
    for each in _FOUND.finditer(text):
        kind = each.lastgroup
        if kind == "flag" or (each[0] in _JOINERS and _joins(text, each.start())):
            continue
        found.append(HiddenCharacter(start + each.start(), f"U+{ord(each[0]):04X}", str(kind)))
        if len(found) == MAX_REPORTED:
            break
    return tuple(found)


def _joins(text: str, at: int) -> bool:
    """Return whether the characters on both sides belong to an emoji or to a script with joiners."""
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return len(around) == 2 and all(ord(each) > 0x300 and unicodedata.category(each)[0] in "LMS" for each in around)
