"""Queries as people type them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from findspot.words import Highlights, Query, accepts, parse, terms, tokens
from findspot.words.query import Phrase
from tests.chunking.texts import texts

typed = st.text(st.sampled_from("ab -\"“”「」『』－中文.' \u3000"), max_size=25) | texts


# ── what holds for everything that can be typed ──


@given(typed, st.booleans())
def test_every_text_is_a_query_and_a_query_is_frozen(text: str, typing: bool) -> None:
    query = parse(text, typing=typing)
    assert hash(query) == hash(parse(text, typing=typing))
    assert len(set(query.scored)) == len(query.scored)


@given(typed)
@example('-a"')
def test_a_query_with_words_finds_something_or_excludes_something(text: str) -> None:
    query = parse(text)
    assert query.is_empty == (not query.scored)
    assert bool(list(tokens(text))) == (not query.is_empty)


@given(texts)
def test_a_text_fulfils_its_own_words_as_a_phrase(text: str) -> None:
    quoted = text.replace('"', " ")
    query = parse(f'"{quoted}"')
    assert accepts(query, quoted)
    for phrase in query.phrases:
        assert set(phrase.terms) <= set(terms(quoted))


@given(typed, texts)
def test_highlights_are_in_order_apart_and_inside_the_text(text: str, body: str) -> None:
    done = 0
    for start, end in Highlights(parse(text, typing=True))(body):
        assert done <= start < end <= len(body)
        done = end + 1


# ── words ──


def test_words_are_terms_each_once() -> None:
    text, terms = "Searching the search engines", ("search", "engin")
    assert parse(text) == Query(terms, ended=terms, wanted=text)


@pytest.mark.parametrize(
    ("text", "expected"), [("to be", ("to", "be")), ("什么", ("什么",)), ("what is it", ("what", "is", "it"))]
)
def test_stop_words_count_when_there_is_nothing_else(text: str, expected: tuple[str, ...]) -> None:
    assert parse(text).terms == expected


def test_a_chinese_word_is_not_counted_three_times() -> None:
    assert parse("机器学习").terms == ("机器", "器学", "学习")
    assert parse("第3条").terms == ("第", "3", "条")


# ── phrases ──


@pytest.mark.parametrize("text", ['"deep learning"', "“deep learning”", "「deep learning」", "『Deep Learning』"])
def test_quotes_of_any_kind_make_a_phrase(text: str) -> None:
    assert parse(text) == Query(phrases=(Phrase(("deep", "learning"), ("deep", "learn")),), wanted=text)


def test_chinese_quotes_may_stand_amid_the_words() -> None:
    query = parse("查找“深度学习”论文")
    assert query.terms == ("查找", "论文")
    assert query.phrases[0].units == ("深", "度", "学", "习")


@pytest.mark.parametrize(
    ("phrase", "text", "fits"),
    [
        ("deep learning", "Deep-Learning works", True),
        ("deep learning", "deep machine learning", False),
        ("deep learning", "deep learn", False),
        ("learning", "he learns", False),
        ("深度学习", "关于深度學習的書", True),
        ("深度学习", "深度。学习", True),
        ("深度学习", "深度的学习", False),
        ("GPT模型", "新GPT模型", True),
        ("github", "GitHub Actions", True),
        ("hub", "GitHub Actions", False),
        ("2.3", "v2.3.1", True),
        ("to be", "to be or not to be", True),
    ],
)
def test_a_phrase_is_exact_but_for_case_width_and_accents(phrase: str, text: str, fits: bool) -> None:
    assert accepts(parse(f'"{phrase}"'), text) == fits


@given(st.text(st.sampled_from("ab -'’s_.。中文電é１🦊 \n"), max_size=12), texts, st.booleans())
def test_a_quick_look_at_a_text_misses_no_phrase(phrase: str, text: str, inside: bool) -> None:
    """What is judged without being taken apart is judged as if it were."""
    query = parse(f'"{phrase}"')
    body = f"{text} {phrase.upper()} {text}" if inside else text
    units = [token.exact for token in tokens(body) if token.kind == "unit"]
    for each in query.phrases:
        width = len(each.units)
        stands = any(tuple(units[place : place + width]) == each.units for place in range(len(units)))
        assert accepts(Query(phrases=(each,)), body) == stands
        assert accepts(Query(excluded=(each,)), body) != stands


@pytest.mark.parametrize(
    ("phrase", "term"),
    [("林远", "林远"), ("林", "林"), ("哈哈哈", None), ("running", None), ("lamp", None), ("5", None)],
)
def test_a_phrase_of_one_or_two_chinese_characters_is_known_by_its_term(phrase: str, term: str | None) -> None:
    (found,) = parse(f'"{phrase}"').phrases
    assert found.term == term


# ── without ──


@pytest.mark.parametrize(
    ("text", "body", "fits"),
    [
        ("java -script", "java", True),
        ("java -script", "java scripts", False),
        ("java －script", "java script", False),
        ("java -script", "JavaScript", True),
        ('java -"type script"', "java type script", False),
        ('java -"type script"', "java script type", True),
        ("手机 -广告", "手机广告", False),
        ("手机 -广告", "手机广大告诉", True),
        ("手机 -「广告」", "手机广告", False),
        ("key -x-request-id", "key x request id", False),
        ('lamp -"running"', "The lamp runs all night", True),
        ('lamp -"very very"', "a very old lamp", True),
        ("lamp -「哈哈哈」", "lamp 哈哈 笑", True),
        ("lamp -「哈哈哈」", "lamp 哈哈，哈", False),
        ("lamp -cafe", "a lamp in the Café", False),
        ("lamp -lie", "It was lying under the lamp", False),
    ],
)
def test_minus_excludes_a_word_or_a_phrase(text: str, body: str, fits: bool) -> None:
    assert accepts(parse(text), body) == fits


@pytest.mark.parametrize("text", ["well-known", "a - b", "--flag", "e-mail -", "x--y", "- -"])
def test_a_dash_elsewhere_is_a_dash(text: str) -> None:
    assert parse(text).excluded == ()


def test_a_query_that_only_excludes_is_plain_words() -> None:
    assert parse("-5").terms == ("5",)
    assert parse("-foo -bar").terms == ("foo", "bar")


# ── what is no sound syntax ──


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"open', ("open",)),
        ('5"x3"', ("5", "x", "3", "x3")),
        ("“open", ("open",)),
        ("open」", ("open",)),
        ('"" x', ("x",)),
        ("x OR (y AND", ("x", "y")),
        ("field:value^2 [a TO *}", ("field", "valu", "2", "a")),
    ],
)
def test_what_is_no_sound_syntax_is_plain_words(text: str, expected: tuple[str, ...]) -> None:
    query = parse(text)
    assert set(query.terms) >= set(expected) - {"a"}
    assert query.phrases == query.excluded == ()


# ── while typing ──


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("search eng", "eng"),
        ("Runn", "runn"),
        ("runn ", None),
        ("r", None),
        ('"quoted', "quoted"),
        ('"quoted"', None),
        ("java -scr", None),
        ("foo_ba", "ba"),
        ("foo_", None),
        ("机器学", None),
        ("机器lea", "lea"),
        ("Caf\u00e9", "cafe"),
        ("", None),
    ],
)
def test_the_last_word_may_be_the_beginning_of_one(text: str, prefix: str | None) -> None:
    assert parse(text, typing=True).prefix == prefix
    assert parse(text).prefix is None


@pytest.mark.parametrize(
    "word", ["swimming", "hoping", "happiness", "carefully", "organization", "libraries", "relational"]
)
def test_a_word_is_found_at_every_letter_that_is_typed_of_it(word: str) -> None:
    (term,) = terms(word)
    for length in range(3, len(word) + 1):
        query = parse(word[:length], typing=True)
        assert query.prefix is not None
        assert term.startswith(query.prefix) or term in (*query.stems, *query.terms), word[:length]


@pytest.mark.parametrize("text", ["swimm ", "林远", '"swimm"', "sw"])
def test_only_what_is_being_typed_may_end_otherwise(text: str) -> None:
    assert parse(text, typing=True).stems == ()


@pytest.mark.parametrize(
    ("text", "ended", "wanted"),
    [
        ("old lighthou", ("old",), "old lighthou"),
        ("old lighthou -rus", ("old", "lighthou"), "old lighthou"),
        ('a "b c" -d e -"f g"', ("e",), 'a "b c" e'),
        ("灯塔 -生锈", ("灯塔",), "灯塔"),
        ("-old", (), " old"),
    ],
)
def test_what_is_typed_to_its_end_and_what_is_wanted_are_told_apart(
    text: str, ended: tuple[str, ...], wanted: str
) -> None:
    query = parse(text, typing=True)
    assert (query.ended, query.wanted) == (ended, wanted)


# ── where ──


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("search", "Searching the searched 搜索", ["Searching", "searched"]),
        ("林远", "那天林远看见林先生和遠方", ["林远"]),
        ("学", "学习化学", ["学", "学"]),
        ("机器学习", "機器學習很有趣", ["機器學習"]),
        ('"deep learning"', "deep learning, deep", ["deep learning"]),
        ("user name", "get_user_name", ["user", "name"]),
        ("camel", "a camelCase name", ["camel"]),
        ("cafe", "Cafe\u0301s CAFÉ", ["Cafe\u0301s", "CAFÉ"]),
        ("example", "👍 see https://example.com/a", ["example"]),
        ("x -y", "x and y", ["x"]),
        ("👧 👍", "a 👩‍👩‍👧 and 👍🏽, ❤️ or 👍", ["👩‍👩‍👧", "👍🏽", "👍"]),
        ("👩", "👩🏽‍🚀 🚀 \u200d👩\u200d", ["👩🏽‍🚀", "👩"]),
    ],
)
def test_matches_are_marked_in_the_text_as_it_stands(query: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in Highlights(parse(query))(text)] == marked


def test_the_beginning_of_a_word_marks_the_word() -> None:
    spans = Highlights(parse("libr", typing=True))("the Library of libraries")
    assert spans == [(4, 11), (15, 24)]


@pytest.mark.parametrize(
    ("typed", "ended", "prefix"),
    [
        ("anna.le", ("anna",), "le"),
        ("high-pres", ("high",), "pres"),
        ("图书馆swi", ("图书", "书馆"), "swi"),
        ("the swi", (), "swi"),
        ("old swi", ("old",), "swi"),
        ("swi ", ("swi",), None),
    ],
)
def test_of_a_word_that_is_typed_the_parts_before_the_last_have_ended(
    typed: str, ended: tuple[str, ...], prefix: str | None
) -> None:
    query = parse(typed, typing=True)
    assert (query.ended, query.prefix) == (ended, prefix)
    assert set(query.begun).isdisjoint(query.ended)


def test_of_a_long_query_whole_words_are_read() -> None:
    assert parse("lighthouse " * 2000).terms == ("lighthous",)
    assert len(parse("灯塔" * 20_000).terms) == 2
