"""Every setting has the name, the default and the effect that is promised."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from findspot.settings import Settings, unknown_variables

MiB = 1024 * 1024


def clear(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Set these environment variables, and unset all other settings."""
    for field in Settings.model_fields.values():
        monkeypatch.delenv(str(field.alias), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


# variable, field, default, another value as written, and as read
SETTINGS: list[tuple[str, str, Any, str, Any]] = [
    ("FINDSPOT_DATA", "data", Path(".findspot"), "/srv/findspot", Path("/srv/findspot")),
    ("FINDSPOT_HOST", "host", "127.0.0.1", "0.0.0.0", "0.0.0.0"),
    ("FINDSPOT_PORT", "port", 8321, "0", 0),
    ("FINDSPOT_TOKEN", "token", None, "fsk_of_my_own_0123", "fsk_of_my_own_0123"),
    ("FINDSPOT_PUBLIC_URL", "public_url", None, "https://findspot.example", "https://findspot.example"),
    ("FINDSPOT_MAX_CONNECTIONS", "max_connections", 10_000, "50", 50),
    ("FINDSPOT_MAX_CONNECTIONS_PER_ADDRESS", "max_connections_per_address", 1_000, "5", 5),
    ("FINDSPOT_DATABASE_URL", "database_url", None, "postgresql://h/db", "postgresql://h/db"),
    ("FINDSPOT_REPLICA_URL", "replica_url", None, "postgresql://r/db", "postgresql://r/db"),
    ("FINDSPOT_ENGINE", "engine", "embedded", "turbopuffer", "turbopuffer"),
    ("FINDSPOT_LOG_LEVEL", "log_level", "info", "debug", "debug"),
    ("FINDSPOT_LOG_FORMAT", "log_format", "auto", "json", "json"),
    ("FINDSPOT_MAX_BODY", "max_body", 64 * MiB, "1048576", MiB),
    ("FINDSPOT_BODY_MEMORY", "body_memory", 256 * MiB, "1048576", MiB),
    ("FINDSPOT_HELPER_SECONDS", "helper_seconds", 10.0, "2.5", 2.5),
    ("FINDSPOT_HELPER_MEMORY", "helper_memory", 512 * MiB, "104857600", 100 * MiB),
    ("FINDSPOT_MAX_TABLE", "max_table", 256 * MiB, "1048576", MiB),
    ("FINDSPOT_MAX_DOCUMENT", "max_document", 16 * MiB, "2048", 2048),
    ("FINDSPOT_ANSWER_TOKENS", "answer_tokens", 20_000, "500", 500),
    ("FINDSPOT_EMBEDDER", "embedder", "offline", "litellm/some-model", "litellm/some-model"),
    ("FINDSPOT_EMBEDDER_BASE_URL", "embedder_base_url", None, "http://h/v1", "http://h/v1"),
    ("FINDSPOT_EMBEDDER_API_KEY", "embedder_api_key", None, "k", "k"),
    ("FINDSPOT_EMBEDDER_DIMENSIONS", "embedder_dimensions", None, "256", 256),
    ("FINDSPOT_EMBEDDER_TIMEOUT_S", "embedder_timeout_s", 5.0, "0.5", 0.5),
    ("FINDSPOT_ALLOWED_HOSTS", "allowed_hosts", "", "findspot.example", "findspot.example"),
    ("FINDSPOT_MAX_CHUNKS", "max_chunks", 5_000_000, "10", 10),
    ("FINDSPOT_MAX_VECTORS", "max_vectors", 20_000_000_000, "1000", 1000),
    ("FINDSPOT_EMBEDDER_BATCH_TIMEOUT_S", "embedder_batch_timeout_s", 60.0, "10", 10.0),
    ("FINDSPOT_EMBEDDER_CALIBRATION", "embedder_calibration", None, "12.5,-3", "12.5,-3"),
    ("TURBOPUFFER_API_KEY", "turbopuffer_api_key", None, "k", "k"),
    ("TURBOPUFFER_REGION", "turbopuffer_region", None, "somewhere", "somewhere"),
    ("TURBOPUFFER_BASE_URL", "turbopuffer_base_url", None, "http://h", "http://h"),
    ("SEARCH_DEFAULT_CHUNK_SIZE", "chunk_size", 1000, "2000", 2000),
    ("SEARCH_DEFAULT_CHUNK_OVERLAP", "chunk_overlap", 100, "0", 0),
    ("SEARCH_MAX_CHUNKS_PER_NODE", "max_chunks_per_node", 60_000, "10", 10),
    ("SEARCH_MAX_CONTENT_SIZE", "max_content_size", 50_000_000, "10", 10),
    ("SEARCH_DEFAULT_TOP_K", "top_k", 5, "7", 7),
    ("SEARCH_MAX_TOP_K", "max_top_k", 20, "50", 50),
    ("SEARCH_DEFAULT_VECTOR_WEIGHT", "vector_weight", None, "0.7", 0.7),
    ("SEARCH_DEFAULT_BM25_WEIGHT", "bm25_weight", None, "0.3", 0.3),
    ("SEARCH_EMBEDDING_BATCH_SIZE", "embedding_batch_size", 100, "10", 10),
    ("SEARCH_TURBOPUFFER_BATCH_SIZE", "turbopuffer_batch_size", 1000, "10", 10),
    ("SEARCH_ENABLE_EMBEDDING_CACHE", "enable_embedding_cache", True, "false", False),
    ("SEARCH_EMBEDDING_CACHE_TTL", "embedding_cache_ttl", 3600, "60", 60),
    ("SEARCH_TOOL_CONFIG_CACHE_TTL", "tool_config_cache_ttl", 300, "60", 60),
]


def test_the_list_of_settings_is_complete() -> None:
    assert {variable: field for variable, field, *_ in SETTINGS} == {
        field.alias: name for name, field in Settings.model_fields.items()
    }


@pytest.mark.scenario(
    "003.setting.default-chunk-size",
    "003.setting.default-chunk-overlap",
    "003.setting.max-chunks-per-node",
    "003.setting.max-content-size",
    "003.setting.default-top-k",
    "003.setting.max-top-k",
    "003.setting.embedding-batch-size",
    "003.setting.turbopuffer-batch-size",
    "003.setting.embedding-cache-ttl",
    "003.setting.tool-config-cache-ttl",
)
@pytest.mark.parametrize(("field", "default"), [pytest.param(row[1], row[2], id=row[0]) for row in SETTINGS])
def test_a_setting_that_is_not_set_has_its_default(monkeypatch: pytest.MonkeyPatch, field: str, default: Any) -> None:
    clear(monkeypatch)
    assert getattr(Settings(), field) == default


@pytest.mark.scenario("003.setting.prefix")
@pytest.mark.parametrize(
    ("variable", "field", "written", "read"), [pytest.param(row[0], row[1], *row[3:], id=row[0]) for row in SETTINGS]
)
def test_a_variable_changes_its_setting_and_no_other(
    monkeypatch: pytest.MonkeyPatch, variable: str, field: str, written: str, read: Any
) -> None:
    clear(monkeypatch)
    before = Settings()
    clear(monkeypatch, **{variable: written})
    after = Settings()
    assert plain(getattr(after, field)) == read
    assert [name for name in Settings.model_fields if getattr(before, name) != getattr(after, name)] == [field]


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    clear(monkeypatch, **{row[0]: "" for row in SETTINGS})
    assert [plain(getattr(Settings(), row[1])) for row in SETTINGS] == [row[2] for row in SETTINGS]


@pytest.mark.parametrize(
    ("variable", "wrong"),
    [
        ("FINDSPOT_PORT", "eight"),
        ("FINDSPOT_PORT", "-1"),
        ("FINDSPOT_PORT", "65536"),
        ("FINDSPOT_TOKEN", "fifteen_letters"),
        ("FINDSPOT_TOKEN", "sixteen letters with spaces"),
        ("FINDSPOT_TOKEN", "一二三四五六七八九十一二三四五六"),
        ("FINDSPOT_PUBLIC_URL", "findspot.example"),
        ("FINDSPOT_PUBLIC_URL", "https://findspot.example/path"),
        ("FINDSPOT_MAX_CONNECTIONS", "0"),
        ("FINDSPOT_MAX_CONNECTIONS_PER_ADDRESS", "0"),
        ("FINDSPOT_DATABASE_URL", "mysql://h/db"),
        ("FINDSPOT_REPLICA_URL", "sqlite:///db"),
        ("FINDSPOT_ENGINE", "steam"),
        ("FINDSPOT_LOG_LEVEL", "loud"),
        ("FINDSPOT_LOG_FORMAT", "xml"),
        ("FINDSPOT_MAX_BODY", "0"),
        ("FINDSPOT_MAX_TABLE", "2000000000"),
        ("FINDSPOT_EMBEDDER", "litellm/"),
        ("FINDSPOT_EMBEDDER", "openai/"),
        ("FINDSPOT_EMBEDDER", "something"),
        ("FINDSPOT_EMBEDDER_BASE_URL", "localhost:11434"),
        ("FINDSPOT_EMBEDDER_DIMENSIONS", "0"),
        ("FINDSPOT_EMBEDDER_TIMEOUT_S", "0"),
        ("FINDSPOT_ANSWER_TOKENS", "lots"),
        ("SEARCH_DEFAULT_CHUNK_SIZE", "99"),
        ("SEARCH_DEFAULT_CHUNK_SIZE", "8001"),
        ("SEARCH_DEFAULT_CHUNK_OVERLAP", "-1"),
        ("SEARCH_DEFAULT_CHUNK_OVERLAP", "500"),
        ("SEARCH_MAX_CHUNKS_PER_NODE", "0"),
        ("SEARCH_MAX_CONTENT_SIZE", "many"),
        ("SEARCH_DEFAULT_TOP_K", "21"),
        ("SEARCH_MAX_TOP_K", "4"),
        ("SEARCH_DEFAULT_VECTOR_WEIGHT", "1.1"),
        ("SEARCH_DEFAULT_BM25_WEIGHT", "-0.1"),
        ("SEARCH_EMBEDDING_BATCH_SIZE", "0"),
        ("SEARCH_TURBOPUFFER_BATCH_SIZE", "0"),
        ("SEARCH_ENABLE_EMBEDDING_CACHE", "perhaps"),
        ("SEARCH_EMBEDDING_CACHE_TTL", "-1"),
        ("SEARCH_TOOL_CONFIG_CACHE_TTL", "soon"),
    ],
)
def test_an_invalid_value_is_refused_with_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, wrong: str
) -> None:
    clear(monkeypatch, **{variable: wrong})
    with pytest.raises(ValidationError, match=variable):
        Settings()


def test_litellm_without_its_package_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    clear(monkeypatch, FINDSPOT_EMBEDDER="litellm/some-model")
    with pytest.raises(ValidationError, match=r"pip install 'findspot\[litellm\]'"):
        Settings()
    clear(monkeypatch, FINDSPOT_EMBEDDER="openai/some-model")
    assert Settings().embedder == "openai/some-model"


def test_a_variable_that_is_no_setting_is_found_with_the_nearest_one() -> None:
    names = ["FINDSPOT_PROT", "findspot_port", "FINDSPOT_URL", "FINDSPOT_QQQQ", "HOME", "FINDSPOT_EMBEDER"]
    assert unknown_variables(names) == {
        "FINDSPOT_EMBEDER": "FINDSPOT_EMBEDDER",
        "FINDSPOT_PROT": "FINDSPOT_PORT",
        "FINDSPOT_QQQQ": None,
    }


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1  # type: ignore[misc]


def test_printed_settings_contain_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = [row[0] for row in SETTINGS if "secret" in str(Settings.model_fields[row[1]].annotation).lower()]
    keys = {"FINDSPOT_TOKEN", "FINDSPOT_EMBEDDER_API_KEY", "TURBOPUFFER_API_KEY"}
    assert keys | {"FINDSPOT_DATABASE_URL", "FINDSPOT_REPLICA_URL"} == set(secret)
    clear(monkeypatch, **dict.fromkeys(secret, "postgresql://hidden:hidden@h/hidden"))
    settings = Settings()
    assert "hidden" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


@pytest.mark.parametrize(
    ("database_url", "engine", "shared"),
    [
        (None, "embedded", False),
        (None, "turbopuffer", False),
        ("postgresql://h/db", "embedded", False),
        ("postgresql://h/db", "turbopuffer", True),
        ("postgres://h/db", "turbopuffer", True),
    ],
)
def test_several_processes_may_serve_only_with_a_remote_store_and_a_remote_engine(
    monkeypatch: pytest.MonkeyPatch, database_url: str | None, engine: str, shared: bool
) -> None:
    clear(monkeypatch, FINDSPOT_ENGINE=engine, **({"FINDSPOT_DATABASE_URL": database_url} if database_url else {}))
    assert Settings().shared is shared
