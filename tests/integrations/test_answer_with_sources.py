"""The complete loop of docs/retrieval-loop.md, against a real server and an answer from a file."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.integrations.conftest import TEXTS, Target
from tests.web_servers import Handler, serving

EXAMPLES = Path(__file__).parent.parent.parent / "docs" / "examples"
RECORDED = EXAMPLES / "recorded_answer.json"


def run(target: Target, *arguments: str, **environment: str) -> str:
    script = [sys.executable, str(EXAMPLES / "answer_with_sources.py"), "废弃仓库在哪里？"]
    variables = {"FINDSPOT_URL": target.url, "FINDSPOT_KEY": target.key, "PYTHONIOENCODING": "utf-8"}
    ended = subprocess.run(
        [*script, *arguments],
        env={**os.environ, **variables, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return ended.stdout if ended.returncode == 0 else f"failed: {ended.stderr}"


def test_quotes_of_a_recorded_answer_are_followed_to_the_character(target: Target) -> None:
    out = run(target, "--project", "novel", "--recorded", str(RECORDED))
    for quote in ("坐落在码头尽头", "铁皮屋顶早已锈穿"):
        start = TEXTS["第二章"].index(quote)
        assert f"“{quote}”: 第二章, document 2, characters {start}-{start + len(quote)}" in out
    assert "“a second door”: not in the passages" in out


def test_a_wrong_project_or_address_is_a_sentence(target: Target) -> None:
    assert run(target, "--project", "nowhere") == (
        "failed: There is no project 'nowhere'. 'findspot project list' shows the ones that exist.\n"
    )
    closed = "http://127.0.0.1:9"
    assert run(target, "--project", "novel", FINDSPOT_URL=closed) == (
        f"failed: No server answers at {closed}. Set FINDSPOT_URL to its address.\n"
    )


def test_a_service_is_sent_the_rules_the_passages_and_the_question(target: Target) -> None:
    sent: list[dict[str, object]] = []

    class Service(Handler):
        """Answers every request as recorded."""

        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = RECORDED.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Service) as url:
        out = run(target, "--project", str(target.project_id), LLM_URL=f"{url}/v1", LLM_KEY="k", LLM_MODEL="m")
    assert "“铁皮屋顶早已锈穿”: 第二章" in out
    (request,) = sent
    prompt = json.dumps(request["messages"], ensure_ascii=False)
    assert (
        prompt.index("Answer the question")
        < prompt.index("废弃仓库坐落在")
        < prompt.index("Question: 废弃仓库在哪里？")
    )
