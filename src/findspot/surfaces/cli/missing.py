"""Find what was imported from files that their folders do not have any more, and delete it."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from findspot.surfaces.cli.connect import Api
from findspot.surfaces.cli.input_files import InputFiles

_AT_ONCE = 500


class Missing:
    """The missing files of the roots of an import. A root that is not known completely has none."""

    def __init__(self, api: Api, project_id: int, parts: Sequence[InputFiles]) -> None:
        self._api = api
        self._url = f"/api/v1/projects/{project_id}/import"
        self._paths: dict[str, set[str]] = {}
        self._has_missing: set[str] = set()
        incomplete = {part.root for part in parts if part.paths is None}
        for part in parts:
            if part.root is not None and part.paths and part.root not in incomplete:
                self._paths.setdefault(part.root, set()).update(part.paths)

    async def compare(self) -> list[dict[str, Any]]:
        """Tell the server which files each folder has, so that it recognises renamed ones. Return what is missing."""
        found: list[dict[str, Any]] = []
        for root, paths in self._paths.items():
            body = {"root": root, "paths": sorted(paths)}
            missing = (await self._api.call("POST", f"{self._url}/compare", json=body))["missing"]
            if missing:
                self._has_missing.add(root)
            found += [{"root": root, **each} for each in missing]
        return found

    async def still_missing(self) -> list[dict[str, Any]]:
        """Return what is missing after the import, in which renamed files were recognised."""
        self._paths = {root: self._paths[root] for root in self._has_missing}
        return await self.compare()

    async def prune(self, files: Sequence[dict[str, Any]]) -> AsyncIterator[int]:
        """Delete what came from missing files, and yield after each request how many were deleted."""
        for root in self._paths:
            paths = [each["path"] for each in files if each["root"] == root]
            for start in range(0, len(paths), _AT_ONCE):
                body = {"root": root, "paths": paths[start : start + _AT_ONCE]}
                yield int((await self._api.call("POST", f"{self._url}/prune", json=body))["deleted"])
