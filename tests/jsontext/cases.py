"""The JSON test suites in the fixtures, and two ways to compare JSON texts without `findspot.jsontext`."""

import base64
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

_FOLDER = Path(__file__).parent.parent / "fixtures" / "json"

# Scripts, sequences and characters that careless code splits, folds or drops.
TEXTS = (
    "plain English",
    "Hello, 世界。",
    "繁體中文「測試」",
    "👩‍👩‍👧‍👦 👍🏽 🇨🇳",
    "e\u0301 ñ n\u0303 Z\u0351\u036b",
    "line\u2028and\u2029paragraph",
    "NUL \x00 inside",
    "\ufeff\u200b\u00a0\u202e",
    "\U0010ffff\uffff\ue000",
    "~ ~0 ~1 / // \\ \" ' %2F",
)


class PatchCase(msgspec.Struct, frozen=True):
    """One record of the patch suite. Cases marked as disabled run here as well."""

    doc: msgspec.Raw
    patch: msgspec.Raw
    comment: str = ""
    expected: msgspec.Raw = msgspec.Raw()
    error: str = ""

    @property
    def name(self) -> str:
        return f"{self.comment or self.error or bytes(self.doc).decode()} {bytes(self.patch).decode()}"


class PointerCase(msgspec.Struct, frozen=True):
    pointer: str
    value: Any


class PointerTable(msgspec.Struct, frozen=True):
    document: dict[str, Any]
    valid: list[PointerCase]
    must_fail: list[str]


def patch_cases() -> list[PatchCase]:
    files = (_FOLDER / "json_patch" / name for name in ("tests.json", "spec_tests.json"))
    return [case for file in files for case in msgspec.json.decode(file.read_bytes(), type=list[PatchCase])]


def pointer_table() -> PointerTable:
    return msgspec.json.decode((_FOLDER / "rfc6901" / "pointer.json").read_bytes(), type=PointerTable)


def naughty_strings() -> list[str]:
    strings: list[str] = json.loads((_FOLDER / "naughty_strings" / "blns.json").read_bytes())
    return strings


def suite(prefix: str) -> dict[str, bytes]:
    """The inputs of the JSON test suite whose file names start so, by name."""
    packed: dict[str, str] = json.loads((_FOLDER / "json_test_suite" / "cases.b64.json").read_bytes())
    inputs = {path.split("/")[1].removesuffix(".json"): base64.b64decode(text) for path, text in packed.items()}
    inputs["n_structure_100000_opening_arrays"] = b"[" * 100_000
    inputs["n_structure_open_array_object"] = b'[{"":' * 50_000 + b"\n"
    return {name: text for name, text in inputs.items() if name.startswith(prefix)}


def nested(levels: int) -> bytes:
    """Return lists and objects in turn, nested `levels` deep."""
    pairs, odd = divmod(levels, 2)
    return b'[{"":' * pairs + b"[" * odd + b"1" * (not odd) + b"]" * odd + b"}]" * pairs


def meaning(text: bytes | str) -> Any:
    """Decode a text for comparison by value: 1 equals 1.0 but not true, and the order of keys does not matter."""
    return json.loads(text, parse_int=_number, parse_float=_number)


def wording(text: bytes | str) -> Any:
    """Decode a text for exact comparison: numbers as spelled, keys in order. Escapes and white space do not matter."""
    return json.loads(text, parse_int=_spelling, parse_float=_spelling, object_pairs_hook=in_order)


def in_order(pairs: list[tuple[str, Any]]) -> tuple[str, list[tuple[str, Any]]]:
    return "object", pairs


def _number(text: str) -> tuple[str, Decimal]:
    return "number", Decimal(text)


def _spelling(text: str) -> tuple[str, str]:
    return "number", text
