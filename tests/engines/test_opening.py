"""Opening the configured engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from findspot.engines.opening import open_engine
from findspot.errors import FindspotError
from findspot.settings import Settings
from tests.engines.embedded.chunks import MODEL, NAMESPACE, chunks
from tests.turbopuffer.engines import MemoryCatalog


def test_an_index_is_opened_again_for_the_same_store_only(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    engine = open_engine(settings, "one", MemoryCatalog())
    engine.write(NAMESPACE, MODEL, chunks([1]))
    engine.close()
    engine = open_engine(settings, "one", MemoryCatalog())
    assert engine.ids(NAMESPACE).tolist() == [1]
    engine.close()
    engine = open_engine(settings, "two", MemoryCatalog())  # other chunks may have the same ids
    assert engine.ids(NAMESPACE).tolist() == []
    engine.close()


def test_an_index_whose_store_cannot_be_read_is_made_anew(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    engine = open_engine(settings, "one", MemoryCatalog())
    engine.write(NAMESPACE, MODEL, chunks([1]))
    engine.close()
    (tmp_path / "index" / "store").write_bytes(b"\x81\xff")  # damaged
    for expected in ([], [1]):
        engine = open_engine(settings, "one", MemoryCatalog())
        assert engine.ids(NAMESPACE).tolist() == expected
        engine.write(NAMESPACE, MODEL, chunks([1]))
        engine.close()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"turbopuffer_region": "aws-us-east-1"}, "TURBOPUFFER_API_KEY"),
        ({"turbopuffer_api_key": "tpuf_x"}, "TURBOPUFFER_REGION or TURBOPUFFER_BASE_URL"),
        (
            {"turbopuffer_api_key": "tpuf_x", "turbopuffer_region": "a", "turbopuffer_base_url": "http://localhost"},
            "either TURBOPUFFER_REGION or TURBOPUFFER_BASE_URL",
        ),
    ],
)
def test_turbopuffer_without_its_settings_is_unavailable(tmp_path: Path, given: dict[str, Any], reason: str) -> None:
    engine = open_engine(Settings(data=tmp_path, engine="turbopuffer", **given), "one", MemoryCatalog())
    with pytest.raises(FindspotError, match=reason) as caught:
        engine.status(NAMESPACE)
    assert (caught.value.code, "tpuf_x" in str(caught.value)) == ("ENGINE_UNAVAILABLE", False)
    assert engine.files is None
    engine.close()


def test_turbopuffer_without_its_package_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("findspot.engines.turbopuffer")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "turbopuffer", None)
    settings = Settings(data=tmp_path, engine="turbopuffer", turbopuffer_api_key="tpuf_x", turbopuffer_region="a")
    with pytest.raises(FindspotError, match=r"install findspot\[turbopuffer\]"):
        open_engine(settings, "one", MemoryCatalog()).status(NAMESPACE)
