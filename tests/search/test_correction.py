"""Correcting words that occur nowhere, and other spellings of words that do."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from findspot.app import App
from findspot.search import SearchRequest, Strategy
from findspot.search.correction import corrected
from findspot.words import Highlights, Query, parse, terms
from tests.flows import add_tool, find, make_document, make_project, make_table, settle

TEXTS = (
    "A generator expression yields values. 生成器表达式",
    "Generators generate power.",
    "Run node.js on the server 服务器",
    "The nodejs package",
    "An e-mail about the configuration of 数据库",
    "table tables label 🐦 cafe\u0301",
)


def frequencies(wanted: Sequence[str], *, prefix: str | None = None) -> Mapping[str, int]:
    counts = Counter(term for text in TEXTS for term in set(terms(text)))
    return {term: count for term, count in counts.items() if term in wanted or (prefix and term.startswith(prefix))}


def read(text: str, *, typing: bool = False) -> Query:
    return corrected(parse(text, typing=typing), text, parse, frequencies)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("genrator expresion", "generator expression"),
        ("the Genrator, expresion!", "the generator, expression!"),
        ("确认 genrator 表达式", "确认 generator 表达式"),
        ("configurtaion", "configuration"),
        ("confguraton 数据库 🐦", "configuration 数据库 🐦"),
        ("tabel", "table"),
        ("email", "e-mail"),
        ("nodejs", None),
        ("generator", None),
        ("xyz tab", None),
        ("zzzzzzzzzz", None),
        ("灯塔不存在", None),
        ('"genrator expresion"', None),
        ("table -genrator", None),
        ("foo.genrator.bar", None),
        ("", None),
    ],
)
def test_words_that_occur_nowhere_are_corrected_to_the_nearest_that_do(typed: str, meant: str | None) -> None:
    query = read(typed)
    assert query.corrected_text == meant
    assert query.positive_text == (typed if meant is None else meant) or query.excluded


@pytest.mark.parametrize(
    ("typed", "counts", "meant"),
    [
        ("ware", {"way": 50, "warn": 2}, "warn"),
        ("ware 仓库", {"war": 0, "way": 50, "warn": 2}, "warn 仓库"),
        ("marlw", {"marlow": 9, "mar": 1}, "marlow"),
        ("kubrnetes", {"kubernet": 3}, "kubernetes"),
        ("obsrvatoin", {"observ": 3}, "observation"),
    ],
)
def test_a_word_is_corrected_to_one_that_is_written_so_although_an_index_has_only_stems(
    typed: str, counts: dict[str, int], meant: str
) -> None:
    occurring = {term: count for term, count in counts.items() if count} | {"仓库": 1, "仓": 1, "库": 1}

    def frequencies(wanted: Sequence[str], *, prefix: str | None = None) -> Mapping[str, int]:
        return {
            term: count for term, count in occurring.items() if term in wanted or (prefix and term.startswith(prefix))
        }

    assert corrected(parse(typed), typed, parse, frequencies).corrected_text == meant


def test_the_word_that_is_being_typed_is_not_corrected() -> None:
    assert read("table genrato", typing=True).corrected_text is None
    assert read("genrator tab", typing=True).corrected_text == "generator tab"


def test_a_word_is_found_with_and_without_a_joining_character() -> None:
    for typed in ("nodejs", "node.js"):
        marks = Highlights(read(typed))
        assert [TEXTS[2][start:end] for start, end in marks(TEXTS[2])] == ["node.js"]
        assert [TEXTS[3][start:end] for start, end in marks(TEXTS[3])] == ["nodejs"]


def test_a_query_of_unknown_words_only_corrects_the_first_eight() -> None:
    query = read(" ".join(["genrator", *(f"qqqq{'abcdefghijklmnop'[n]}zzz" for n in range(14)), "expresion"]))
    assert query.corrected_text is not None
    assert query.corrected_text.startswith("generator ")
    assert query.corrected_text.endswith("expresion")


# ── in a search ──


@pytest.mark.fake_embedder
@pytest.mark.one_database
@pytest.mark.lists_terms
async def test_a_search_shows_the_correction_and_can_be_exact(app: App) -> None:
    project = await make_project(app)
    await make_document(app, project, *TEXTS)
    table = await make_table(app, project, list(TEXTS))
    await add_tool(app, table)
    await settle(app)
    for strategy in (Strategy.KEYWORD, Strategy.HYBRID):
        page = await find(app, project, "genrator expresion", strategy)
        assert page.corrected_query == "generator expression"
        assert page.results[0].snippet == TEXTS[0]
        first = page.results[0]
        assert [first.snippet[start:end] for start, end in first.highlights] == ["generator", "expression"]
        again = await find(app, project, "genrator expresion", strategy, page=1, cursor=page.cursor)
        assert again.corrected_query == page.corrected_query
        exact = await find(app, project, "genrator expresion", Strategy.KEYWORD, exact=True)
        assert (exact.results, exact.corrected_query) == ((), None)
        found = await app.table_search.search(SearchRequest(project, "genrator expresion", strategy, table.id))
        assert found.corrected_query == "generator expression"
        assert found.hits[0].found.chunk.text == TEXTS[0]
        for query in ("nodejs", "node.js"):
            page = await find(app, project, query, strategy)
            assert {each.snippet for each in page.results} >= {TEXTS[2], TEXTS[3]}
            assert page.corrected_query is None
        page = await find(app, project, "服务器 nodejs", strategy)
        assert (page.results[0].snippet, page.corrected_query) == (TEXTS[2], None)


def test_an_engine_that_does_not_know_its_terms_corrects_nothing_and_drops_joining_characters() -> None:
    def unknown(wanted: Sequence[str], *, prefix: str | None = None) -> None: ...

    for text, variants in (("node.js 服务器", {"node.js": ("nodej",)}), ("nodejs genrator", {})):
        found = corrected(parse(text), text, parse, unknown)
        assert found.corrected_text is None
        assert dict(found.variants) == variants
