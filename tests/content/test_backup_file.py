"""The file format of backups: whatever is incomplete, damaged or forged is refused."""

import hashlib
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from findspot.content import backup as backups
from findspot.content import backup_file
from findspot.content.backup_file import BadBackup, Block, Header, Writer, pack
from findspot.models import TableShape
from findspot.store.schema import chunks
from tests.content.backups import NAMES, PROJECT, block, encoded_rows, forged, frames_of, header, shape


def refused(data: bytes, folder: Path) -> str:
    file = folder / "wrong.backup"
    file.write_bytes(data)
    with pytest.raises(BadBackup) as reason:
        backups.verify(file)
    return str(reason.value)


def test_a_truncated_backup_is_refused(whole: bytes, tmp_path: Path) -> None:
    assert "not a Findspot backup" in refused(b"", tmp_path)
    for length in {*range(1, 80), *range(80, len(whole), 17), *range(len(whole) - 50, len(whole))}:
        assert "cut off" in refused(whole[:length], tmp_path), length


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=strategies.data())
def test_a_backup_with_a_changed_byte_is_refused(whole: bytes, tmp_path: Path, data: strategies.DataObject) -> None:
    at = data.draw(strategies.integers(0, len(whole) - 1))
    flipped = data.draw(strategies.integers(1, 255))
    altered = bytearray(whole)
    altered[at] ^= flipped
    assert refused(bytes(altered), tmp_path)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(noise=strategies.binary(max_size=300))
def test_random_bytes_are_refused(whole: bytes, tmp_path: Path, noise: bytes) -> None:
    assert refused(noise, tmp_path)
    assert refused(whole[:18] + noise, tmp_path)
    if noise:
        assert f"{len(noise)} bytes follow its end" in refused(whole + noise, tmp_path)


def test_missing_repeated_or_swapped_frames_are_refused(whole: bytes, tmp_path: Path) -> None:
    start, frames = whole[: len(backup_file.MAGIC) + 1], frames_of(whole)
    assert start + b"".join(frames) == whole
    for at in range(len(frames) - 1):
        one, other = frames[at : at + 2]
        for instead in ([other, one], [other], [one, one, other]):
            assert refused(start + b"".join([*frames[:at], *instead, *frames[at + 2 :]]), tmp_path)


def test_frames_of_two_backups_are_refused(whole: bytes, tmp_path: Path) -> None:
    frames = frames_of(whole)
    writer = Writer(header())
    other = frames_of(writer.begin() + writer.end())
    start = whole[: len(backup_file.MAGIC) + 1]
    assert "altered" in refused(start + other[0] + b"".join(frames[1:]), tmp_path)


def test_a_forged_file_without_errors_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(forged(block("projects", encoded_rows(PROJECT))))
    assert backups.verify(tmp_path / "a").rows["projects"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        block("projects", encoded_rows((1, "p"))),
        block("projects", encoded_rows((*PROJECT, 1))),
        block("projects", encoded_rows(("1", "p", PROJECT[2]))),
        block("projects", encoded_rows((2**63, "p", PROJECT[2]))),
        block("projects", encoded_rows((1, b"p", PROJECT[2]))),
        block("projects", encoded_rows((1, "p", "2026-01-01"))),
        block("projects", encoded_rows({"id": 1})),
        block("projects", encoded_rows(PROJECT) + b"\xc0"),
        block("projects", encoded_rows(PROJECT)[:-1]),
        block("projects", encoded_rows(PROJECT), count=2),
        block("projects", encoded_rows()),
        block("projects", b"\xc0"),
        block("projects", b"\x91" * 200_000),
        block("projects", backup_file.LIST_HEAD.pack(backup_file.LIST, 2**32 - 1)),
        block("projects", encoded_rows(PROJECT), size=5),
        block("projects", encoded_rows(PROJECT), size=2**30),
        block("projects", encoded_rows(PROJECT), size=2**32 - 1),
        Block(NAMES.index("projects"), 1, 20, b"this was never packed"),
        block(
            "keys", encoded_rows(*[(n, 1, "k", "read", str(n), "", PROJECT[2]) for n in range(80_000)]), count=80_000
        ),
    ],
)
def test_a_block_without_valid_rows_of_its_table_is_refused(wrong: Block, tmp_path: Path) -> None:
    assert "altered" in refused(forged(wrong), tmp_path)


def test_a_block_that_unpacks_to_more_than_announced_is_refused_early(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(100_000_000), 9)
    data = forged(Block(NAMES.index("pieces"), 1, 1000, bomb))
    tracemalloc.start()
    try:
        assert "altered" in refused(data, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_tables_out_of_order_or_out_of_range_are_refused(tmp_path: Path) -> None:
    project = block("projects", encoded_rows(PROJECT))
    key = block("keys", encoded_rows((1, 1, "k", "read", "h", "", PROJECT[2])))
    (tmp_path / "a").write_bytes(forged(project, key))
    assert backups.verify(tmp_path / "a").rows["keys"] == 1
    assert "altered" in refused(forged(key, project), tmp_path)
    writer = Writer(header())
    begun = writer.begin()
    writer._rows.append(0)
    assert "altered" in refused(begun + writer.seal(Block(len(NAMES), 1, 1, b"x")), tmp_path)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (header(schema="9999"), "made by a newer Findspot"),
        (header(schema="0000"), "an unknown schema"),
        (header(tables=header().tables[1:4]), "its tables are not those of schema"),
        (header(tables=(*header().tables, TableShape("sqlite_master", (), None))), "its tables are not those"),
        (header(tables=(*header().tables, shape(chunks))), "its tables are not those of schema"),
        (header(tables=(TableShape('x" DROP', (), None),)), "its tables are not those of schema"),
    ],
)
def test_a_backup_with_unknown_tables_or_schema_is_refused(changed: Header, sentence: str, tmp_path: Path) -> None:
    assert sentence in refused(forged(given=changed), tmp_path)


def test_a_backup_of_a_newer_format_is_refused(whole: bytes, tmp_path: Path) -> None:
    later = whole[: len(backup_file.MAGIC)] + b"\x02" + whole[len(backup_file.MAGIC) + 1 :]
    assert "has the format 2" in refused(later, tmp_path)


def test_the_format_is_the_one_in_the_documentation() -> None:
    """Decodes a backup by the description in docs/backup.md."""
    data = forged(*pack(NAMES.index("projects"), [PROJECT]))
    assert data.startswith(b"\x89findspot backup\r\n\x1a\n\x01")
    at, digest, kinds = 21, hashlib.sha256(data[:21]), b""
    while at < len(data):
        length, size = int.from_bytes(data[at + 3 : at + 7]), int.from_bytes(data[at + 7 : at + 11])
        kinds += data[at : at + 1]
        body = data[at + 11 : at + 11 + length]
        assert len(zlib.decompress(body)) == size
        digest.update(data[at : at + 11 + length])
        at += 11 + length + 32
        assert data[at - 32 : at] == digest.digest()
    assert kinds == b"HRE"
