"""How much of a query stands in a text, as people count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.words import Told, parse, terms, told


def what(typed: str, text: str) -> Told:
    query = parse(typed)
    return told(query, set(query.scored) & set(terms(text)), text)


@pytest.mark.parametrize(
    ("typed", "text", "words", "characters", "stretches"),
    [
        ("the old lanterns", "An OLD lantern, and old lanterns", (2, 2), (0, 0), ("OLD", "lantern")),
        ("light lighthouse", "The lighthouse has a light", (2, 2), (0, 0), ("lighthouse", "light")),
        ("HTTPServer", "an http lamp", (0, 1), (0, 0), ("http",)),
        ("HTTPServer", "an HTTPServer", (1, 1), (0, 0), ("HTTPServer",)),
        ('"engines steam"', "steam engines", (2, 2), (0, 0), ("engines", "steam")),
        ("古老的灯塔", "海边有一座古老的灯塔，灯塔很高。", (0, 0), (5, 5), ("古老的灯塔",)),
        ("古老的灯塔", "灯塔很古老。", (0, 0), (4, 5), ("灯塔", "古老")),
        ("人山人海", "人山人海", (0, 0), (4, 4), ("人山人海",)),
        ("電腦 lamp", "电脑与灯", (0, 1), (2, 2), ("电脑",)),
        ('"old photographs" -warehouse', "old photographs", (2, 2), (0, 0), ("old photographs",)),
        ("café", "the cafe\u0301", (1, 1), (0, 0), ("cafe\u0301",)),
        ("🏮", "a 🏮 here", (1, 1), (0, 0), ("🏮",)),
        ("林", "林远", (0, 0), (1, 1), ("林",)),
        ("zebra", "林远", (0, 1), (0, 0), ()),
        ("", "林远", (0, 0), (0, 0), ()),
    ],
)
def test_words_and_characters_are_counted_and_shown_as_they_stand_there(
    typed: str, text: str, words: tuple[int, int], characters: tuple[int, int], stretches: tuple[str, ...]
) -> None:
    assert what(typed, text) == (words, characters, stretches)


def test_a_word_that_is_being_typed_goes_by_its_beginning() -> None:
    query = parse("old lant", typing=True)
    assert told(query, {"old", "lant"}, "An old lantern") == ((2, 2), (0, 0), ("old", "lantern"))
    assert told(query, {"lant"}, "New lanterns, a lantern") == ((1, 2), (0, 0), ("lanterns",))
    assert told(query, {"old"}, "An old lamp") == ((1, 2), (0, 0), ("old",))


def test_a_term_that_the_text_no_longer_has_stands_for_itself() -> None:
    assert told(parse("old lanterns"), {"old", "lantern"}, "An old lamp").stretches == ("old", "lantern")


@given(st.text("ab 灯塔老🏮-\"'", max_size=20), st.text("ab 灯塔老🏮.", max_size=40))
def test_no_more_is_found_than_was_asked_for_and_stretches_stand_in_the_text(typed: str, text: str) -> None:
    words, characters, stretches = what(typed, text)
    assert words.found <= words.asked
    assert characters.found <= characters.asked
    assert all(each and each in text for each in stretches)
    assert bool(stretches) == bool(set(parse(typed).scored) & set(terms(text)))
