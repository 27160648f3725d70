"""Reading hostile archives: bad entries are reported, good ones are read, and memory stays bounded."""

import gzip
import io
import os
import random
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from typing import BinaryIO, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.sources.archives import ArchiveError, Limits, format_of, open_archive
from findspot.sources.files import File, Skipped
from findspot.sources.limits import THE_ARCHIVE
from findspot.sources.segmented_file import SegmentedFile
from tests.archives import add, tar_of, zip_of

LIMITS = Limits(entries=50, file=10_000, total=100_000)
GOOD = {"a.md": b"# A", "筆記/第三章.md": "第三章".encode(), "x/👩‍👩‍👧.json": b"[1]", "b.txt": b"b" * 2000}


def read(data: bytes, limits: Limits = LIMITS) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files of an archive by path, and the reasons for the skipped ones."""
    archive = open_archive(io.BytesIO(data), limits)
    assert archive is not None
    files, skipped = {}, {}
    for each in archive.files:
        if isinstance(each, File):
            assert each.path not in files
            files[each.path] = each.data
        else:
            skipped[each.name] = each.reason
    return files, skipped


def make_tar(*entries: tuple[str, bytes, str], format: int = tarfile.PAX_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=format) as archive:
        for name, kind, link in entries:
            add(archive, name, b"x" if kind == tarfile.REGTYPE else b"", kind, link)
    return target.getvalue()


@pytest.mark.parametrize("pack", [zip_of, tar_of, lambda files: tar_of(files, pressed=True)])
def test_files_are_read_from_every_archive_format(pack: object) -> None:
    data = pack(GOOD)  # type: ignore[operator]
    assert read(data) == (GOOD, {})
    split = [data[start : start + 7] for start in range(0, len(data), 7)]
    archive = open_archive(cast(BinaryIO, io.BufferedReader(SegmentedFile(split))), LIMITS)
    assert archive is not None
    assert {each.path: each.data for each in archive.files if isinstance(each, File)} == GOOD


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_tar_format_is_read(format: int) -> None:
    long = "folder/" * 14 + "name.md"
    assert set(read(make_tar((long, tarfile.REGTYPE, ""), ("d", tarfile.DIRTYPE, ""), format=format))[0]) == {long}


def test_other_files_are_not_taken_for_archives() -> None:
    for data in (b"", b"# Markdown", b"{}", b"P", b"ustar" * 200):
        assert open_archive(io.BytesIO(data), LIMITS) is None
    assert [format_of(each) for each in (zip_of({}), tar_of(GOOD)[:512], gzip.compress(b""))] == ["zip", "tar", "gzip"]


HOSTILE = {
    "../up.md": "'..'",
    "a/../../up.md": "'..'",
    "/abs.md": "absolute",
    "C:/drive.md": "absolute",
    "back\\slash.md": "backslash",
    "x" * 300 + ".md": "too long",
    "line\nbreak.md": "control",
    "a.exe": ".exe files",
    "nested.zip": "archive inside",
}


@pytest.mark.parametrize("pack", [zip_of, tar_of])
def test_entries_with_unsafe_names_are_skipped_and_the_rest_is_read(pack: object) -> None:
    files, skipped = read(pack({**dict.fromkeys(HOSTILE, b"x"), "good.md": b"x"}))  # type: ignore[operator]
    assert files == {"good.md": b"x"}
    assert len(skipped) == len(HOSTILE)
    for reason, why in zip(skipped.values(), HOSTILE.values(), strict=True):
        assert why in reason


def test_a_hidden_folder_is_reported_once() -> None:
    names = ("__MACOSX/a.md", "__MACOSX/b.md", ".git/c.md", ".DS_Store", "good.md")
    for pack in (zip_of, tar_of):
        files, skipped = read(pack(dict.fromkeys(names, b"x")))
        assert list(files) == ["good.md"]
        assert set(skipped) == {"__MACOSX/", ".git/", ".DS_Store"}


def test_links_and_devices_in_a_tar_are_skipped() -> None:
    kinds = {"l.md": tarfile.SYMTYPE, "h.md": tarfile.LNKTYPE, "c.md": tarfile.CHRTYPE, "f.md": tarfile.FIFOTYPE}
    data = make_tar(*((name, kind, "/etc/passwd") for name, kind in kinds.items()), ("good.md", tarfile.REGTYPE, ""))
    files, skipped = read(data)
    assert (list(files), set(skipped)) == (["good.md"], set(kinds))
    assert "link" in skipped["l.md"]


def test_links_encrypted_entries_and_unsupported_compression_in_a_zip_are_skipped() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        link = zipfile.ZipInfo("link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("pressed.md", b"x" * 100, zipfile.ZIP_LZMA)
        archive.writestr("secret.md", b"x")
        archive.writestr("good.md", b"x")
    data = bytearray(target.getvalue())
    for signature, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):  # set the mark of encryption
        at = data.find(signature, 0)
        while data[at + (46 if flags == 8 else 30) :][:9] != b"secret.md":
            at = data.find(signature, at + 1)
        data[at + flags] |= 1
    files, skipped = read(bytes(data))
    assert list(files) == ["good.md"]
    assert "link" in skipped.pop("link.md")
    assert "compression method" in skipped.pop("pressed.md")
    assert "encrypted" in skipped.pop("secret.md")
    assert skipped == {}


def test_the_first_of_two_files_with_the_same_name_is_imported() -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name in ("a.md", "./a.md", "e\u0301.md", "\u00e9.md"):
            add(archive, name, name.encode())
    files, skipped = read(target.getvalue())
    assert files == {"a.md": b"a.md", "\u00e9.md": "e\u0301.md".encode()}
    assert all("same name" in reason for reason in skipped.values())


def test_names_that_are_not_in_utf_8_are_skipped() -> None:
    name = "山海经.md".encode("gb18030")
    placeholder = b"x" * (len(name) - 3) + b".md"
    for pack in (zip_of, lambda files: _ustar(files)):
        data = pack({placeholder.decode(): b"x", "good.md": b"x"})
        files, skipped = read(_renamed(data, placeholder, name))
        assert list(files) == ["good.md"]
        assert "UTF-8" in next(iter(skipped.values()))


def _ustar(files: dict[str, bytes]) -> bytes:
    return make_tar(*((name, tarfile.REGTYPE, "") for name in files), format=tarfile.USTAR_FORMAT)


def _renamed(data: bytes, old: bytes, new: bytes) -> bytes:
    changed = bytearray(data.replace(old, new))
    if format_of(data) == "tar":
        block = bytearray(changed[:512])
        block[148:156] = b" " * 8
        changed[148:156] = b"%06o\0 " % sum(block)
    return bytes(changed)


def test_a_file_over_the_limit_is_skipped_even_if_its_header_lies() -> None:
    big = {"big.md": b"x" * (LIMITS.file + 1), "good.md": b"x"}
    for data in (zip_of(big), tar_of(big)):
        files, skipped = read(data)
        assert (list(files), list(skipped)) == (["good.md"], ["big.md"])
    lying = bytearray(zip_of({"big.md": b"x" * 1_000_000, "good.md": b"x"}))
    at = lying.find(b"PK\x01\x02")
    lying[at + 24 : at + 28] = struct.pack("<L", 5)  # the central directory claims five bytes
    files, skipped = read(bytes(lying))
    assert (list(files), list(skipped)) == (["good.md"], ["big.md"])


def test_an_archive_is_read_only_up_to_the_total_limit() -> None:
    bomb = {f"{number}.md": b"x" * 9000 for number in range(40)}
    for data in (zip_of(bomb), tar_of(bomb, pressed=True)):
        files, skipped = read(data)
        assert 0 < len(files) <= LIMITS.total // 9000
        assert list(skipped) == [THE_ARCHIVE]


def test_skipped_bytes_of_a_bomb_count_toward_the_limit() -> None:
    data = gzip.compress(make_tar(("a.md", tarfile.REGTYPE, ""))[:1024] + tar_of({"b.bin": bytes(50_000_000)}))
    tracemalloc.start()
    files, skipped = read(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (list(files), THE_ARCHIVE in skipped) == (["a.md"], True)
    assert peak < 5_000_000


def test_an_extended_header_of_megabytes_is_not_loaded() -> None:
    huge = tarfile.TarInfo("pax")
    huge.type, huge.size = tarfile.XHDTYPE, 20_000_000
    data = gzip.compress(tar_of({"a.md": b"x"})[:1024] + huge.tobuf(tarfile.USTAR_FORMAT) + bytes(20_000_000))
    files, skipped = read(data, Limits(50, 10_000, 10**9))
    assert list(files) == ["a.md"]
    assert "extended header" in skipped[THE_ARCHIVE]


def test_too_many_entries_are_refused() -> None:
    many = {f"{number}.md": b"x" for number in range(LIMITS.entries + 1)}
    with pytest.raises(ArchiveError, match="more than 50 entries"):
        read(zip_of(many))
    files, skipped = read(tar_of(many))
    assert (len(files), "50 entries" in skipped[THE_ARCHIVE]) == (50, True)


def test_a_zip_whose_entries_overlap_is_refused() -> None:
    data = bytearray(zip_of({"a.md": b"x" * 100, "b.md": b"y" * 100}))
    second = data.find(b"PK\x01\x02", data.find(b"PK\x01\x02") + 1)
    data[second + 42 : second + 46] = bytes(4)  # both begin where the first does
    with pytest.raises(ArchiveError, match="overlap"):
        read(bytes(data))


def test_the_files_before_the_cut_of_a_truncated_tar_are_read() -> None:
    whole = tar_of({"a.md": b"a" * 1000, "b.md": b"b" * 1000})
    in_the_header, in_the_file = 1536 + 200, 1536 + 512 + 100
    for data in (whole[:in_the_header], whole[:in_the_file], gzip.compress(whole[:in_the_file])):
        files, skipped = read(data)
        assert files == {"a.md": b"a" * 1000}
        assert "ends in the middle" in skipped[THE_ARCHIVE]
    pressed = tar_of({"a.md": b"a" * 1000, "b.md": os.urandom(5000)}, pressed=True)
    files, skipped = read(pressed[:3000])
    assert (list(files), "incomplete" in skipped[THE_ARCHIVE]) == (["a.md"], True)


def test_a_truncated_zip_is_refused() -> None:
    whole = zip_of(GOOD)
    for cut in (10, 40, len(whole) // 2, len(whole) - 1):
        with pytest.raises(ArchiveError, match="incomplete"):
            read(whole[:cut])


def test_a_damaged_file_in_a_zip_is_skipped() -> None:
    data = bytearray(zip_of({"a.md": os.urandom(500), "good.md": b"x"}))
    data[100] ^= 0xFF
    files, skipped = read(bytes(data))
    assert (list(files), "damaged" in skipped["a.md"]) == (["good.md"], True)


def test_gzip_without_a_tar_inside_is_refused() -> None:
    for data in (gzip.compress(b"# Markdown"), gzip.compress(b"x" * 5000)[:20], b"\x1f\x8b" + bytes(20)):
        with pytest.raises(ArchiveError, match=r"not a tar archive|decompressed"):
            read(data)


@settings(max_examples=150)
@given(st.sampled_from(["zip", "tar", "gzip"]), st.integers(0, 2**32))
def test_random_damage_raises_no_other_error(kind: str, seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(zip_of(GOOD) if kind == "zip" else tar_of(GOOD, pressed=kind == "gzip"))
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    try:
        archive = open_archive(io.BytesIO(bytes(data)), LIMITS)
    except ArchiveError:
        return
    for each in archive.files if archive else ():
        assert isinstance(each, File | Skipped)
