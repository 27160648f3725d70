"""Answers a question with a language model, from passages that Findspot retrieves, and shows where each quote is.

    python docs/examples/answer_with_sources.py "Where is the warehouse?" --project novel \\
        --recorded docs/examples/recorded_answer.json

Without --recorded, an OpenAI-compatible service is asked: LLM_URL (such as https://…/v1), LLM_KEY and LLM_MODEL.
FINDSPOT_URL and FINDSPOT_KEY name the server and a key of the project.
"""

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import httpx2

RULES = (
    "Answer the question from the passages only. Quote the words that your answer rests on, exactly and in “quotation "
    "marks”. If the passages do not answer the question, say so."
)
QUOTE = re.compile("“([^”]+)”")


def project_id(server: httpx2.Client, name: str) -> int:
    """Return the id of the newest project with this name; an id is returned as it is."""
    if name.isascii() and name.isdigit():
        return int(name)
    answer = server.get("/api/v1/projects")
    answer.raise_for_status()
    found = [each["id"] for each in answer.json()["projects"] if each["name"] == name]
    if not found:
        raise SystemExit(f"There is no project '{name}'. 'findspot project list' shows the ones that exist.")
    return int(max(found))


def assemble(server: httpx2.Client, project: int, question: str, budget: int) -> dict[str, Any]:
    """Return the layers of the prompt: rules, settings, retrieved passages, and the question."""
    layers = {"rules": RULES, "immediate": f"Question: {question}"}
    body = {"layers": layers, "query": question, "maxTokens": budget}
    answer = server.post(f"/api/v1/projects/{project}/context/assemble", json=body)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def ask_model(prompt: str, recorded: Path | None) -> str:
    """Return what the model answers; with `recorded`, the answer in that file."""
    if recorded is not None:
        answer = json.loads(recorded.read_text(encoding="utf-8"))
    else:
        headers = {"Authorization": f"Bearer {os.environ['LLM_KEY']}"}
        body = {"model": os.environ["LLM_MODEL"], "messages": [{"role": "user", "content": prompt}]}
        asked = httpx2.post(f"{os.environ['LLM_URL']}/chat/completions", json=body, headers=headers, timeout=120)
        asked.raise_for_status()
        answer = asked.json()
    return str(answer["choices"][0]["message"]["content"])


def locate(quote: str, layer: dict[str, Any]) -> tuple[dict[str, Any], int, int] | None:
    """Return the source of a quote and its range in the document; None if no passage contains it.

    A placeholder in the text stands for a range of the document with another length.
    """
    for source in layer["sources"]:
        start = layer["text"].find(quote, source["textStart"], source["textEnd"])
        if start >= 0:
            first = _offset(source, start - source["textStart"])
            return source, first, _offset(source, start + len(quote) - source["textStart"])
    return None


def _offset(source: dict[str, Any], position: int) -> int:
    """Return the offset in the document of a position in the shown text of a passage."""
    shift = source["startOffset"]
    for each in source["redactions"]:
        if position + shift <= each["startOffset"]:
            break
        shift += each["endOffset"] - each["startOffset"] - len(each["placeholder"])
    return int(position + shift)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question")
    parser.add_argument("--project", required=True, help="the name or id of the project")
    parser.add_argument("--budget", type=int, default=6000, help="tokens of the whole prompt")
    parser.add_argument("--recorded", type=Path, help="a file with the answer, instead of asking a service")
    options = parser.parse_args()
    headers = {"Authorization": f"Bearer {os.environ['FINDSPOT_KEY']}"}
    url = os.environ.get("FINDSPOT_URL", "http://127.0.0.1:8321")
    try:
        with httpx2.Client(base_url=url, headers=headers, timeout=30) as server:
            project = project_id(server, options.project)
            context = assemble(server, project, options.question, options.budget)
    except httpx2.ConnectError:
        raise SystemExit(f"No server answers at {url}. Set FINDSPOT_URL to its address.") from None
    for warning in context["warnings"]:
        print(f"! {warning['message']}", file=sys.stderr)
    prompt = "\n\n".join(layer["text"] for layer in context["layers"] if layer["text"])
    answer = ask_model(prompt, options.recorded)
    print(answer)
    retrieved = next(layer for layer in context["layers"] if layer["name"] == "retrieved")
    for quote in QUOTE.findall(answer):
        found = locate(quote, retrieved)
        if found is None:
            print(f"  “{quote}”: not in the passages")
        else:
            source, start, end = found
            print(f"  “{quote}”: {source['documentTitle']}, document {source['documentId']}, characters {start}-{end}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
