"""Builds archives in memory, valid and hostile ones."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping


def tar_of(files: Mapping[str, bytes], *, pressed: bool = False) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in files.items():
            add(archive, name, data)
    return gzip.compress(target.getvalue()) if pressed else target.getvalue()


def add(archive: tarfile.TarFile, name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> None:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, link
    archive.addfile(info, io.BytesIO(data))


def zip_of(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()
