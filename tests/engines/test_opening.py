"""Opening the configured engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.engines.opening import open_engine
from findspot.errors import FindspotError
from findspot.settings import Settings
from tests.engines.embedded.chunks import MODEL, NAMESPACE, chunks


def test_an_index_is_opened_again_for_the_same_store_only(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    engine = open_engine(settings, "one")
    engine.write(NAMESPACE, MODEL, chunks([1]))
    engine.close()
    engine = open_engine(settings, "one")
    assert engine.ids(NAMESPACE).tolist() == [1]
    engine.close()
    engine = open_engine(settings, "two")  # other chunks may have the same ids
    assert engine.ids(NAMESPACE).tolist() == []
    engine.close()


def test_an_engine_that_is_not_implemented_is_unavailable(tmp_path: Path) -> None:
    engine = open_engine(Settings(data=tmp_path, engine="turbopuffer"), "one")
    with pytest.raises(FindspotError, match="no engine 'turbopuffer'") as caught:
        engine.status(NAMESPACE)
    assert caught.value.code == "ENGINE_UNAVAILABLE"
    assert engine.files is None
    engine.close()
