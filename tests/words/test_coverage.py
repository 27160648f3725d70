"""How much of a query a text contains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.words import Coverage, measure_coverage, parse, terms


def covered(typed: str, text: str) -> Coverage:
    query = parse(typed)
    return measure_coverage(query, set(query.required_terms) & set(terms(text)), text)


@pytest.mark.parametrize(
    ("typed", "text", "words", "characters", "matches", "missing"),
    [
        ("the old lanterns", "An OLD lantern, and old lanterns", (2, 2), (0, 0), ("OLD", "lantern"), ()),
        ("light lighthouse", "The lighthouse has a light", (2, 2), (0, 0), ("lighthouse", "light"), ()),
        ("HTTPServer", "an http lamp", (0, 1), (0, 0), ("http",), ("HTTPServer",)),
        ("HTTPServer", "an HTTPServer", (1, 1), (0, 0), ("HTTPServer",), ()),
        ('"engines steam"', "steam engines", (2, 2), (0, 0), ("engines", "steam"), ()),
        ("古老的灯塔", "海边有一座古老的灯塔，灯塔很高。", (0, 0), (4, 4), ("古老", "灯塔"), ()),
        ("古老的灯塔", "灯塔很古老。", (0, 0), (4, 4), ("灯塔", "古老"), ()),
        ("人山人海", "人山人海", (0, 0), (4, 4), ("人山人海",), ()),
        ("電腦 lamp", "电脑与灯", (0, 1), (2, 2), ("电脑",), ("lamp",)),
        ('"old photographs" -warehouse', "old photographs", (2, 2), (0, 0), ("old photographs",), ()),
        ("café", "the cafe\u0301", (1, 1), (0, 0), ("cafe\u0301",), ()),
        ("🏮", "a 🏮 here", (1, 1), (0, 0), ("🏮",), ()),
        ("林", "林远", (0, 0), (1, 1), ("林",), ()),
        ("zebra", "林远", (0, 1), (0, 0), (), ("zebra",)),
        ("", "林远", (0, 0), (0, 0), (), ()),
        ("brass lantern 黃銅燈籠", "a lantern 铜", (1, 2), (0, 4), ("lantern",), ("brass", "黃銅燈籠")),
        ("林黛玉 葬花", "林黛玉进贾府", (0, 0), (3, 5), ("林黛玉",), ("葬花",)),
        ("lamp 🏮 Lamp", "a tree", (0, 3), (0, 0), (), ("lamp", "🏮", "Lamp")),
    ],
)
def test_words_are_counted_matches_shown_as_the_text_spells_them_and_missing_words_as_typed(
    typed: str,
    text: str,
    words: tuple[int, int],
    characters: tuple[int, int],
    matches: tuple[str, ...],
    missing: tuple[str, ...],
) -> None:
    assert covered(typed, text) == (words, characters, matches, missing)


def test_a_word_being_typed_is_found_by_its_prefix() -> None:
    query = parse("old lant", typing=True)
    assert measure_coverage(query, {"old", "lant"}, "An old lantern") == ((2, 2), (0, 0), ("old", "lantern"), ())
    assert measure_coverage(query, {"lant"}, "New lanterns, a lantern") == ((1, 2), (0, 0), ("lanterns",), ("old",))
    assert measure_coverage(query, {"old"}, "An old lamp") == ((1, 2), (0, 0), ("old",), ("lant",))


def test_a_term_that_the_text_no_longer_contains_is_shown_as_the_term() -> None:
    coverage = measure_coverage(parse("old lanterns"), {"old", "lantern"}, "An old lamp")
    assert coverage.matches == ("old", "lantern")


@given(st.text("ab 灯塔老🏮-\"'", max_size=20), st.text("ab 灯塔老🏮.", max_size=40))
def test_counts_do_not_exceed_the_query_and_matches_occur_in_the_text(typed: str, text: str) -> None:
    words, characters, matches, missing = covered(typed, text)
    assert words.found <= words.total
    assert characters.found <= characters.total
    assert all(match and match in text for match in matches)
    assert all(each and each in typed for each in missing)
    assert bool(missing) == (words.found < words.total or characters.found < characters.total)
    assert bool(matches) == bool(set(parse(typed).required_terms) & set(terms(text)))


@pytest.mark.parametrize(
    ("typed", "text", "missing"),
    [
        ("how do I limit the memory of a query", "Queries need memory.", ("limit",)),
        ("how do I limit the memory of a query", "A limit for the memory of queries", ()),
        ("怎么限制查询的内存吗", "查询需要内存。", ("限制",)),
        ("林黛玉葬花", "林黛玉", ("葬花",)),
        ("林黛玉葬花", "葬花的林黛玉", ()),
        ("葬花的蘆葦 memory 🐦", "芦苇", ("葬花", "memory", "🐦")),
        ("Cafe\u0301 tables", "a table", ("Cafe\u0301",)),
        ("the", "的", ("the",)),
    ],
)
def test_missing_words_are_named_as_typed_and_stop_words_are_not_missed(
    typed: str, text: str, missing: tuple[str, ...]
) -> None:
    assert covered(typed, text).missing == missing
