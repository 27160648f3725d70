"""Hypothesis strategies for JSON texts with varied numbers, escapes and white space."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.jsontext.cases import TEXTS

no_time_limit = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True, slots=True)
class Spelled:
    """A JSON text, and the exact texts of the values in it."""

    text: str
    inside: "dict[str, Spelled] | list[Spelled] | None" = None

    @property
    def data(self) -> bytes:
        return self.text.encode()

    def everything(self) -> Iterator[tuple[tuple[str, ...], "Spelled"]]:
        """Yield this value and every value in it, with the tokens of its pointer."""
        yield (), self
        for token, value in named(self.inside or {}):
            for tokens, deeper in value.everything():
                yield (token, *tokens), deeper


String: TypeAlias = tuple[str, str]  # the string, and one way to write it in JSON


def named(inside: dict[str, Spelled] | list[Spelled]) -> Iterator[tuple[str, Spelled]]:
    return iter(inside.items()) if isinstance(inside, dict) else ((str(at), each) for at, each in enumerate(inside))


def _spell(characters: str, way: str) -> str:
    if way == "plain":
        return json.dumps(characters, ensure_ascii=False)[1:-1]
    if way == "solidus":
        return json.dumps(characters, ensure_ascii=False)[1:-1].replace("/", "\\/")
    units = characters.encode("utf-16-be")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    return "".join("\\u" + (code.upper() if way == "upper" else code) for code in codes)


def _string(parts: list[tuple[str, str]]) -> String:
    return "".join(text for text, _ in parts), '"' + "".join(_spell(*part) for part in parts) + '"'


def _list(values: list[Spelled], space: str) -> Spelled:
    return Spelled("[" + space + f"{space},{space}".join(each.text for each in values) + space + "]", values)


def _object(pairs: list[tuple[String, Spelled]], space: str) -> Spelled:
    members = (f"{key[1]}{space}:{space}{value.text}" for key, value in pairs)
    text = "{" + space + f"{space},{space}".join(members) + space + "}"
    return Spelled(text, {key[0]: value for key, value in pairs})


_characters = st.one_of(
    st.sampled_from(list('[]{}"\\/~:,01')), st.characters(exclude_categories=["Cs"]), st.sampled_from(TEXTS)
)
_ways = st.sampled_from(["plain", "lower", "upper", "solidus"])
_spaces = st.sampled_from(["", " ", "\n\t", "\r\n  "])
_number_text = r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,5})?"

strings = st.lists(st.tuples(_characters, _ways), max_size=6).map(_string)
scalars = st.one_of(
    st.sampled_from(["null", "true", "false", "-0", "1e400", "-0.0", "1E+2", "123456789012345678901234567890"]),
    st.from_regex(_number_text, fullmatch=True),
    strings.map(lambda string: string[1]),
).map(Spelled)


def _around(values: st.SearchStrategy[Spelled]) -> st.SearchStrategy[Spelled]:
    members = st.lists(st.tuples(strings, values), max_size=4, unique_by=lambda pair: pair[0][0])
    return st.builds(_list, st.lists(values, max_size=4), _spaces) | st.builds(_object, members, _spaces)


values = st.recursive(scalars, _around, max_leaves=10)
containers = _around(values)
