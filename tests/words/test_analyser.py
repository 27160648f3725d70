"""The terms of a text."""

import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.words import query_terms, terms, tokens, units
from findspot.words.analyser import TermSpans, fold_keeping_offsets, merged
from findspot.words.parts import LONGEST
from tests.chunking.texts import texts

# ── properties of every text ──


@given(texts)
def test_terms_and_tokens_agree(text: str) -> None:
    occurrences = Counter(token.term for token in tokens(text))
    single = {token.term for token in tokens(text) if token.kind == "unit" and len(token.term) == 1}
    bag = Counter(terms(text))
    assert bag.keys() == occurrences.keys()
    assert all(bag[term] == occurrences[term] or (term in single and bag[term] <= occurrences[term]) for term in bag)


def test_the_marks_of_a_script_without_spaces_end_a_word() -> None:
    assert sorted(terms("word\u0e34")) == ["word", "\u0e34"]


@given(texts)
def test_the_offsets_of_a_token_cut_out_its_word(text: str) -> None:
    for token in tokens(text):
        assert 0 <= token.start < token.end <= len(text)
        assert token.exact in units(text[token.start : token.end]) or token.exact in terms(
            text[token.start : token.end]
        )


@given(texts)
def test_units_are_numbered_in_order_and_do_not_overlap(text: str) -> None:
    found = [token for token in tokens(text) if token.kind == "unit"]
    assert [token.position for token in found] == list(range(len(found)))
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert [token.exact for token in found] == units(text)


@given(texts)
def test_a_text_has_all_terms_of_the_query_with_the_same_words(text: str) -> None:
    assert set(query_terms(text)) <= set(terms(text))


@given(texts)
def test_no_term_is_blank_or_over_long(text: str) -> None:
    for term in terms(text):
        assert term == term.strip() != ""
        assert len(term) <= LONGEST * 4  # folding may spell out a letter


@given(st.text(st.sampled_from("éàüñçÅe\u0301o\u0308 n"), max_size=30))
def test_accents_make_no_difference_composed_or_decomposed(text: str) -> None:
    plain = unicodedata.normalize("NFD", text).translate(dict.fromkeys(range(768, 880)))
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    if not plain.startswith("\u0301"):
        assert units(composed) == units(decomposed)
        assert "".join(units(composed)) == "".join(units(plain))


@pytest.mark.parametrize("text", ["", " \n\u2028\u3000", "!?…。，", "\0", "\u0301", "—-_.@'"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    assert terms(text) == [] == list(tokens(text))


# ── folding ──


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "cafe"), ("CAFE\u0301", "café"), ("Ａｐｐｌｅ１２", "apple12"), ("naïve", "naive"),
        ("Straße", "STRASSE"),
        ("Łódź", "lodz"), ("Ærø", "aero"), ("ﬁne", "fine"), ("İstanbul", "istanbul"), ("ΣΊΣΥΦΟΣ", "σισυφος"),
        ("電腦", "电脑"), ("機器學習", "机器学习"), ("臺灣", "台湾"), ("ｶﾅ", "カナ"), ("é\u00ade", "ee"),
        ("مُحَمَّد", "محمد"), ("שָׁלוֹם", "שלום"), ("٣٤", "34"), ("don’t", "don't"),
        ("searching", "searched"), ("Libraries", "library"), ("John’s", "john"),
    ],
)  # fmt: skip
def test_two_spellings_find_each_other(one: str, other: str) -> None:
    assert set(terms(one)) & set(query_terms(other))
    assert set(query_terms(one)) & set(terms(other))


def test_marks_that_are_letters_of_their_script_stay() -> None:
    assert units("हिन्दी") == ["हिन्दी"]
    assert "กิ" in terms("กิน")
    assert "กิ" not in terms("กัน")


def test_the_exact_form_is_kept_beside_the_stem() -> None:
    assert [(token.term, token.exact) for token in tokens("Searching LIBRARIES")] == [
        ("search", "searching"),
        ("librari", "libraries"),
    ]


# ── Chinese ──


def test_chinese_is_found_by_single_characters_and_by_bigrams() -> None:
    assert sorted(terms("机器学习")) == sorted(["机器", "器学", "学习", "机", "器", "学", "习"])
    assert query_terms("学") == ("学",)
    assert query_terms("机器学习") == ("机器", "器学", "学习")


def test_a_single_character_counts_once_however_often_it_occurs() -> None:
    assert Counter(terms("人人为我，我为人人"))["人"] == 1
    assert Counter(terms("人人为我，我为人人"))["人人"] == 2


def test_bigrams_do_not_cross_punctuation_or_other_scripts() -> None:
    assert not {"器学", "学a"} & set(terms("机器，学a习"))


@pytest.mark.parametrize("part", ["GPT", "模型", "GPT模型", "gpt", "型"])
def test_mixed_scripts_are_found_by_each_part_and_as_a_whole(part: str) -> None:
    assert set(query_terms(part)) <= set(terms("新的GPT模型发布"))


@pytest.mark.parametrize("part", ["iphone", "15", "iPhone15", "手机", "iPhone15手机", "phone", "IPHONE"])
def test_a_name_with_a_number_next_to_chinese_is_found_by_each_part(part: str) -> None:
    assert set(query_terms(part)) <= set(terms("买了iPhone15手机"))


# ── identifiers, numbers, addresses ──


@pytest.mark.parametrize(
    ("text", "found_by"),
    [
        ("snake_case_name", ["snake_case_name", "snake", "case", "name", "SNAKE_CASE_NAME"]),
        ("camelCase", ["camelCase", "camelcase", "camel", "case"]),
        ("HTTPServer2", ["HTTPServer2", "httpserver2", "http", "server", "2", "httpserver"]),
        ("v2.3.1", ["v2.3.1", "2.3.1", "v2", "2"]),
        ("foo.bar::baz", ["foo.bar::baz", "foo", "bar", "baz", "foo.bar", "bar::baz"]),
        ("x-request-id", ["x-request-id", "request", "X-Request-ID", "request-id"]),
        ("https://example.com/a/b?c=d", ["https://example.com/a/b?c=d", "example.com", "example"]),
        ("some.one+tag@mail.example.org", ["some.one", "mail.example.org", "example", "tag@mail.example.org"]),
        ("user@example.com", ["user@example.com", "user", "example.com"]),
        ("1,234.56", ["1,234.56", "1", "234"]),
        ("2024-01-15T12:30", ["2024-01-15", "12:30", "2024"]),
        ("C++ and C#", ["C++", "c#", "C"]),
        ("GPTs", ["GPT", "gpts", "GPTs"]),
        ("O'Brien l'homme", ["O’Brien", "Brien", "homme", "l'homme"]),
        ("__init__.py", ["__init__", "init", "py", "__init__.py"]),
        ("R&D at AT&T", ["R&D", "at&t"]),
        ("🎉👍🏽🇩🇪", ["🎉", "👍", "👍🏽", "🇩🇪"]),
    ],
)  # fmt: skip
def test_an_identifier_is_found_as_a_whole_and_by_its_parts(text: str, found_by: list[str]) -> None:
    for query in found_by:
        assert set(query_terms(query)) & set(terms(text)), query
        assert set(units(query)) <= set(units(text)) | {token.exact for token in tokens(text)}, query


def test_the_whole_is_a_term_of_its_own() -> None:
    for whole in ("snake_case", "httpserver2", "v2.3.1", "foo.bar::baz", "x-request-id", "c++", "me@example.org"):
        assert whole in terms(f"see {whole}, there")


def test_units_do_not_depend_on_case() -> None:
    assert units("HTTPServer2 gitHub") == units("httpserver2 GitHub") == ["httpserver", "2", "github"]


# ── length ──


def test_a_plain_word_is_one_term_so_that_bm25_sees_the_true_length() -> None:
    assert len(terms("the quick brown fox jumps over the lazy dog")) == 9
    chinese = "中华人民共和国公民在法律面前一律平等。" * 50
    assert len(terms(chinese)) < 1.1 * len(chinese)


@pytest.mark.parametrize(
    "text",
    [
        "a." * 20_000,
        "a" * 60_000,
        "aB" * 20_000,
        "_" * 60_000,
        "://" * 20_000,
        "http://" + "a?" * 20_000,
        "a_" * 20_000,
    ],
    ids=["dots", "letter", "camel-case", "underscores", "slashes", "address", "snake-case"],
)
def test_a_very_long_word_has_no_more_terms_than_characters(text: str) -> None:
    """Quadratic work would show here as a hanging test; bench/analyser.py measures the speed."""
    found = list(tokens(text))
    assert len(found) <= len(text)
    assert {token.term for token in found} == set(terms(text))


# ── finding the spans of some terms ──


@settings(deadline=None)
@given(texts, texts, st.booleans())
def test_term_spans_are_those_of_the_matching_tokens(text: str, others: str, typing: bool) -> None:
    wanted = frozenset(terms(others)[:5]) | frozenset(terms(text)[::3])
    prefix = (units(text) or ["x"])[0][:2] if typing else None
    expected = {
        (token.start, token.end)
        for token in tokens(text)
        if token.term in wanted or (prefix and token.kind == "unit" and token.exact.startswith(prefix))
    }
    assert set(TermSpans(wanted, prefix)(text)) == expected


def test_a_long_text_is_folded_as_a_short_one_is() -> None:
    points = (point for point in range(0x3FFFF) if not 0xD800 <= point < 0xE000)
    regular = "".join(each for each in map(chr, points) if fold_keeping_offsets(each) is not None)
    parts = (regular[start : start + 100] for start in range(0, len(regular), 100))
    assert fold_keeping_offsets(regular) == "".join(fold_keeping_offsets(part) or "" for part in parts)
    plane = "".join(each for each in regular if each < "\U00010000")
    assert fold_keeping_offsets(plane) == fold_keeping_offsets(regular)[: len(plane)]  # type: ignore[index]
    assert fold_keeping_offsets(plane + "é") is None


@settings(deadline=None)
@given(st.lists(texts, max_size=6), st.booleans())
def test_the_spans_in_many_texts_are_those_in_each(many: list[str], typing: bool) -> None:
    wanted = frozenset(terms(" ".join(many))[::3])
    prefix = (units(" ".join(many)) or ["x"])[0][:2] if typing else None
    spans = TermSpans(wanted, prefix)
    assert spans.in_each(many) == [merged(spans(text)) for text in many]


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("灯" * 9, {"灯", "灯灯"}, {(at, at + size) for at in range(9) for size in (1, 2) if at + size <= 9}),
        ("\ud800 lamp\ud800 灯\udfff燈", {"lamp", "灯"}, {(2, 6), (8, 9), (10, 11)}),
        ("\U0002f81a 冬 \U00020bb7", {"冬", "\U00020bb7"}, {(0, 1), (2, 3), (4, 5)}),
        ("", {"lamp", "灯"}, set()),
        ("lamp", set(), set()),
        ("lamp", {"lamp", ""}, {(0, 4)}),
        ("ﾊﾞｽ", {"ハ\u3099", "\u3099ス"}, {(0, 2), (1, 3)}),  # half width
        (" ", {"a"}, set()),
    ],
)
def test_spans_are_found_in_unusual_texts(text: str, wanted: set[str], expected: set[tuple[int, int]]) -> None:
    assert set(TermSpans(wanted)(text)) == expected
    assert TermSpans(wanted).in_each([text, text]) == [merged(expected)] * 2


def test_a_prefix_that_is_a_stem_also_finds_words_that_do_not_begin_with_it() -> None:
    texts = ["happy", "happier", "a happy café 咖啡"]
    assert TermSpans(frozenset({"happi"}), "happi").in_each(texts) == [[(0, 5)], [(0, 7)], [(2, 7)]]


def test_words_with_accents_are_found_among_other_texts() -> None:
    spans = TermSpans(frozenset({"cafe", "苍鹭"}))
    texts = ["A cafe", "Das Café, 蒼鷺 🐦 CAFE\u0301s", "Straße 𠮷野家", "苍鹭\ncafé-bar"]
    assert spans.in_each(texts) == [[(2, 6)], [(4, 8), (10, 12), (15, 21)], [], [(0, 2), (3, 7)]]


@pytest.mark.parametrize(
    "word",
    [
        "happy", "Lying", "dying", "vying", "skies", "capability", "hoping", "relational", "don't", "don’t", "John’s",
        "C", "go", "C++", "x-request-id", "HTTPServer", "naïve", "nai\u0308ve", "Ｃａｆé", "Straße", "٣٤", "v2.3",
    ],
)  # fmt: skip
def test_term_spans_find_a_word_by_each_of_its_terms_in_any_context(word: str) -> None:
    for text in (f"{word}", f"“{word}”", f"so\t{word}, indeed", f"在\n{word}\n中", f"({word})中文 other words"):
        found = [(token.term, token.start, token.end) for token in tokens(text)]
        for term in terms(word):
            spans = {(start, end) for each, start, end in found if each == term}
            assert spans
            assert set(TermSpans(frozenset({term}))(text)) == spans
