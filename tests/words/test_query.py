"""Parsing queries, checking texts against them, and highlighting."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from findspot.words import Highlights, Query, accepts, parse, query_terms, terms, tokens
from findspot.words.query import Phrase
from findspot.words.segmentation import segment
from tests.chunking.texts import texts

typed = st.text(st.sampled_from("ab -\"“”「」『』－中文.' \u3000"), max_size=25) | texts


# ── properties of every query ──


@given(typed, st.booleans())
def test_every_text_is_a_query_and_queries_are_values(text: str, typing: bool) -> None:
    query = parse(text, typing=typing)
    assert hash(query) == hash(parse(text, typing=typing))
    assert len(set(query.scored_terms)) == len(query.scored_terms)


@given(typed)
@example('-a"')
def test_a_query_is_empty_only_if_it_has_no_words(text: str) -> None:
    query = parse(text)
    assert query.is_empty == (not query.scored_terms)
    assert bool(list(tokens(text))) == (not query.is_empty)


@given(texts)
def test_a_text_matches_its_own_words_as_a_phrase(text: str) -> None:
    quoted = text.replace('"', " ")
    query = parse(f'"{quoted}"')
    assert accepts(query, quoted)
    for phrase in query.phrases:
        assert set(phrase.terms) <= set(terms(quoted))


@given(typed, texts)
def test_highlights_are_in_order_separate_and_inside_the_text(text: str, body: str) -> None:
    done = 0
    for start, end in Highlights(parse(text, typing=True))(body):
        assert done <= start < end <= len(body)
        done = end + 1


# ── words ──


def test_each_term_counts_once() -> None:
    text, terms = "Searching the search engines", ("search", "engin")
    assert parse(text) == Query(terms, content_terms=terms, complete_terms=terms, positive_text=text)


@pytest.mark.parametrize(
    ("text", "expected"), [("to be", ("to", "be")), ("什么", ("什么",)), ("what is it", ("what", "is", "it"))]
)
def test_stop_words_count_if_there_are_no_other_words(text: str, expected: tuple[str, ...]) -> None:
    assert parse(text).terms == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("how do I limit memory of a query", "how to limit memory of a query"),
        ("should my memory have been limited", "limit memory"),
        ("怎么限制查询的内存吗", "限制 查询 内存"),
        ("如何限制查詢的記憶", "限制查询 记忆"),
        ("林黛玉葬花", "林黛玉 葬花"),
        ("林黛玉葬花了吗", "林黛玉的葬花"),
        ("TiDB怎么限制内存", "TiDB 限制 内存"),
    ],
)
def test_queries_with_the_same_content_words_require_the_same(one: str, other: str) -> None:
    assert set(parse(one).required_terms) == set(parse(other).required_terms)
    assert set(parse(one).content_terms) == set(parse(other).content_terms)


def test_pairs_across_words_are_recalled_but_do_not_count() -> None:
    query = parse("林黛玉葬花")
    assert query.terms == ("林黛", "黛玉", "玉葬", "葬花")
    assert query.required_terms == ("林黛", "黛玉", "葬花")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("林远", ["林远"]),
        ("数据库索引重建", ["数据库", "索引", "重建"]),
        ("古老的灯塔", ["古老", "灯塔"]),
        ("的了吗", []),
        ("ひらがな", ["ひらがな"]),
        ("\u9f98\u9750", ["\u9f98\u9750"]),
    ],
)
def test_words_are_segmented_and_unknown_characters_stay_together(run: str, words: list[str]) -> None:
    assert [run[start:end] for start, end in segment(run)] == words


def test_a_chinese_word_counts_by_its_bigrams_and_not_by_its_characters_too() -> None:
    assert parse("机器学习").terms == ("机器", "器学", "学习")
    assert parse("第3条").terms == ("第", "3", "条")


# ── phrases ──


@pytest.mark.parametrize("text", ['"deep learning"', "“deep learning”", "「deep learning」", "『Deep Learning』"])
def test_quotes_of_any_kind_make_a_phrase(text: str) -> None:
    assert parse(text) == Query(phrases=(Phrase(("deep", "learning"), ("deep", "learn")),), positive_text=text)


def test_chinese_quotes_need_no_spaces_around_them() -> None:
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
def test_a_phrase_is_exact_except_for_case_width_and_accents(phrase: str, text: str, fits: bool) -> None:
    assert accepts(parse(f'"{phrase}"'), text) == fits


@given(st.text(st.sampled_from("ab -'’s_.。中文電é１🦊 \n"), max_size=12), texts, st.booleans())
def test_the_quick_phrase_check_agrees_with_the_tokens(phrase: str, text: str, inside: bool) -> None:
    query = parse(f'"{phrase}"')
    body = f"{text} {phrase.upper()} {text}" if inside else text
    units = [token.exact for token in tokens(body) if token.kind == "unit"]
    for each in query.phrases:
        width = len(each.units)
        occurs = any(tuple(units[first : first + width]) == each.units for first in range(len(units)))
        assert accepts(Query(phrases=(each,)), body) == occurs
        assert accepts(Query(excluded=(each,)), body) != occurs


@pytest.mark.parametrize(
    ("phrase", "term"),
    [("林远", "林远"), ("林", "林"), ("哈哈哈", None), ("running", None), ("lamp", None), ("5", None)],
)
def test_a_phrase_of_one_or_two_chinese_characters_equals_a_term(phrase: str, term: str | None) -> None:
    (found,) = parse(f'"{phrase}"').phrases
    assert found.term == term


def test_quoted_pieces_of_a_tool_query_are_preferred_and_dashes_are_text() -> None:
    for text, units in (
        ('git commit -m "deep learning" -java', ("deep", "learning")),
        ("查找“深度学习”论文 -广告", ("深", "度", "学", "习")),
    ):
        query = parse(text, requires_phrases=False, excludes=False)
        assert (query.phrases, query.excluded) == ((), ())
        assert [phrase.units for phrase in query.preferred] == [units]
        assert query.positive_text == text
        assert query.terms == query_terms(text)
    assert parse('a "word"', requires_phrases=False).preferred == ()


# ── exclusions ──


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("git commit -m fix", 0),
        ("temperature -5", 0),
        ("猫 -狗", 0),
        ("git commit -am fix", 1),
        ("猫 -狗粮", 1),
        ("cats −dogs", 1),
        ('cats -"d"', 1),
        ("well-known cats-dogs", 0),
    ],
)
def test_a_dash_excludes_a_word_of_two_or_more_characters_after_a_blank(text: str, excluded: int) -> None:
    assert len(parse(text).excluded) == excluded


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
def test_a_dash_that_does_not_precede_a_word_excludes_nothing(text: str) -> None:
    assert parse(text).excluded == ()


def test_a_query_of_exclusions_only_is_read_as_plain_words() -> None:
    assert parse("-5").terms == ("5",)
    assert parse("-foo -bar").terms == ("foo", "bar")


# ── invalid syntax ──


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
def test_invalid_syntax_is_read_as_plain_words(text: str, expected: tuple[str, ...]) -> None:
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
def test_while_typing_the_last_word_is_a_prefix(text: str, prefix: str | None) -> None:
    assert parse(text, typing=True).prefix == prefix
    assert parse(text).prefix is None


@pytest.mark.parametrize(
    "word", ["swimming", "hoping", "happiness", "carefully", "organization", "libraries", "relational"]
)
def test_a_word_is_found_after_every_typed_letter(word: str) -> None:
    (term,) = terms(word)
    for length in range(3, len(word) + 1):
        query = parse(word[:length], typing=True)
        assert query.prefix is not None
        assert term.startswith(query.prefix) or term in (*query.stems, *query.terms), word[:length]


@pytest.mark.parametrize("text", ["swimm ", "林远", '"swimm"', "sw"])
def test_only_a_word_being_typed_has_stems_of_its_completions(text: str) -> None:
    assert parse(text, typing=True).stems == ()


@pytest.mark.parametrize(
    ("text", "complete_terms", "positive_text"),
    [
        ("old lighthou", ("old",), "old lighthou"),
        ("old lighthou -rus", ("old", "lighthou"), "old lighthou"),
        ('a "b c" -dd e -"f g"', ("e",), 'a "b c" e'),
        ("灯塔 -生锈", ("灯塔",), "灯塔"),
        ("-old", (), " old"),
    ],
)
def test_complete_terms_leave_out_the_prefix_and_positive_text_the_exclusions(
    text: str, complete_terms: tuple[str, ...], positive_text: str
) -> None:
    query = parse(text, typing=True)
    assert (query.complete_terms, query.positive_text) == (complete_terms, positive_text)


# ── highlights ──


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
        ("x -yy", "x and yy", ["x"]),
        ("x -y", "x and y", ["x", "y"]),
        ("林黛玉葬花", "林黛玉葬花，紫玉葬于林中", ["林黛玉葬花"]),
        ("林黛玉葬花", "紫玉葬于林中，黛玉", ["黛玉"]),
        ("林黛玉葬花", "臺上林黛玉和葬花 🌸", ["林黛玉", "葬花"]),
        ("TiDB怎么限制内存", "限制 TiDB 的內存是怎么回事", ["限制", "TiDB", "內存"]),
        ("how do I limit it", "How do limits do?", ["limits"]),
        ("👧 👍", "a 👩‍👩‍👧 and 👍🏽, ❤️ or 👍", ["👩‍👩‍👧", "👍🏽", "👍"]),
        ("👩", "👩🏽‍🚀 🚀 \u200d👩\u200d", ["👩🏽‍🚀", "👩"]),
    ],
)
def test_highlights_are_spans_of_the_original_text(query: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in Highlights(parse(query))(text)] == marked


def test_a_prefix_highlights_the_whole_word() -> None:
    spans = Highlights(parse("libr", typing=True))("the Library of libraries")
    assert spans == [(4, 11), (15, 24)]


@pytest.mark.parametrize(
    ("typed", "complete_terms", "prefix"),
    [
        ("anna.le", ("anna",), "le"),
        ("high-pres", ("high",), "pres"),
        ("图书馆swi", ("图书", "书馆"), "swi"),
        ("the swi", (), "swi"),
        ("old swi", ("old",), "swi"),
        ("swi ", ("swi",), None),
    ],
)
def test_the_prefix_is_only_the_last_part_of_a_joined_word(
    typed: str, complete_terms: tuple[str, ...], prefix: str | None
) -> None:
    query = parse(typed, typing=True)
    assert (query.complete_terms, query.prefix) == (complete_terms, prefix)
    assert set(query.partial_terms).isdisjoint(query.complete_terms)


def test_a_long_query_is_cut_between_words() -> None:
    assert parse("lighthouse " * 2000).terms == ("lighthous",)
    assert len(parse("灯塔" * 20_000).terms) == 2
