"""The query of an editing context."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.retrieval.queries import LONGEST, RARE, current_sentence, focused, names
from findspot.retrieval.request import EditingContext
from findspot.words import parse


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            "Night fell over the town. He walked back to the abandoned",
            " warehouse by the quay. Nobody was there.",
            "He walked back to the abandoned warehouse by the quay.",
        ),
        (
            "夜色渐深，街上没有人。林远裹紧大衣，再次来到那座废弃的仓库门前，",
            "心跳得很快。远处传来狗叫。",
            "林远裹紧大衣，再次来到那座废弃的仓库门前，心跳得很快。",
        ),
        (
            "He opened the iron door of the warehouse. ",
            "Later, it rained.",
            "He opened the iron door of the warehouse.",
        ),
        ("", "The first sentence of the whole document. Another one.", "The first sentence of the whole document."),
        ("", "", ""),
        ("第一段说的是别的事情。\n\n第二段从这里开始，说的是码头上的仓库", "", "第二段从这里开始，说的是码头上的仓库"),
    ],
)
def test_the_sentence_around_the_cursor_is_the_query(before: str, after: str, sentence: str) -> None:
    assert current_sentence(EditingContext(1, before, after)) == sentence


def test_a_short_sentence_gets_the_one_before_it() -> None:
    found = current_sentence(EditingContext(1, "Mara reached the abandoned warehouse. She waited. ", ""))
    assert found == "Mara reached the abandoned warehouse. She waited."


@given(st.text(max_size=4000), st.text(max_size=4000))
def test_any_text_has_a_short_query(before: str, after: str) -> None:
    assert len(current_sentence(EditingContext(1, before, after))) <= LONGEST


def test_quoted_words_and_capitalised_words_inside_a_sentence_are_names() -> None:
    assert list(names("Then Mara Voss met Idris at “the old quay”.")) == ["the old quay", "Then Mara Voss", "Idris"]
    assert list(names("At dusk Mara met Idris at “the old quay”.")) == ["the old quay", "Mara", "Idris"]
    assert list(names("他在《潮汐》里写到「废弃仓库」和NASA。")) == ["潮汐", "废弃仓库", "NASA"]
    assert list(names("Nothing here is a name.")) == []


def test_the_words_are_names_and_the_rarest_others_while_the_meaning_is_that_of_the_sentence() -> None:
    sentence = "the keeper walked slowly along a wide road toward Idris and seven small quiet grey stone houses"
    query, of_names = parse(sentence), parse("Idris")
    frequencies = {term: 100 + at for at, term in enumerate(query.content_terms)}
    frequencies["idri"] = frequencies["idris"] = 5000
    found = focused(query, of_names, frequencies)
    assert found.positive_text == sentence
    assert set(of_names.content_terms) <= set(found.content_terms)
    rarest = [term for term in query.content_terms if term not in of_names.content_terms][:RARE]
    assert set(found.content_terms) == {*of_names.content_terms, *rarest}
    assert found.terms == found.complete_terms == found.content_terms


def test_all_words_stay_if_the_engine_does_not_know_its_terms() -> None:
    query, of_names = parse("He told Idris about 废弃仓库"), parse("Idris Quay")
    found = focused(query, of_names, None)
    assert set(found.content_terms) == {*query.content_terms, *of_names.content_terms}
    assert (found.terms, found.positive_text) == (found.content_terms, query.positive_text)


def test_words_that_occur_nowhere_are_left_out() -> None:
    query = parse("废弃仓库的 zeppelin")
    known = {term: 3 for term in query.content_terms if not term.startswith("zep")}
    found = focused(query, parse(""), known)
    assert found.content_terms
    assert not any(term.startswith("zep") for term in found.content_terms)
    assert focused(query, parse(""), {}) == replace(query, terms=(), content_terms=(), complete_terms=())
