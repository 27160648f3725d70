"""A write or build that fails, for example because the disk is full, changes nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import tantivy

from findspot.engines.embedded import manifest
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.embedded.keyword_index import KeywordIndex
from findspot.engines.embedded.rows import Rows
from findspot.engines.protocol import Abandoned, Damaged
from findspot.errors import FindspotError
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks, with_word

STEPS = [
    (KeywordIndex, "add"),
    (KeywordIndex, "commit"),
    (KeywordIndex, "retain"),
    (Rows, "append"),
    (manifest, "write"),
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(tmp_path)
    yield engine
    engine.close()


def disk_full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("where", "step"), STEPS)
def test_a_failed_write_changes_nothing_and_readers_need_no_disk_space(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, where: object, step: str
) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(20)))
    with monkeypatch.context() as patch:
        patch.setattr(where, step, disk_full)
        patch.setattr(KeywordIndex, "restore", disk_full)  # the index cannot be reopened either
        for change in (chunks(range(10, 30), "other"), chunks([99])):
            with pytest.raises(FindspotError, match="No space left"):
                engine.write(NAMESPACE, MODEL, change)
            assert set(engine.ids(NAMESPACE).tolist()) == with_word(engine) == set(range(20))
            assert with_word(engine, "other") == set()
            engine.files.verify(NAMESPACE)
    engine.write(NAMESPACE, MODEL, chunks(range(10, 30), "other"))
    assert (with_word(engine), with_word(engine, "other")) == (set(range(10)), set(range(10, 30)))
    engine.files.verify(NAMESPACE)


@pytest.mark.parametrize(("where", "step"), STEPS)
def test_a_failed_build_is_abandoned(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: object, step: str
) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(20)))
    build = engine.build(NAMESPACE, MODEL, DIMENSION)

    def finish() -> None:
        build.write(chunks(range(5)))
        build.switch()

    with monkeypatch.context() as patch:
        patch.setattr(where, step, disk_full)
        with pytest.raises(FindspotError, match="No space left"):
            finish()
    with pytest.raises(Abandoned):
        build.switch()
    engine.write(NAMESPACE, MODEL, chunks([20]))
    assert with_word(engine) == set(range(21))
    assert [each.name for each in (tmp_path / "project_1" / NAMESPACE).glob("gen-*")] == ["gen-1"]


def test_damage_is_detected_after_a_failed_write(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(20)))
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "write", disk_full)
        with pytest.raises(FindspotError, match="No space"):
            engine.write(NAMESPACE, MODEL, chunks([20]))
    (codes,) = (tmp_path / "project_1" / NAMESPACE).glob("gen-*/vectors-*/codes")
    content = codes.read_bytes()
    codes.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(Damaged):
        with_word(engine)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("An IO error occurred: 'No space left on device (os error 28) at path \"/a\"'", "No space left on device"),
        ("An error occurred in a thread: 'An index writer was killed.'", "the disk may be full"),
    ],
)
def test_an_error_of_tantivy_is_reported_with_its_reason_and_without_a_path(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, message: str, reason: str
) -> None:
    class FailingWriter:
        def add_document(self, _: object) -> None:
            raise ValueError(message)

    monkeypatch.setattr(tantivy.Index, "writer", lambda *_: FailingWriter(), raising=False)
    with pytest.raises(FindspotError, match=f"The index cannot be used: {reason}. Saved content is safe") as caught:
        engine.write(NAMESPACE, MODEL, chunks([1]))
    assert (caught.value.code, "/" in str(caught.value)) == ("ENGINE_UNAVAILABLE", False)
