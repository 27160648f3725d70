"""Names and titles: trimmed, one line, not too long."""

import pytest

from findspot.errors import FindspotError
from findspot.names import MAX_LENGTH, checked


@pytest.mark.parametrize("name", [" a b ", "\ta b\n", "\u3000a b\u00a0", "a b"])
def test_white_space_around_a_name_is_trimmed(name: str) -> None:
    assert checked(name) == "a b"


@pytest.mark.parametrize("name", ["", " \n ", "a\nb", "a\0b", "a\u2028b", "\ud800", "x" * (MAX_LENGTH + 1)])
def test_a_name_that_cannot_be_shown_in_one_line_is_refused(name: str) -> None:
    with pytest.raises(FindspotError) as refused:
        checked(name, "title")
    assert (refused.value.code, refused.value.fields) == ("INVALID_ARGUMENT", {"field": "title"})


def test_the_longest_name_may_have_white_space_around_it() -> None:
    assert len(checked(" " + "x" * MAX_LENGTH + " ")) == MAX_LENGTH
