"""Checks for the extract of any document."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from findspot.sources import Extract

SoundCheck = Callable[[Extract], None]


@pytest.fixture(scope="session")
def assert_sound() -> SoundCheck:
    """Blocks and breaks tile the text, every code point has a place, and ranges agree with single places."""

    def check(extract: Extract) -> None:
        done = 0
        for number, block in enumerate(extract.blocks):
            assert block.start < block.end
            assert extract.text[done : block.start] == ("\n\n" if number else "")
            done = block.end
        assert done == len(extract.text)
        covered = [extract.place(index) for index in range(len(extract.text))]
        spans = extract.spans(0, len(extract.text))
        for place in covered:
            assert 0 <= place.start <= place.end
            assert any(
                span.pointer == place.pointer and span.start <= place.start and place.end <= span.end for span in spans
            )

    return check
