"""Files that are cut, changed, lost or exchanged: always noticed, never believed, and healed by building anew."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from findspot.engines.embedded import namespace as namespaces
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.embedded.os_errors import is_damage
from findspot.engines.protocol import Damaged, Words
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks

FILES = {
    "manifest": "manifest.json",
    "postings": "gen-*/kept/*.idx",
    "terms": "gen-*/kept/*.term",
    "lengths": "gen-*/kept/*.fieldnorm",
    "numbers": "gen-*/kept/*.fast",
    "positions": "gen-*/kept/*.pos",
    "store": "gen-*/kept/*.store",
    "deletions": "gen-*/kept/*.del",
    "codes": "gen-*/vectors-*/codes",
    "rows": "gen-*/vectors-*/rows",
    "sources": "gen-*/vectors-*/sources",
    "dead": "gen-*/vectors-*/dead",
}


def truncated_to_nothing(file: Path) -> None:
    file.write_bytes(b"")


def cut_in_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def one_byte_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def one_bit_flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 0x10
    file.write_bytes(content)


def zeroed(file: Path) -> None:
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[: size // 4] + bytes(size - size // 4))


def missing(file: Path) -> None:
    file.unlink()


def another_one(file: Path) -> None:
    """Something of the same size that is not it: what a mixed-up restore leaves."""
    file.write_bytes(file.read_bytes()[::-1])


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES = [
    truncated_to_nothing,
    cut_in_half,
    one_byte_short,
    one_bit_flipped,
    zeroed,
    missing,
    another_one,
    a_folder,
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with several segments, deletions and replaced rows."""
    folder = tmp_path_factory.mktemp("written")
    engine = EmbeddedEngine(folder)
    engine.write(NAMESPACE, MODEL, chunks(range(200)))
    engine.write(NAMESPACE, MODEL, chunks(range(150, 300)))
    engine.delete(NAMESPACE, range(10))
    engine.close()
    return folder


@pytest.fixture
def engine_at(written: Path, tmp_path: Path) -> Iterator[Callable[[], EmbeddedEngine]]:
    """Opens a copy, each time anew."""
    shutil.copytree(written, tmp_path / "index")
    opened: list[EmbeddedEngine] = []

    def open_engine() -> EmbeddedEngine:
        while opened:
            opened.pop().close()
        opened.append(EmbeddedEngine(tmp_path / "index"))
        return opened[0]

    yield open_engine
    for engine in opened:
        engine.close()


def place(tmp_path: Path) -> Path:
    return tmp_path / "index" / "project_1" / NAMESPACE


def every_call(engine: EmbeddedEngine) -> list[Callable[[], object]]:
    vector = np.ones(DIMENSION, np.float32)
    return [
        lambda: engine.recall(NAMESPACE, Words(("mark",)), vector, limit=5),
        lambda: engine.recall(NAMESPACE, Words(("mark",)), None, limit=5),
        lambda: engine.ids(NAMESPACE),
        lambda: engine.status(NAMESPACE),
        lambda: engine.write(NAMESPACE, MODEL, chunks([1000])),
        lambda: engine.delete(NAMESPACE, [11]),
        lambda: engine.files.verify(NAMESPACE),
    ]


def healed(engine: EmbeddedEngine) -> None:
    """A build makes it whole, also with what is written and deleted in the meantime."""
    building = engine.files.build(NAMESPACE, MODEL, DIMENSION)
    building.write(chunks(range(50)))
    engine.write(NAMESPACE, MODEL, chunks([500]))
    engine.delete(NAMESPACE, [7])
    with pytest.raises(Damaged):
        engine.ids(NAMESPACE)
    building.switch()
    expected = [*range(7), *range(8, 50), 500]
    assert engine.ids(NAMESPACE).tolist() == expected
    assert sorted(engine.recall(NAMESPACE, Words(("mark",)), None, limit=900).keyword) == expected
    engine.files.verify(NAMESPACE)


def test_an_untouched_copy_is_sound(engine_at: Callable[[], EmbeddedEngine]) -> None:
    engine = engine_at()
    engine.files.verify(NAMESPACE)
    assert engine.ids(NAMESPACE).tolist() == list(range(10, 300))
    assert len(engine.recall(NAMESPACE, Words(("mark",)), None, limit=900).keyword) == 290


CASES = [(kind, damage) for kind in FILES for damage in DAMAGES if (kind, damage) != ("manifest", a_folder)]


@pytest.mark.parametrize(("kind", "damage"), CASES, ids=lambda each: getattr(each, "__name__", each))
def test_damage_is_noticed_when_the_namespace_is_opened_and_healed_by_a_build(
    engine_at: Callable[[], EmbeddedEngine], tmp_path: Path, kind: str, damage: Callable[[Path], None]
) -> None:
    file = sorted(place(tmp_path).glob(FILES[kind]))[0]
    damage(file)
    engine = engine_at()
    for call in every_call(engine):
        with pytest.raises(Damaged):
            call()
    assert engine.namespaces(1) == [NAMESPACE]
    engine = engine_at()
    with pytest.raises(Damaged):
        engine.ids(NAMESPACE)
    healed(engine)
    assert engine_at().ids(NAMESPACE).tolist() == [*range(7), *range(8, 50), 500]


@pytest.mark.parametrize("damage", [one_bit_flipped, zeroed, another_one], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "manifest"])
def test_what_is_too_much_to_read_at_once_is_found_by_verifying(
    engine_at: Callable[[], EmbeddedEngine],
    tmp_path: Path,
    kind: str,
    damage: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(namespaces, "VERIFIED_AT_OPENING", 0)
    damage(sorted(place(tmp_path).glob(FILES[kind]))[0])
    engine = engine_at()
    with pytest.raises(Damaged):
        engine.files.verify(NAMESPACE)
    for call in every_call(engine):
        with pytest.raises(Damaged):
            call()
    engine = engine_at()
    for call in every_call(engine):  # also after the process has ended
        with pytest.raises(Damaged):
            call()
    healed(engine)


@pytest.mark.parametrize("damage", [one_bit_flipped, zeroed, another_one], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "manifest"])
def test_unnoticed_damage_raises_nothing_but_damaged(
    engine_at: Callable[[], EmbeddedEngine],
    tmp_path: Path,
    kind: str,
    damage: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before it is verified, a flipped bit may go unseen; but if something fails, the reason is told."""
    monkeypatch.setattr(namespaces, "VERIFIED_AT_OPENING", 0)
    for file in place(tmp_path).glob(FILES[kind]):
        damage(file)
    engine = engine_at()
    for call in every_call(engine)[:-1]:
        try:
            call()
        except Damaged:
            continue
    with pytest.raises(Damaged):
        engine.files.verify(NAMESPACE)


def test_a_generation_that_is_gone_is_damage(engine_at: Callable[[], EmbeddedEngine], tmp_path: Path) -> None:
    shutil.rmtree(place(tmp_path) / "gen-1")
    engine = engine_at()
    with pytest.raises(Damaged):
        engine.ids(NAMESPACE)
    healed(engine)


def test_a_damaged_namespace_can_be_dropped(engine_at: Callable[[], EmbeddedEngine], tmp_path: Path) -> None:
    missing(place(tmp_path) / "manifest.json")
    engine = engine_at()
    with pytest.raises(Damaged):
        engine.ids(NAMESPACE)
    engine.drop(NAMESPACE)
    assert engine.ids(NAMESPACE).tolist() == []
    assert engine.namespaces(1) == []
    engine.write(NAMESPACE, MODEL, chunks([1]))
    assert engine.ids(NAMESPACE).tolist() == [1]


def test_what_tantivy_did_on_its_own_does_not_matter(engine_at: Callable[[], EmbeddedEngine], tmp_path: Path) -> None:
    """Its own folder is laid anew from what is kept."""
    for work in place(tmp_path).glob("gen-*/work-*"):
        shutil.rmtree(work)
        work.mkdir()
        (work / "meta.json").write_text("nonsense")
    engine = engine_at()
    assert engine.ids(NAMESPACE).tolist() == list(range(10, 300))
    engine.write(NAMESPACE, MODEL, chunks([1]))
    assert len(engine.recall(NAMESPACE, Words(("mark",)), None, limit=900).keyword) == 291


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (OSError(errno.EMFILE, "Too many open files"), False),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), True),
        (OSError(errno.EIO, "Input/output error"), True),
        (ValueError("An IO error occurred: 'No space left on device (os error 28)'"), False),
        (ValueError("IoError { io_error: Os { code: 24, kind: Uncategorized } }"), False),
        (ValueError("Data corrupted: 'footer is cut'"), True),
        (OSError("words cannot be written"), True),
        (KeyError("a slip of ours"), False),
    ],
)
def test_a_full_disk_or_too_many_files_is_no_damage(error: Exception, expected: bool) -> None:
    assert is_damage(error) is expected


# ── under an engine that has it open ──


@pytest.fixture
def open_engine(
    engine_at: Callable[[], EmbeddedEngine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> EmbeddedEngine:
    """One that has answered, and looks at all files for each answer."""
    monkeypatch.setattr(namespaces, "CHECK_EVERY_S", -1.0)
    engine = engine_at()
    assert engine.recall(NAMESPACE, Words(("mark",)), None, limit=5).keyword
    return engine


def overwritten_with_zeros(file: Path) -> None:
    """In its place: to cut a file that is mapped would end this process."""
    with file.open("r+b") as opened:
        opened.write(bytes(file.stat().st_size))


@pytest.mark.parametrize("damage", [overwritten_with_zeros, missing], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "manifest"])
@pytest.mark.parametrize("call", [0, 4], ids=["recall", "write"])
def test_damage_to_an_open_index_is_noticed_by_the_next_call(
    open_engine: EmbeddedEngine, tmp_path: Path, kind: str, damage: Callable[[Path], None], call: int
) -> None:
    damage(sorted(place(tmp_path).glob(FILES[kind]))[0])
    with pytest.raises(Damaged):
        every_call(open_engine)[call]()
    healed(open_engine)


@pytest.mark.parametrize("kind", ["postings", "terms", "lengths", "numbers", "deletions", "codes"])
def test_what_was_read_before_the_damage_was_seen_is_not_returned(
    open_engine: EmbeddedEngine, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However seldom all files are looked at: those that are read, are."""
    monkeypatch.setattr(namespaces, "CHECK_EVERY_S", 3600.0)
    overwritten_with_zeros(sorted(place(tmp_path).glob(FILES[kind]))[0])
    with pytest.raises(Damaged):
        open_engine.recall(NAMESPACE, Words(("mark",)), None, limit=5)


@pytest.mark.parametrize("damage", DAMAGES[:-1], ids=lambda damage: damage.__name__)
def test_a_manifest_is_written_anew_because_what_it_says_is_known(
    open_engine: EmbeddedEngine, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    before = (place(tmp_path) / "manifest.json").read_bytes()
    damage(place(tmp_path) / "manifest.json")
    assert open_engine.recall(NAMESPACE, Words(("mark",)), None, limit=5).keyword
    assert (place(tmp_path) / "manifest.json").read_bytes() == before


def test_a_file_that_is_touched_and_still_the_same_is_no_damage(open_engine: EmbeddedEngine, tmp_path: Path) -> None:
    for file in place(tmp_path).rglob("*.*"):
        os.utime(file, (1, 1))
    assert len(open_engine.recall(NAMESPACE, Words(("mark",)), None, limit=900).keyword) == 290
    open_engine.files.verify(NAMESPACE)


@pytest.mark.parametrize("is_open", [True, False])
def test_a_folder_that_is_gone_is_damage_until_it_is_built_anew(
    open_engine: EmbeddedEngine, tmp_path: Path, is_open: bool
) -> None:
    if not is_open:
        open_engine._namespaces.get(NAMESPACE).close()
    shutil.rmtree(tmp_path / "index")
    with pytest.raises(Damaged):
        open_engine.recall(NAMESPACE, Words(("mark",)), None, limit=5)
    healed(open_engine)


def test_readers_beside_a_writer_see_no_damage(open_engine: EmbeddedEngine) -> None:
    """Files grow, come and go under them, as they should."""
    vector = np.ones(DIMENSION, np.float32)
    over = threading.Event()

    def read() -> int:
        rounds = 0
        while not over.is_set():
            assert open_engine.recall(NAMESPACE, Words(("mark",)), vector, limit=5).keyword
            rounds += 1
        return rounds

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(read) for _ in range(2)]
        try:
            for start in range(1000, 1008):
                open_engine.write(NAMESPACE, MODEL, chunks(range(start, start + 5)))
                open_engine.delete(NAMESPACE, [start])
        finally:
            over.set()
        assert all(reader.result() for reader in readers)
