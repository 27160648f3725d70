"""Endpoints with plain arguments are called without FastAPI, which answers requests that are not valid."""

from typing import Any

import pytest
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import Message

from findspot.surfaces.http.body import Body
from findspot.surfaces.http.plain_arguments import plainly


class Question(Body):
    query: str
    limit: int = 50


async def ask(request: Request, project_id: int, body: Question) -> Response:
    return Response(f"{project_id} {body.query} {body.limit}")


async def show(request: Request, tool_id: int) -> Response:
    return Response(f"{tool_id}")


async def ask_later(request: Request, project_id: int, body: Question, wait: bool = True) -> Response:
    return Response("later")


async def by_fastapi(request: Request) -> Response:
    return Response("FastAPI")


def sent(body: bytes, content_type: str = "application/json", **ids: str) -> Request:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", content_type.encode())] if content_type else []
    return Request({"type": "http", "method": "POST", "headers": headers, "path_params": ids}, receive)


def answering(path: str, endpoint: Any) -> Any:
    return plainly(APIRoute(path, endpoint, methods=["POST"], response_model=None), by_fastapi)


@pytest.mark.parametrize("query", ["old photographs", "旧照片"])
async def test_an_endpoint_gets_the_ids_of_its_path_and_the_object_of_its_body(query: str) -> None:
    answer = answering("/projects/{project_id}", ask)
    assert (await answer(sent(f'{{"query": "{query}"}}'.encode(), project_id="7"))).body == f"7 {query} 50".encode()
    assert (await answering("/tools/{tool_id}", show)(sent(b"", tool_id="8"))).body == b"8"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"limit": 3}', b'{"query": "a", "limit": 3.0}', b'{"query": "\xff"}', b"[" * 100_000],
)
async def test_fastapi_answers_a_body_that_is_not_valid(body: bytes) -> None:
    answer = answering("/projects/{project_id}", ask)
    assert (await answer(sent(body, project_id="7"))).body == b"FastAPI"


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json; charset=utf-8"])
async def test_fastapi_answers_a_body_of_another_type(content_type: str) -> None:
    answer = answering("/projects/{project_id}", ask)
    assert (await answer(sent(b'{"query": "a"}', content_type, project_id="7"))).body == b"FastAPI"


def test_fastapi_resolves_all_other_arguments() -> None:
    assert answering("/projects/{project_id}", ask_later) is by_fastapi
