"""Sixty judged queries, typed as people type, over Findspot's own docs and 300 documents of the question sets.

`bench/data/judged.jsonl` is a file of `findspot eval`. The documents are written to a folder, imported with
`findspot import` into a server of its own, and measured with `findspot eval`.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.servers import Server

QUERIES = Path(__file__).parent / "data" / "judged.jsonl"
DOCS = Path(__file__).parent.parent / "docs"
MODES = ("fts", "semantic", "hybrid")


def measure(data: Path) -> dict[str, dict[str, Any]]:
    """Return the answer of `findspot eval` for every mode."""
    with tempfile.TemporaryDirectory(prefix="findspot-judged-") as folder:
        _write(data, Path(folder) / "documents")
        server = Server.start(Path(folder) / "data", FINDSPOT_LOG_LEVEL="warning")
        try:
            with server.client() as owner:
                project = str(owner.post("/api/v1/projects", json={"name": "judged"}).json()["id"])
                _findspot(server, "import", project, f"{folder}/documents")
                while owner.get(f"/api/v1/projects/{project}/status").json()["index_state"] != "ready":
                    time.sleep(0.5)
            return {
                mode: json.loads(_findspot(server, "eval", str(QUERIES), "--project", project, "--mode", mode))
                for mode in MODES
            }
        finally:
            server.kill()


def _findspot(server: Server, *arguments: str) -> str:
    command = [sys.executable, "-m", "findspot", *arguments, "--url", server.url, "--key", server.token, "--json"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def _write(data: Path, target: Path) -> None:
    for path in sorted(DOCS.glob("*.md")):
        _file(target / "docs" / path.name, path.read_text(encoding="utf-8"))
    for name, text in _documents(data):
        _file(target / name, text)


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _documents(data: Path) -> Iterator[tuple[str, str]]:
    """Yield names and texts: 99 English and 201 Chinese documents."""
    for pep in json.loads((data / "json" / "python_peps.json").read_text(encoding="utf-8"))["peps"][::3]:
        yield f"peps/pep-{pep['pep']:04}.txt", f"PEP {pep['pep']} – {pep['title']}\n\n{pep['body']}"
    for article in _lines(data / "squad2_dev_articles"):
        yield f"wiki/{article['title']}.txt", article["text"]
    for page in _lines(data / "zh_tidb_faq")[::2]:
        yield f"tidb/{page['id']}", page["text"]
    for law in _lines(data / "zh_stard_laws")[::14]:
        yield f"laws/{re.sub('[/]', '-', law['title'])}.txt", law["text"]
    novel = json.loads((data / "json" / "zh_novels.json").read_text(encoding="utf-8"))["红楼梦"]
    (chapter,) = [each for each in novel["chapters"] if each["title"].startswith("第二十七回")]
    yield "novels/红楼梦 第二十七回.txt", f"{chapter['title']}\n\n{chapter['text']}"


def _lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "corpus.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


if __name__ == "__main__":
    for mode, found in measure(Path(sys.argv[1])).items():
        print(mode, json.dumps({key: found[key] for key in ("queries", "ndcg10", "recall10", "recall50")}))
        for wrong in (*found["wrong"], *found["mistakes"]):
            print("   ", json.dumps(wrong, ensure_ascii=False))
