"""The schema of a namespace: types of attributes, how they are indexed, which values they take (docs/write#schema)."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.turbopuffer.errors import bad_request, only_fields, require

MAX_NAME = 128  # bytes of an attribute's name (docs/limits)
MAX_VALUE = 8 << 20  # bytes (docs/limits)
MAX_FILTERABLE = 4096  # bytes of a filterable value (docs/limits)
MAX_ID = 64  # bytes of a string id (docs/write)
MAX_VECTORS = 2  # vector columns of a namespace (docs/limits)
MAX_DIMENSIONS = 10_752  # (docs/limits)
SCALARS = {"string", "int", "uint", "float", "uuid", "datetime", "bool"}
TOKENIZERS = {"pre_tokenized_array", *(f"word_v{number}" for number in range(5))}
METRICS = {"cosine_distance", "euclidean_squared"}
_VECTOR = re.compile(r"\[(\d+)\](f16|f32)")
_CONFIG = {"type", "ann", "filterable", "full_text_search", "fuzzy", "glob", "regex"}
_TEXT = {
    "tokenizer", "language", "stemming", "remove_stopwords", "case_sensitive", "ascii_folding", "max_token_length",
    "k1", "b",
}  # fmt: skip

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TextIndex:
    """How an attribute is indexed for BM25 (docs/fts)."""

    tokenizer: str
    k1: float = 1.2
    b: float = 0.75
    max_token_length: int = 39


@dataclass(frozen=True)
class Attribute:
    """One attribute of a namespace."""

    type: str
    filterable: bool = True
    text: TextIndex | None = None
    dimensions: int = 0
    config: Mapping[str, Any] = field(default_factory=dict)  # as it was given, for the metadata

    @property
    def is_vector(self) -> bool:
        return self.dimensions > 0


def parse(given: object) -> dict[str, Attribute]:
    """Read the `schema` of a write."""
    require(isinstance(given, dict), "schema must be an object")
    assert isinstance(given, dict)
    return {name: _attribute(name, value) for name, value in given.items()}


def merged(known: Mapping[str, Attribute], new: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Return the schema of a namespace after a write: types cannot change (docs/write#schema)."""
    for name, attribute in new.items():
        before = known.get(name)
        if before is None:
            require(not (known and attribute.is_vector), f"vector column {name!r} cannot be added later")
        else:
            same = (before.type, before.text, before.dimensions) == (
                attribute.type,
                attribute.text,
                attribute.dimensions,
            )
            require(same, f"attribute {name!r}: the type and its indexes cannot be changed")
    columns = [name for name, attribute in {**known, **new}.items() if attribute.is_vector]
    require(len(columns) <= MAX_VECTORS, f"at most {MAX_VECTORS} vector columns")
    return {**known, **new}


def inferred(name: str, value: object) -> Attribute:
    """Infer the type of an attribute that the schema does not name (docs/write#schema)."""
    first = value[0] if isinstance(value, list) and value else value
    prefix = "[]" if isinstance(value, list) else ""
    kinds = {bool: "bool", int: "int", str: "string", float: "float"}
    require(type(first) in kinds and name != "vector", f"attribute {name!r}: declare its type in the schema")
    return Attribute(prefix + kinds[type(first)])


def checked_id(value: object) -> str | int:
    if isinstance(value, str):
        require(0 < len(value.encode()) <= MAX_ID, f"an id may have {MAX_ID} bytes")
        return value
    require(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64, f"invalid id {value!r}")
    assert isinstance(value, int)
    return value


def checked(name: str, attribute: Attribute, value: object) -> Any:
    """Return a value as it is stored; refuse one that does not fit its type or a limit."""
    if attribute.is_vector:  # "all documents must include all vector attributes" (docs/write#param-upsert_rows)
        return vector(name, attribute, value)
    if value is None:
        return None
    if attribute.type.startswith("[]"):
        require(isinstance(value, list), f"attribute {name!r} must be an array")
        assert isinstance(value, list)
        for element in value:
            _check_scalar(name, attribute.type[2:], element)
    else:
        _check_scalar(name, attribute.type, value)
    size = _size(value)
    require(size <= MAX_VALUE, f"attribute {name!r}: a value may have {MAX_VALUE} bytes")
    require(not attribute.filterable or size <= MAX_FILTERABLE, f"attribute {name!r}: filterable values have a limit")
    return value


def vector(name: str, attribute: Attribute, value: object) -> Vector:
    """Decode a vector: a list of numbers, or base64 of little-endian float32 (docs/write#vectors)."""
    if isinstance(value, str):
        try:
            decoded = np.frombuffer(base64.b64decode(value, validate=True), "<f4")
        except (binascii.Error, ValueError) as error:
            raise bad_request(f"attribute {name!r}: invalid base64") from error
    else:
        require(isinstance(value, list), f"attribute {name!r}: a vector is required")
        decoded = np.array(value, np.float32)
    require(decoded.shape == (attribute.dimensions,), f"attribute {name!r} has {attribute.dimensions} dimensions")
    require(np.isfinite(decoded).all(), f"attribute {name!r}: not a number")
    stored = decoded.astype(np.float16) if attribute.type.endswith("f16") else decoded
    return stored.astype(np.float32)


def _attribute(name: str, given: object) -> Attribute:
    require(not name.startswith("$") and 0 < len(name.encode()) <= MAX_NAME, f"invalid attribute name {name!r}")
    config = only_fields({"type": given} if isinstance(given, str) else given, _CONFIG, f"schema of {name!r}")
    kind = config.get("type")
    require(isinstance(kind, str), f"schema of {name!r}: type is required")
    assert isinstance(kind, str)
    if match := _VECTOR.fullmatch(kind):
        dimensions = int(match[1])
        require(0 < dimensions <= MAX_DIMENSIONS, f"schema of {name!r}: too many dimensions")
        require(config.keys() <= {"type", "ann"} and config.get("ann") is True, f"schema of {name!r}: ann must be true")
        return Attribute(kind, filterable=False, dimensions=dimensions, config=config)
    require(kind.removeprefix("[]") in SCALARS, f"schema of {name!r}: unknown type {kind!r}")
    text = _text(name, kind, config.get("full_text_search", False))
    indexed = text is not None or any(config.get(flag) for flag in ("regex", "glob", "fuzzy"))
    filterable = config.get("filterable", not indexed)  # docs/write#param-filterable
    require(isinstance(filterable, bool), f"schema of {name!r}: filterable must be a boolean")
    return Attribute(kind, bool(filterable), text, config=config)


def _text(name: str, kind: str, given: object) -> TextIndex | None:
    if given is False:
        return None
    require(kind in ("string", "[]string"), f"schema of {name!r}: full-text search needs strings")
    config = only_fields({} if given is True else given, _TEXT, f"full_text_search of {name!r}")
    tokenizer = config.get("tokenizer", "word_v4")
    require(tokenizer in TOKENIZERS, f"full_text_search of {name!r}: unknown tokenizer")
    # The stand-in does not split text itself: Findspot sends its own tokens.
    require(tokenizer == "pre_tokenized_array", "the stand-in knows only pre_tokenized_array")
    require(kind == "[]string", "pre_tokenized_array needs []string (docs/fts#tokenizers)")
    refused = {"language": None, "stemming": False, "remove_stopwords": False, "case_sensitive": True}
    for option, only in refused.items():  # docs/fts#tokenizers
        require(config.get(option, only) == only, f"pre_tokenized_array does not take {option}")
    index = TextIndex(str(tokenizer))
    for option, least, most in (("k1", 1e-9, math.inf), ("b", 0, 1)):
        value = config.get(option, getattr(index, option))
        is_valid = isinstance(value, int | float) and least <= value <= most
        require(is_valid, f"full_text_search of {name!r}: invalid {option}")
        index = replace(index, **{option: value})  # type: ignore[arg-type]
    length = config.get("max_token_length", index.max_token_length)
    require(isinstance(length, int) and 1 <= length <= 254, f"full_text_search of {name!r}: invalid max_token_length")
    return replace(index, max_token_length=length)  # type: ignore[arg-type]


def _check_scalar(name: str, kind: str, value: object) -> None:
    number = isinstance(value, int) and not isinstance(value, bool)
    fits = {
        "string": isinstance(value, str),
        "uuid": isinstance(value, str),
        "datetime": isinstance(value, str),
        "bool": isinstance(value, bool),
        "int": number and -(1 << 63) <= value < 1 << 63,  # type: ignore[operator]
        "uint": number and 0 <= value < 1 << 64,  # type: ignore[operator]
        "float": number or isinstance(value, float),
    }
    require(fits[kind], f"attribute {name!r}: {value!r} is not of type {kind}")


def _size(value: object) -> int:
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value.encode()) if isinstance(value, str) else 8
