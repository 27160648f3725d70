"""How the built client is served: its pages, files and headers, with and without a build."""

from pathlib import Path

import httpx2
import pytest

from findspot.surfaces.web import client

pytestmark = pytest.mark.one_database


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the real build."""
    folder = tmp_path / "built"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>the client</title>")
    (folder / "assets" / "index-1a2b.js").write_text("export {}")
    (folder / "assets" / "notes.txt").write_text("no part of the client")
    (folder / "secret.js").write_text("outside of assets")
    monkeypatch.setattr(client, "BUILT", folder)
    return folder


async def test_every_address_of_the_client_answers_its_page_with_a_strict_policy(
    owner: httpx2.AsyncClient, built: Path
) -> None:
    for address in ("/", "/projects/1", "/projects/1/documents/2?at=3"):
        answer = await owner.get(address)
        assert "the client" in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy


async def test_a_file_of_the_client_is_kept_by_browsers(owner: httpx2.AsyncClient, built: Path) -> None:
    answer = await owner.get("/assets/index-1a2b.js")
    assert (answer.status_code, answer.text) == (200, "export {}")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("name", ["missing.js", "notes.txt", "..%2Fsecret.js", "%2e%2e%2fsecret.js", "a%00.js", "."])
async def test_no_other_file_is_served(owner: httpx2.AsyncClient, built: Path, name: str) -> None:
    assert (await owner.get(f"/assets/{name}")).status_code == 404


async def test_without_a_build_the_page_says_how_to_get_it(
    owner: httpx2.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "BUILT", tmp_path / "nothing")
    answer = await owner.get("/")
    assert "make web" in answer.text
    assert "网页客户端" in answer.text
    assert "unsafe" not in answer.headers["content-security-policy"]
