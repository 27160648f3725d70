"""JSON goes in and comes out exactly, over HTTP, on both databases."""

import json
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from tests.jsontext.cases import (
    TEXTS,
    meaning,
    naughty_strings,
    nested,
    patch_cases,
    pointer_table,
    suite,
    wording,
)

WHITE = b" \t\n\r"


@dataclass(frozen=True, slots=True)
class Table:
    """A table as a client of the API sees it."""

    client: httpx2.AsyncClient
    id: int

    @classmethod
    async def make(cls, client: httpx2.AsyncClient, data: bytes = b"{}") -> "Table":
        project = (await client.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        answer = await client.post(f"/api/v1/projects/{project}/tables", content=b'{"name":"t","data":' + data + b"}")
        assert answer.status_code == 201, answer.text
        return cls(client, answer.json()["id"])

    async def read(self, pointer: str = "") -> httpx2.Response:
        return await self.client.get(f"/api/v1/tables/{self.id}", params={"json_pointer": pointer})

    async def state(self, pointer: str = "") -> tuple[int, bytes]:
        """The revision, and the bytes of the value at a pointer."""
        answer = await self.read(pointer)
        assert answer.status_code == 200, answer.text
        head, _, rest = answer.content.partition(b',"data":')
        return json.loads(head + b"}")["revision"], rest[:-1]

    async def text(self, pointer: str = "") -> bytes:
        return (await self.state(pointer))[1]

    async def put(self, value: bytes, pointer: str = "") -> httpx2.Response:
        address = f"/api/v1/tables/{self.id}/data"
        return await self.client.put(address, params={"json_pointer": pointer}, content=value)

    async def patch(self, steps: bytes) -> httpx2.Response:
        headers = {"Content-Type": "application/json-patch+json"}
        return await self.client.patch(f"/api/v1/tables/{self.id}/data", content=steps, headers=headers)


def told(answer: httpx2.Response) -> tuple[int, str]:
    """The status and, of an error, its code."""
    return answer.status_code, answer.json().get("code", "")


# ── whole values ──

EXACT = (
    '{"z":1,"a":2,"m":{"y":1,"b":2},"0":3,"":4,"10":5,"9":6}',
    "[123456789012345678901234567890, -9223372036854775809, 18446744073709551616, 9007199254740993]",
    "[1.0, 1.10, -0.0, 1e2, 1E+2, 1e-400, 1e400, 0.1000000000000000055511151231257827, 5e-324]",
    '["\\u0000", "a\\u0000b", {"\\u0000": "\\u0000"}]',
    '["\\u00e9", "\\u00E9", "é", "e\\u0301", "\\/", "/", "\\ud83d\\ude00", "😀"]',
    '{ "spaces" :\t[ 1 ,\r\n 2 ] ,\n"end" : null }',
    '{"a":1,"a":2}',
    "1" * 5000,
    *("null", "0", '""', "[]", "{}", "false", "true", "-0.0", '"text"', "[null]"),
)


@pytest.mark.scenario("D36")
async def test_a_value_of_any_shape_comes_back_byte_for_byte_however_it_is_sent(owner: httpx2.AsyncClient) -> None:
    texts = [*EXACT, *(json.dumps({text: text}, ensure_ascii=False) for text in TEXTS)]
    table, wrong = await Table.make(owner), []
    for sent in (text.encode() for text in texts):
        made = await Table.make(owner, b" " + sent + b" ")
        answer = await table.put(b"\n" + sent + b"\t")
        if answer.status_code != 200 or await table.text() != sent or await made.text() != sent:
            wrong.append((sent, answer.text))
    assert wrong == []


@pytest.mark.scenario("D36")
async def test_every_naughty_string_comes_back_as_key_and_as_value(owner: httpx2.AsyncClient) -> None:
    strings = list(dict.fromkeys(naughty_strings()))
    everything = json.dumps({string: [string] for string in strings}, ensure_ascii=False).encode()
    table = await Table.make(owner, everything)
    assert await table.text() == everything
    wrong = []
    for string in strings[::4]:  # one request each; the rest stands in the text above
        pointer = "/" + string.replace("~", "~0").replace("/", "~1") + "/0"
        if json.loads(await table.text(pointer)) != string:
            wrong.append(string)
    assert wrong == []
    pointer = "/" + strings[-1].replace("~", "~0").replace("/", "~1")
    assert told(await table.put(json.dumps(strings[-1]).encode(), pointer)) == (200, "")
    assert json.loads(await table.text()) == {**{string: [string] for string in strings}, strings[-1]: strings[-1]}


@pytest.mark.scenario("D36")
@pytest.mark.one_database
async def test_a_sample_of_the_parser_test_suite_is_taken_and_refused_as_it_must_be(owner: httpx2.AsyncClient) -> None:
    table, wrong, revision = await Table.make(owner), [], 1
    kept = [case for prefix in ("y_", "i_number_", "number_", "object_") for case in suite(prefix).items()]
    for name, text in kept[::2]:
        answer, revision = await table.put(text), revision + 1
        if answer.json() != {"revision": revision} or await table.text() != text.strip(WHITE):
            wrong.append((name, answer.text))
    refused = [case for prefix in ("n_", "i_string_", "i_object_") for case in suite(prefix).items()]
    before = await table.text()
    for name, text in refused[::3]:
        answer = await table.put(text)
        if told(answer) != (422, "INVALID_ARGUMENT") or answer.json()["field"] != "body":
            wrong.append((name, answer.text))
    assert wrong == []
    assert await table.state() == (revision, before)


@pytest.mark.scenario("D36")
async def test_a_lone_surrogate_is_refused_and_nothing_is_changed(owner: httpx2.AsyncClient) -> None:
    table = await Table.make(owner, b'{"a": 1.0}')
    wrong = []
    for string in (b'"\\ud800"', b'"\\udfff"', b'"x\\uDE00\\uD83D"', b'"\\ud83d\\ud83d\\ude00"', b'"\\ud800\\n"'):
        project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        body = b'{"name":"t","data":[' + string + b"]}"
        answers = (
            await table.put(string),
            await table.put(b"{" + string + b":1}"),
            await table.put(string, "/a"),
            await table.patch(
                b'[{"op":"replace","path":"/a","value":2},{"op":"add","path":"/b","value":' + string + b"}]"
            ),
            await owner.post(f"/api/v1/projects/{project}/tables", content=body),
        )
        expected = {"code": "INVALID_ARGUMENT", "message": "body: contains a lone surrogate, which is half a character"}
        wrong += [answer.text for answer in answers if answer.json() != {**expected, "field": "body"}]
        wrong += [answer.text for answer in answers if answer.status_code != 422]
    assert wrong == []
    assert await table.state() == (1, b'{"a": 1.0}')


async def test_a_value_may_be_five_hundred_levels_deep_however_it_is_sent(owner: httpx2.AsyncClient) -> None:
    deep, deeper, beyond = nested(500), nested(501), b"[" * 100_000 + b"]" * 100_000
    table = await Table.make(owner, deep)
    assert await table.text() == deep
    assert await table.text("/0/" * 249) == b"[{" + b'"":1' + b"}]"
    for value in (deeper, beyond):
        for answer in (
            await table.put(value),
            await table.patch(b'[{"op":"replace","path":"","value":' + value + b"}]"),
            await owner.post("/api/v1/projects/1/tables", content=b'{"name":"t","data":' + value + b"}"),
        ):
            assert told(answer) == (422, "INVALID_ARGUMENT")
            assert answer.json()["message"] == "body: is nested more than 500 levels deep"
    assert await table.state() == (1, deep)
    again = b'[{"op":"replace","path":"","value":7},{"op":"replace","path":"","value":' + deep + b"}]"
    assert (await table.patch(again)).json() == {"revision": 1}  # as it was


# ── at a pointer ──


@pytest.mark.scenario("D04")
@pytest.mark.one_database
async def test_every_pointer_of_the_rfc_reads_and_writes_its_value(owner: httpx2.AsyncClient) -> None:
    rfc = pointer_table()
    document = json.dumps(rfc.document).encode()
    table = await Table.make(owner, document)
    wrong: list[tuple[str, object]] = []
    for case in rfc.valid:
        if json.loads(await table.text(case.pointer)) != case.value:
            wrong.append((case.pointer, "read"))
        answer = await table.put(b"[1.0]", case.pointer)
        if answer.status_code != 200 or await table.text(case.pointer) != b"[1.0]":
            wrong.append((case.pointer, answer.text))
        await table.put(json.dumps(case.value).encode(), case.pointer)
        if wording(await table.text()) != wording(document):
            wrong.append((case.pointer, "something else was changed"))
    before = await table.state()
    for pointer in rfc.must_fail:
        expected = (422, "INVALID_ARGUMENT") if pointer in ("foo", "/a~2b", "/m~n") else (404, "NOT_FOUND")
        answer = await table.read(pointer)
        if told(answer) != expected or answer.json()["field"] != "json_pointer":
            wrong.append((pointer, answer.text))
    for pointer in ("foo", "/a~2b", "/m~n", "/foo/3", "/foo/01", "/foo/1e0", "/foo/bar", "/foo/0/x", "/foo/-1", "/x/y"):
        answer = await table.put(b"1", pointer)
        if answer.status_code not in (404, 422):
            wrong.append((pointer, answer.text))
    assert wrong == []
    assert await table.state() == before


@pytest.mark.scenario("D36")
async def test_a_change_at_a_pointer_leaves_every_other_value_as_it_was_spelled(owner: httpx2.AsyncClient) -> None:
    table = await Table.make(owner, b'{"b": [1.10, {"k" : "\\u00e9"}], "a": 1e2, "z": 123456789012345678901234567890}')
    assert told(await table.put(b'"\\u0000 \xe4\xb8\x96"', "/b/0")) == (200, "")
    assert told(await table.put(b"-0.0", "/\x00new")) == (200, "")
    assert told(await table.patch(b'[{"op":"move","from":"/a","path":"/A"}]')) == (200, "")
    assert await table.text() == (
        b'{"b":["\\u0000 \xe4\xb8\x96",{"k" : "\\u00e9"}],"z":123456789012345678901234567890,"\\u0000new":-0.0,"A":1e2}'
    )


# ── patches ──


@pytest.mark.one_database
async def test_the_patch_suite_ends_as_it_must_over_http(owner: httpx2.AsyncClient) -> None:
    table = await Table.make(owner)
    wrong: list[tuple[str, Any]] = []
    for case in patch_cases():
        before = (await table.put(bytes(case.doc))).json()["revision"]
        answer = await table.patch(bytes(case.patch))
        after, text = await table.state()
        if case.error:
            refused = told(answer) in ((409, "PATCH_CONFLICT"), (422, "INVALID_ARGUMENT"))
            if not refused or after != before or text != bytes(case.doc):
                wrong.append((case.name, answer.text))
        elif answer.json() != {"revision": after} or after - before != (text != bytes(case.doc)):
            wrong.append((case.name, answer.text))
        elif bytes(case.expected) and meaning(text) != meaning(bytes(case.expected)):
            wrong.append((case.name, text))
    assert wrong == []


async def test_a_patch_that_fails_in_the_middle_changes_nothing(owner: httpx2.AsyncClient) -> None:
    text = b'{"a": [1.0, 2], "b": {}}'
    table = await Table.make(owner, text)
    first: dict[str, Any] = {"op": "remove", "path": "/a/0"}
    bad: list[tuple[dict[str, Any], tuple[int, str]]] = [
        ({"op": "test", "path": "/a/0", "value": 1}, (409, "PATCH_CONFLICT")),
        ({"op": "remove", "path": "/c"}, (409, "PATCH_CONFLICT")),
        ({"op": "move", "from": "/b", "path": "/b/x"}, (409, "PATCH_CONFLICT")),
        ({"op": "add", "path": "/a/5", "value": 1}, (409, "PATCH_CONFLICT")),
        ({"op": "add", "path": "b", "value": 1}, (422, "INVALID_ARGUMENT")),
        ({"op": "jump", "path": "/b"}, (422, "INVALID_ARGUMENT")),
    ]
    for step, outcome in bad:
        answer = await table.patch(json.dumps([first, step, first]).encode())
        assert told(answer) == outcome, answer.text
    assert await table.state() == (1, text)


# ── values that go in pieces, and through a helper process ──


@pytest.mark.scenario("D36")
async def test_three_megabytes_are_written_read_set_and_patched_exactly(owner: httpx2.AsyncClient) -> None:
    row = '{"n": 1.10, "t": "繁體 😀 \\u0000 \\ud83d\\ude00", "big": 123456789012345678901234567890}'
    rows = ", ".join([row] * 35_000)
    text = f'{{"rows": [{rows}], "a/b~c": {{"k" : -0.0}}}}'.encode()
    assert len(text) > 3_000_000
    table = await Table.make(owner, text)
    assert await table.text() == text
    assert await table.text("/rows/34999") == row.encode()
    assert await table.text("/a~1b~0c") == b'{"k" : -0.0}'
    assert told(await table.read("/rows/35000")) == (404, "NOT_FOUND")

    assert (await table.put(b"2.50", "/rows/7/n")).json() == {"revision": 2}
    changed = row.replace(": ", ":").replace(", ", ",").replace("1.10", "2.50")
    assert await table.text("/rows/7") == changed.encode()
    assert await table.text("/rows/8") == row.encode()

    steps = [
        {"op": "test", "path": "/rows/7/n", "value": 2.5},
        {"op": "remove", "path": "/rows/7"},
        {"op": "copy", "from": "/rows/0", "path": "/first"},
    ]
    assert (await table.patch(json.dumps(steps).encode())).json() == {"revision": 3}
    expected = f'{{"rows":[{",".join([row] * 34_999)}],"a/b~c":{{"k" : -0.0}},"first":{row}}}'.encode()
    assert await table.text() == expected

    bad = [*steps[2:], {"op": "remove", "path": "/rows/34999"}]
    assert told(await table.patch(json.dumps(bad).encode())) == (409, "PATCH_CONFLICT")
    assert told(await table.put(text[:-1])) == (422, "INVALID_ARGUMENT")
    assert told(await table.put(text.replace(b"\\ude00", b"\\ud83d", 1))) == (422, "INVALID_ARGUMENT")
    assert await table.state() == (3, expected)
    assert (await table.put(b" " + text)).json() == {"revision": 4}
    assert await table.text() == text
