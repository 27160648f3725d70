"""Importing 10,000 Markdown files with `findspot import`: speed, and memory of the server."""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.servers import Server

from bench import processes
from bench.report import Figure, Report

FILES, TIMES = 10_000, 4
LEAST_PER_S = 1_000
GROWTH_MB = 40  # allowed for 10,000 more files when caches are full: allocators do not return all memory
_HAN = "山海经之书天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


def run() -> Report:
    report = Report(
        "importing",
        "Importing Markdown files",
        f"`findspot import` of a folder with {FILES:,} generated Markdown files of 2 to 3 KB (headings, lists, links, "
        "emphasis, some Chinese) into a server on SQLite: the time of the whole command, start-up included. Client, "
        "server and its two helpers share the cores, and the server indexes meanwhile. The folder is imported into one "
        "project after the other. Memory is that of the server without the pages of files, when it has indexed all.",
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write(root / "files", FILES)
        server = Server.start(root / "data", FINDSPOT_LOG_LEVEL="error")
        try:
            _measure(report, server, root / "files")
        finally:
            server.stop()
    return report


def _measure(report: Report, server: Server, files: Path) -> None:
    memory = [processes.own_memory_mb(server.serving)]
    projects = [_new_project(server) for _ in range(TIMES)]
    seconds = []
    for project in projects:
        seconds.append(_import(server, project, files, "created", FILES))
        processes.wait_until_idle([server.process.pid])
        memory.append(processes.own_memory_mb(server.serving))
    again = _import(server, projects[-1], files, "unchanged", FILES)
    section = "SQLite"
    rate = FILES / statistics.median(seconds)
    report.add(section, Figure(f"import of {FILES:,} new files, median of {TIMES}", rate, "files/s", least=LEAST_PER_S))
    report.add(section, Figure(f"the same {FILES:,} again, unchanged", FILES / again, "files/s"))
    for times, megabytes in enumerate(memory):
        report.add(section, Figure(f"memory of the server after {times * FILES:,} files", megabytes, "MB"))
    report.add(section, Figure(f"growth over the last {FILES:,}", memory[-1] - memory[-2], "MB", GROWTH_MB))


def _new_project(server: Server) -> int:
    with server.client() as client:
        return int(client.post("/api/v1/projects", json={"name": "bench"}).json()["id"])


def _import(server: Server, project: int, folder: Path, fate: str, number: int) -> float:
    variables = {**os.environ, "FINDSPOT_URL": server.url, "FINDSPOT_KEY": server.token}
    command = [sys.executable, "-m", "findspot", "import", str(project), str(folder), "--json"]
    started = time.perf_counter()
    ended = subprocess.run(command, env=variables, check=True, capture_output=True)
    seconds = time.perf_counter() - started
    assert json.loads(ended.stdout)[fate] == number, ended.stdout
    return seconds


def _write(folder: Path, number: int) -> None:
    chance = random.Random(number)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(2000)]
    for count in range(number):
        file = folder / f"part {count // 500}" / f"note-{count}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_note(chance, words, count), encoding="utf-8")


def _note(chance: random.Random, words: list[str], number: int) -> str:
    parts = [f"# Note {number} 筆記\n"]
    while sum(map(len, parts)) < 2200:
        text = " ".join(chance.choices(words, k=chance.randint(30, 70)))
        marked = f"{text[:60]} **{text[60:80]}** {text[80:]} [{text[:12]}](https://example.org/{number})"
        parts.append(f"{marked} {''.join(chance.choices(_HAN, k=20))}。\n")
        if chance.random() < 0.3:
            parts.append(
                "## Points\n\n" + "\n".join(f"- {word}: `{word}`" for word in chance.choices(words, k=4)) + "\n"
            )
    return "\n".join(parts)
