"""What holds for every embedder."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from findspot.embedding.calibration import RELATED, UNRELATED
from findspot.embedding.offline import OfflineEmbedder
from findspot.embedding.openai import OpenAiTransport
from findspot.embedding.protocol import Embedder
from findspot.embedding.service import Service, ServiceEmbedder
from findspot.errors import FindspotError
from findspot.runtime.embedders import LitellmTransport
from findspot.runtime.processes import SharedProcess
from tests.embedding import service

TEXTS = [
    "The cat sat on the mat.",
    "猫坐在垫子上。",
    "貓坐在墊子上，看著窗外的雨。",
    "GPT模型 and iPhone15手机 v2.3.1",
    "👩‍👩‍👧 emoji only? no 🙂",
    "cafe\u0301 na\u00efve Z\u0351\u036b\u0343alg\u0329o",
    "def f(x): return x ** 2  # snake_case camelCase",
    "one two\r\n\tthree　four\u00a0five",
]


@pytest.fixture(scope="module", params=["offline", "openai", "litellm"])
def embedder(request: pytest.FixtureRequest, litellm_process: SharedProcess) -> Iterator[Embedder]:
    if request.param == "offline":
        made: Embedder = OfflineEmbedder()
        yield made
        made.close()
        return
    with service.running() as server:
        model = "m" if request.param == "openai" else "openai/m"
        settings = Service(model, server.url, "k", service.DIMENSION, batch=3)
        if request.param == "litellm":
            yield ServiceEmbedder("litellm", settings, LitellmTransport(settings, litellm_process))
            return
        made = ServiceEmbedder("openai", settings, OpenAiTransport(settings))
        yield made
        made.close()


def test_there_is_one_row_of_length_one_for_every_text(embedder: Embedder) -> None:
    vectors = embedder.documents(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors.any(axis=1).all()


def test_no_texts_are_no_rows(embedder: Embedder) -> None:
    assert embedder.documents([]).shape == (0, embedder.dimension)


def test_a_query_has_a_vector_like_a_document(embedder: Embedder) -> None:
    vector = embedder.query(TEXTS[0])
    assert vector.shape == (embedder.dimension,)
    assert vector.dtype == np.float32
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5
    assert int(np.argmax(embedder.documents(TEXTS) @ vector)) == 0


def test_a_text_has_the_same_bits_alone_or_with_others(embedder: Embedder) -> None:
    together = embedder.documents(TEXTS)
    assert np.array_equal(together, embedder.documents(TEXTS))
    for number, text in enumerate(TEXTS):
        assert np.array_equal(embedder.documents([text])[0], together[number])


def test_vectors_come_in_the_order_of_their_texts(embedder: Embedder) -> None:
    assert np.array_equal(embedder.documents(TEXTS[::-1]), embedder.documents(TEXTS)[::-1])


def test_a_blank_text_is_all_zeros_or_refused_by_its_index(embedder: Embedder) -> None:
    texts = ["a word", " \n", "another"]
    if embedder.id == "offline":
        assert embedder.documents(texts).any(axis=1).tolist() == [True, False, True]
        return
    with pytest.raises(FindspotError) as caught:
        embedder.documents(texts)
    assert (caught.value.code, caught.value.fields["index"]) == ("INVALID_ARGUMENT", 1)


def test_many_threads_may_call_at_once(embedder: Embedder) -> None:
    expected = embedder.documents(TEXTS)
    with ThreadPoolExecutor(6) as threads:
        for vectors in threads.map(lambda _: embedder.documents(TEXTS), range(12)):
            assert np.array_equal(vectors, expected)


def test_it_has_an_id_a_fingerprint_a_batch_size_and_a_calibration(embedder: Embedder) -> None:
    assert embedder.id in ("offline", "openai/m", "litellm/openai/m")
    assert embedder.fingerprint == embedder.fingerprint
    assert embedder.batch >= 1
    calibration = embedder.calibration
    assert calibration.score(1.0) > RELATED
    assert calibration.score(0.0) < UNRELATED
