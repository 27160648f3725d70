"""The documentation is up to date: reference pages match the code, links work, and what pages name exists."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from findspot.errors import KINDS
from findspot.runtime import metrics
from findspot.settings import Settings
from findspot.surfaces.cli import reference
from findspot.surfaces.cli.failure import EXIT_CODES
from findspot.surfaces.http.request_log import Metrics
from findspot.surfaces.http.rules import RULES

ROOT = Path(__file__).resolve().parent.parent
pages = cache(reference.pages)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
_SOURCE_FILE = re.compile(
    r"(?:src|docs|tests|bench|deploy|web|requirements|native|\.ci)/[\w./-]*|[\w./-]+\.(?:py|c|h|tsx?|sh|npy|spm)"
)
_SETTING = re.compile(r"\b(?:FINDSPOT|SEARCH|TURBOPUFFER)_[A-Z_]*[A-Z]\b")
_MAKE = re.compile(r"(?:^|`)make ([a-z-]+)", re.MULTILINE)
_OF_CLIENTS = {"FINDSPOT_URL", "FINDSPOT_KEY", "FINDSPOT_MCP_URL"}  # read by commands, not by a server
_OF_READERS = {"agent.py", "deploy/.env"}  # files that a page tells its reader to make


# ── reference pages ──


@pytest.mark.parametrize("name", pages())
def test_a_reference_page_matches_the_code(name: str) -> None:
    file = ROOT / "docs" / name
    assert file.exists(), f"docs/{name} is missing; run make docs"
    assert file.read_text(encoding="utf-8") == pages()[name], f"docs/{name} is out of date; run make docs"


def test_every_setting_has_a_description_and_is_on_its_page() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for name, field in Settings.model_fields.items():
        assert field.description, f"{name} has no description"
        assert f"| `{field.alias}` |" in page, f"docs/settings.md lacks {field.alias}; run make docs"
    assert "## Others" not in page, "a setting is above the first heading of settings.py"


def test_every_error_route_and_exit_code_is_on_its_page() -> None:
    made = pages()
    assert [code for code in KINDS if f"| `{code}` |" not in made["errors.md"]] == []
    assert [code for code in EXIT_CODES if f"| {code} | " not in made["cli.md"]] == []
    paths = {rule.split(" ")[1] for rule in RULES}
    assert [path for path in paths if not re.search(rf"\| `{re.escape(path)}[?`]", made["api.md"])] == []
    assert sum(
        made["api.md"].count(f"\n| {method} |") for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
    ) == len(RULES)


def test_every_route_has_a_description() -> None:
    assert [line for line in pages()["api.md"].splitlines() if line.endswith("|  |")] == []


def test_reference_pages_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    elsewhere = {
        "COLUMNS": "40", "TERM": "xterm-256color", "FORCE_COLOR": "1", "LANG": "C", "HOME": str(tmp_path),
        "FINDSPOT_PORT": "1", "FINDSPOT_DATA": "/elsewhere", "SEARCH_DEFAULT_TOP_K": "not even a number",
        "FINDSPOT_URL": "http://elsewhere", "FINDSPOT_KEY": "k",
    }  # fmt: skip
    command = [sys.executable, "-m", "findspot.surfaces.cli.reference", str(tmp_path / "docs")]
    subprocess.run(command, env={**os.environ, **elsewhere}, cwd=tmp_path, check=True)
    written = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "docs").iterdir()}
    assert written == pages()
    assert not any(str(ROOT) in text or str(Path.home()) in text for text in written.values())


def test_the_notice_names_everything_that_others_made() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    folders = [folder for folder in (ROOT / "tests" / "fixtures").iterdir() if folder.is_dir()]
    licensed = [file.parent for file in (ROOT / "src").rglob("*LICENSE*")]
    names = [folder.relative_to(ROOT).as_posix().removesuffix("/data") for folder in (*folders, *licensed)]
    assert [name for name in names if name not in notice] == []


# ── links ──


def markdown_files() -> list[Path]:
    """Return the project's own Markdown files, without those of packages and tools."""
    foreign = {"node_modules", "dist", "fixtures"}
    return [
        file
        for file in sorted(ROOT.rglob("*.md"))
        if not any(part.startswith(".") or part in foreign for part in file.relative_to(ROOT).parts)
    ]


def links(text: str) -> Iterator[str]:
    for found in _LINK.finditer(_CODE.sub("", _FENCE.sub("", text))):
        yield unquote(found[1] or found[2])


@cache
def anchors(file: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    titles = _HEADING.findall(_FENCE.sub("", file.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(file: Path) -> list[str]:
    wrong = []
    for link in links(file.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("file", markdown_files(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_relative_link_has_a_target(file: Path) -> None:
    assert broken(file) == []


def test_a_broken_link_is_detected(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A title, `here`\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Own\n[a](there.md) [b](there.md#a-title-here) [c](#own) [d](https://example.org/x) ![e](gone.png)\n"
        "[f](gone.md 'title') [g](there.md#gone) [h](#gone) `[i](code.md)`\n```\n[j](code.md)\n```\n[k]: gone/too.md\n",
        encoding="utf-8",
    )
    assert broken(page) == ["gone.png", "gone.md", "there.md#gone", "#gone", "gone/too.md"]


# ── what pages name ──


def texts() -> dict[str, str]:
    """Return the text of every page by its path."""
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in markdown_files()}


@cache
def repository() -> list[str]:
    """Return the paths of all files and folders, each with a slash before and after it."""
    tops = ("src", "docs", "tests", "bench", "deploy", "web/src", "web/e2e", "requirements")
    below = [path for top in tops for path in (ROOT / top, *(ROOT / top).rglob("*"))]
    return [f"/{path.relative_to(ROOT).as_posix()}/" for path in (*below, *ROOT.iterdir(), *(ROOT / "web").iterdir())]


def missing_files(text: str) -> list[str]:
    """Return the files and folders of the repository that a text names in code, but that do not exist."""
    names = {code[1:-1] for code in _CODE.findall(_FENCE.sub("", text))}
    named = sorted(name for name in names - _OF_READERS if _SOURCE_FILE.fullmatch(name))
    return [name for name in named if not any(path.endswith(f"/{name.rstrip('/')}/") for path in repository())]


def test_every_file_that_a_page_names_exists() -> None:
    missing = {page: missing_files(text) for page, text in texts().items()}
    assert {page: names for page, names in missing.items() if names} == {}


def test_a_file_that_does_not_exist_is_detected() -> None:
    assert missing_files("`tests/test_docs.py` `words/query.py` `native/` `web/src/text/`") == []
    assert missing_files("`tests/gone.py` `words/gone.py` `gone.c` `deploy/gone`") == [
        "deploy/gone", "gone.c", "tests/gone.py", "words/gone.py",
    ]  # fmt: skip


def test_every_setting_that_a_page_names_exists() -> None:
    known = {field.alias for field in Settings.model_fields.values()} | {*KINDS} | _OF_CLIENTS
    unknown = {page: {*_SETTING.findall(text)} - known for page, text in texts().items()}
    assert {page: names for page, names in unknown.items() if names} == {}


def test_every_target_of_make_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    unknown = {page: {*_MAKE.findall(text)} - targets for page, text in texts().items()}
    assert {page: names for page, names in unknown.items() if names} == {}


@pytest.mark.parametrize(
    ("page", "folder"), [("embedded-engine.md", "embedded"), ("turbopuffer.md", "turbopuffer")], ids=lambda name: name
)
def test_the_page_of_an_engine_describes_its_modules(page: str, folder: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = text.partition("| module | content |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    described = sorted(name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1]))
    files = (ROOT / "src" / "findspot" / "engines" / folder).glob("*.py")
    assert described == sorted(file.stem for file in files if file.stem != "__init__")


def test_every_page_is_in_the_table_of_the_readme() -> None:
    linked = set(links((ROOT / "README.md").read_text(encoding="utf-8").partition("## Documentation")[2]))
    assert [file.name for file in sorted((ROOT / "docs").glob("*.md")) if f"docs/{file.name}" not in linked] == []


def test_the_page_of_metrics_has_every_metric() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    registries = (metrics.REGISTRY, metrics.STORE_REGISTRY, Metrics().registry)
    made = {
        (f"{each.name}_total" if each.type == "counter" else each.name, each.type)
        for registry in registries
        for each in registry.collect()
    }
    assert set(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE)) == made
