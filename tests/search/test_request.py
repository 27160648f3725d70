"""The request that all searches share."""

from findspot.search import SearchRequest, Strategy
from findspot.search.request import MAX_QUERY_LENGTH
from findspot.words.query import LONGEST


def test_a_query_is_cut_where_the_parser_stops_reading() -> None:
    assert MAX_QUERY_LENGTH == LONGEST + 1  # one more, so that the parser sees that it was longer
    assert len(SearchRequest(1, "灯" * 1_000_000).query) == MAX_QUERY_LENGTH


def test_a_request_names_the_namespace_of_a_table_or_of_the_documents() -> None:
    assert SearchRequest(7, "x").namespace == "project_7_documents"
    assert SearchRequest(7, "x", table_id=3).namespace == "project_7_table_3"


def test_only_hybrid_searches_hide_low_scores() -> None:
    assert [SearchRequest(1, "x", strategy).hides_low_scores for strategy in Strategy] == [False, False, True]
    assert not SearchRequest(1, "x", low_scores=True).hides_low_scores
