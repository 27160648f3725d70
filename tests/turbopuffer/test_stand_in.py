"""The stand-in is strict, and the engine keeps to the rules and limits that it checks."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import turbopuffer
from findspot.engines.protocol import Batch, Source
from findspot.engines.turbopuffer import rows
from findspot.engines.turbopuffer.schema import MAX_TOKEN, schema, token
from findspot.errors import FindspotError
from tests.contracts.engines import DIMENSION, MODEL, TABLE, batch, direction, found, words
from tests.turbopuffer.engines import ServiceEngines
from tests.turbopuffer.faults import Faults
from tests.turbopuffer.server import StandIn

ROW: Any = {"id": "a", "vector": [1.0, 0.0], "chunk_id": 1, "terms": ["cat", "猫"]}
SCHEMA = {
    "id": "string",
    "vector": {"type": "[2]f16", "ann": True},
    "chunk_id": "uint",
    "terms": schema(2)["terms"],
}


PINNED = schema(2)["terms"]["full_text_search"]


@pytest.fixture
def namespace(standin: StandIn) -> Iterator[Any]:
    with turbopuffer.Turbopuffer(api_key=standin.api_key, base_url=standin.url, max_retries=0) as client:
        opened = client.namespace("n")
        opened.write(upsert_rows=[ROW], schema=SCHEMA, distance_metric="cosine_distance")
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        {"rank_by": ["terms", "BM25", "cat"], "limit": 1},  # a string, although tokens are arrays
        {"rank_by": ["terms", "BM25", ["x" * 9000]], "limit": 1},
        {"rank_by": ["vector", "kNN", [1.0, 0.0]], "limit": 1},  # without filters
        {"rank_by": ["vector", "ANN", [1.0]], "limit": 1},
        {"rank_by": ["chunk_id", "asc"], "limit": 10_001},
        {"rank_by": ["chunk_id", "asc"]},
        {"rank_by": ["nothing", "asc"], "limit": 1},
        {"rank_by": ["chunk_id", "asc"], "limit": 1, "filters": ["chunk_id", "Eq", "1"]},
        {"rank_by": ["chunk_id", "asc"], "limit": 1, "filters": ["terms", "Eq", ["cat"]]},  # not filterable
        {"rank_by": ["chunk_id", "asc"], "limit": 1, "include_attributes": ["nothing"]},
        {"rank_by": ["chunk_id", "asc"], "limit": 1, "compute_attributes": {"terms": ["terms", "BM25", ["cat"]]}},
        {"aggregate_by": {"n": ["Count"], "m": ["Count"]}},
        {"aggregate_by": {"n": ["Count"]}, "limit": 1},
    ],
)
def test_a_query_that_breaks_a_rule_is_refused(namespace: Any, query: dict[str, Any]) -> None:
    with pytest.raises(turbopuffer.BadRequestError):
        namespace.multi_query(queries=[query])


@pytest.mark.parametrize(
    "write",
    [
        {"upsert_rows": [{**ROW, "id": "x" * 65}]},
        {"upsert_rows": [{**ROW, "id": 1}]},
        {"upsert_rows": [{**ROW, "vector": [1.0]}]},
        {"upsert_rows": [{"id": "b", "chunk_id": 1}]},  # without its vector
        {"upsert_rows": [{**ROW, "chunk_id": -1}]},
        {"upsert_rows": [{**ROW, "pointer": "x" * 5000}]},
        {"upsert_rows": [ROW, ROW]},
        {"schema": {"chunk_id": "string"}},
        {"schema": {"other": {"type": "[]string", "full_text_search": {**PINNED, "stemming": True}}}},
        {"schema": {"other": {"type": "[]string", "full_text_search": {**PINNED, "language": "english"}}}},
        {"patch_by_filter": {"filters": ["chunk_id", "Eq", 1], "patch": {"chunk_id": 2}}},  # not built
        {"distance_metric": "euclidean_squared"},
        {"extra_body": {"unknown": 1}},
    ],
)
def test_a_write_that_breaks_a_rule_is_refused_as_a_whole(namespace: Any, write: dict[str, Any]) -> None:
    with pytest.raises(turbopuffer.BadRequestError):
        namespace.write(**{"upsert_rows": [{**ROW, "id": "c"}], **write})
    assert namespace.metadata().approx_row_count == 1


@pytest.mark.parametrize(
    ("query", "weight"),
    [
        ({"rank_by": ["vector", "ANN", [1.0, 0.0]], "limit": 1}, 1),
        ({"rank_by": ["vector", "kNN", [1.0, 0.0]], "limit": 1, "filters": ["chunk_id", "Eq", 1]}, 2),
        ({"aggregate_by": {"n": ["Count"]}}, 4),
    ],
)
def test_exact_queries_and_counts_weigh_more(
    standin: StandIn, namespace: Any, query: dict[str, Any], weight: int
) -> None:
    namespace.multi_query(queries=[query])
    assert standin.service.heaviest == weight


def test_namespaces_are_listed_in_pages_and_need_a_key(standin: StandIn, namespace: Any) -> None:
    client = turbopuffer.Turbopuffer(api_key=standin.api_key, base_url=standin.url, max_retries=0)
    for name in ("m.1", "m.2", "m.3"):
        client.namespace(name).write(create_namespace=True, schema=SCHEMA, distance_metric="cosine_distance")
    assert [each.id for each in client.namespaces(prefix="m.", page_size=2)] == ["m.1", "m.2", "m.3"]
    with pytest.raises(turbopuffer.NotFoundError):
        client.namespace("other").write(upsert_rows=[ROW], create_namespace=False)
    with pytest.raises(turbopuffer.AuthenticationError):
        client.with_options(api_key="wrong").namespace("n").metadata()
    client.close()


def test_a_namespace_has_half_precision_and_leaves_no_choice_about_words_to_the_service(standin: StandIn) -> None:
    engine = ServiceEngines(standin).open()
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    (held,) = standin.service.namespaces.values()
    assert held.schema["vector"].type == f"[{DIMENSION}]f16"
    assert held.metric == "cosine_distance"
    chosen = {"tokenizer", "stemming", "remove_stopwords", "case_sensitive", "max_token_length", "k1", "b"}
    for name in ("terms", "title", "headings", "name"):
        assert held.schema[name].config["full_text_search"].keys() == chosen
    engine.close()


def test_deletes_go_on_until_nothing_remains(standin: StandIn) -> None:
    standin.service.max_deleted = 3
    engine = ServiceEngines(standin).open()
    engine.write(TABLE, MODEL, batch(dict.fromkeys(range(20), "cat")))
    engine.delete(TABLE, range(11))
    assert engine.ids(TABLE).tolist() == list(range(11, 20))
    engine.close()


def test_the_longest_pointers_terms_and_queries_are_taken(standin: StandIn) -> None:
    engine = ServiceEngines(standin).open()
    pointer, long = "/" + "字" * 1023, "猫" * 400
    sources = [Source(None, pointer, 300, 50, 1), Source(None, "/b", 300, 50, 1)]
    chunks = batch({1: "cat", 2: "dog"}, sources=sources)
    engine.write(TABLE, MODEL, Batch(chunks.ids, chunks.doc_ids, sources, [long, "dog"], chunks.vectors))
    assert len(token(long).encode()) <= MAX_TOKEN
    query = words(" ".join(f"word{number}" for number in range(3000)))
    for terms in ((long,), (long, *query.any_of)):
        asked = type(query)(any_of=terms)
        assert list(engine.recall(TABLE, asked, direction(1), limit=10).keyword) == [1]
    engine.close()


def test_large_batches_are_split_by_bytes() -> None:
    texts = dict.fromkeys(range(40), "x")
    chunks = batch(texts)
    heavy = Batch(chunks.ids, chunks.doc_ids, chunks.sources, ["word " * 200_000] * 40, chunks.vectors)
    parts = list(rows.parts(heavy, 1000))
    assert sum(map(len, parts)) == 40
    assert max(map(len, parts)) * 2_000_000 <= rows.MAX_BYTES + 2_000_000
    assert [len(each) for each in rows.parts(chunks, 15)] == [15, 15, 10]


def test_the_key_is_in_no_error_and_no_log(standin: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    engine = ServiceEngines(standin).open()
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    assert found(engine, "cat") == [1]
    standin.service.faults.set(Faults(status=1.0))
    with pytest.raises(FindspotError) as caught:
        engine.recall(TABLE, words("cat"), np.ones(DIMENSION, np.float32), limit=1, timeout_s=0.2)
    logging.getLogger("test").error("failed", exc_info=caught.value)
    assert caught.value.code == "ENGINE_UNAVAILABLE"
    assert standin.api_key not in caplog.text
    engine.close()
