"""Find the private values in passages, together with the text around each passage."""

from dataclasses import replace

from findspot.context import Context
from findspot.retrieval.passages import Passage
from findspot.retrieval.redaction import Redactor
from findspot.retrieval.redaction_rules import Rules
from findspot.retrieval.surroundings import Surrounding


class Masking:
    """Masks the passages of one answer. Titles that many of them share are examined once."""

    def __init__(self, rules: Rules) -> None:
        self._redactor = Redactor(rules)
        self._labels: dict[str, str] = {}

    def masked(self, passage: Passage, around: Surrounding) -> Passage:
        """Return a passage with its redactions, and with a title, headings and path without private values.

        Of its words, those stay that are still shown: the others are parts of private values.
        """
        found = self._redactor.redact(f"{around.before}{passage.text}{around.after}").redactions
        shift = passage.start - len(around.before)
        ranges = (replace(each, start=each.start + shift, end=each.end + shift) for each in found)
        masked = replace(
            passage,
            redactions=tuple(each for each in ranges if each.start < passage.end and passage.start < each.end),
            context=Context(self._label(passage.context.title), tuple(map(self._label, passage.context.headings))),
            path=None if passage.path is None else self._label(passage.path),
        )
        shown = f"{masked.place}\n{masked.shown_text}"
        return replace(masked, words=tuple(word for word in passage.words if word in shown))

    def _label(self, text: str) -> str:
        if text not in self._labels:
            self._labels[text] = self._redactor.redact(text).text
        return self._labels[text]
