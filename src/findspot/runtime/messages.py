"""Notices in answers, in English and Chinese."""

from typing import Literal, TypeAlias

from findspot.models import TableIndexState

Language: TypeAlias = Literal["en", "zh"]


_TRUNCATED = {
    "en": "The answer was too long and was cut. Shown: {shown}. {advice}",
    "zh": "内容过长，已截断。已显示：{shown}。{advice}",
}

NARROWING_ADVICE = {
    "en": {
        "get_all_data": "Read a part of the data with a query_data, preview or select tool, a long text with a read "
        "tool, or use a narrower scope.",
        "query_data": "Narrow the query: fewer fields, or a slice of a list such as [0:10]. Read a long text with a "
        "read tool.",
        "get_data_schema": "Use a tool with a narrower scope.",
        "preview": "Name fewer fields in 'keys', or read a slice such as [0:10] with a query_data tool.",
        "select": "Name fewer values in 'keys', or read single fields with a query_data tool.",
        "search": "Request fewer hits with 'top_k'.",
        "replace": "Ask for one document with 'document_id', or search for something longer.",
        "edit": "All changes were made; only the list of keys was shortened.",
    },
    "zh": {
        "get_all_data": "请用 query_data、preview 或 select 工具读取其中一部分，"
        "长文本请用 read 工具读取，或缩小工具的范围。",
        "query_data": "请缩小查询：减少字段，或对列表使用切片，例如 [0:10]。长文本请用 read 工具读取。",
        "get_data_schema": "请使用范围更小的工具。",
        "preview": "请减少 keys 中的字段，或用 query_data 工具读取切片，例如 [0:10]。",
        "select": "请减少 keys 中的取值，或用 query_data 工具只读取部分字段。",
        "search": "请调小 top_k，减少结果数量。",
        "replace": "请用 document_id 指定一个文档，或使用更长的搜索文本。",
        "edit": "所有更改均已完成，仅键列表被截短。",
    },
}

_NOTHING_TO_INDEX = {
    "en": "No string in this scope has {threshold} characters or more, so there is nothing to search yet. To search "
    "shorter strings, lower search_config.chunk_threshold (1 includes all strings).",
    "zh": "此范围内没有达到 {threshold} 个字符的字符串，因此暂无可搜索的内容。如需搜索更短的字符串，"
    "请调低 search_config.chunk_threshold（设为 1 表示包含所有字符串）。",
}

_READ_ON = {
    "en": "The part was too long and was cut. Read on with start={start}.",
    "zh": "所选部分过长，已截断。请用 start={start} 继续读取。",
}


_SCOPE_MISSING = {
    "en": "There is no value at {scope} in the table at present, so nothing can be found.",
    "zh": "表格中目前没有 {scope} 这个位置的内容，因此没有可搜索的内容。",
}

_NO_SUCH_FIELD = {
    "en": "No object of the list has the field {field}. {fields}",
    "zh": "列表中没有任何对象含有字段 {field}。{fields}",
}

_NO_SUCH_KEY = {
    "en": "The result is null: {key} is not a key of the data, which is of type {type}. {fields}",
    "zh": "查询结果为 null：数据（类型为 {type}）中没有键 {key}。{fields}",
}

_FIELDS = {"en": "Fields: {names}.", "zh": "现有字段：{names}。"}

_NO_WORDS = {
    "en": "The query contains no words to search for.",
    "zh": "查询中没有可搜索的词。",
}

_NOTHING_CONTAINS = {
    "en": "Nothing that this tool searches contains {symbols}.",
    "zh": "此工具搜索的内容中没有 {symbols}。",
}

_OTHER_TYPE = {
    "en": "The field {field} holds {present}, but 'keys' holds {given}: 1 and \"1\" are different values.",
    "zh": '字段 {field} 的值是 {present}，而 keys 中是 {given}：1 与 "1" 是不同的值。',
}

_DEEPER = {
    "en": "Values nested more than {levels} levels deep are shown as their type. Use a tool with a deeper scope.",
    "zh": "嵌套超过 {levels} 层的值仅显示类型。请使用范围更深的工具。",
}

_MORE_NODES = {
    "en": "{shown} of {total} nodes are listed.",
    "zh": "共 {total} 个节点，此处列出 {shown} 个。",
}

_FALLBACK = {
    "en": "These results are from keyword search only: semantic search is not available ({code}).",
    "zh": "语义搜索暂不可用（{code}），以下仅为关键词搜索的结果。",
}

_WORKSPACE_FALLBACK = {
    "en": {
        "SEARCH_TIMEOUT": "Semantic search took too long; these results are from keyword search.",
        "EMBEDDING_DIMENSION_MISMATCH": "The query vector and the index have different dimensions; these results are "
        "from keyword search.",
        "": "Semantic search is not available at present; these results are from keyword search.",
    },
    "zh": {
        "SEARCH_TIMEOUT": "语义检索超时，已切换关键词检索",
        "EMBEDDING_DIMENSION_MISMATCH": "查询向量与索引的维度不一致，已切换为关键词搜索",
        "": "语义搜索暂时不可用，已切换为关键词搜索",
    },
}

_REBUILDING = {
    "en": "The index is being rebuilt. Please try again later.",
    "zh": "正在重建索引，请稍后重试",
}

_TOO_MANY_MATCHES = {
    "en": "More than {most:,} passages match; only the best {most:,} are available. Add words to narrow the search.",
    "zh": "匹配的片段超过 {most:,} 个，仅提供最相关的 {most:,} 个。请增加关键词以缩小范围。",
}

_WITHOUT_PHRASES = {
    "en": "No passage contains the quoted phrase; these results are for its words without the quotation marks.",
    "zh": "没有片段包含引号中的短语，以下为去掉引号后的搜索结果。",
}

_CORRECTED = {
    "en": "A word of the query occurs nowhere; these results are for: {query}.",
    "zh": "查询中有词未出现在任何内容中，以下为更正后的搜索结果：{query}。",
}

_TOO_MANY_BY_DATE = {
    "en": "More than {most:,} passages match; only those of the newest documents are available. Add words or an "
    "earlier end date to narrow the search.",
    "zh": "匹配的片段超过 {most:,} 个，仅提供最近更新的文档中的片段。请增加关键词或更早的截止日期以缩小范围。",
}

_NOTHING_INDEXES = {
    "en": "No server is running: run 'findspot serve' to update the index.",
    "zh": "服务器未运行，请运行 findspot serve 更新索引。",
}

_INDEXING = {
    "en": {
        True: "{indexed:,} of {total:,} documents are indexed; results may be incomplete. Try again soon.",
        False: "The index is being checked; results may be incomplete. Try again soon.",
    },
    "zh": {
        True: "共 {total:,} 篇文档，已索引 {indexed:,} 篇，结果可能不完整，请稍后再试。",
        False: "正在检查索引，结果可能不完整，请稍后再试。",
    },
}

_DOCUMENTS_OVER_LIMIT = {
    "en": "The project has reached its chunk limit: {indexed:,} of {total:,} documents are indexed, "
    "and the others cannot be searched.",
    "zh": "项目的片段数已达上限：共 {total:,} 篇文档，已索引 {indexed:,} 篇，其余文档无法搜索。",
}

_OUTDATED = {
    "en": {
        "pending": "The table has changed since it was indexed; new content may be missing. Try again soon.",
        "indexing": "{indexed:,} of {total:,} chunks are indexed; results may be incomplete. Try again soon.",
        "error": "The index cannot be updated at present ({code}); results may be incomplete.",
    },
    "zh": {
        "pending": "表格内容已更改，索引尚未更新，可能搜不到新内容，请稍后再试。",
        "indexing": "共 {total:,} 个片段，已索引 {indexed:,} 个，结果可能不完整，请稍后再试。",
        "error": "索引暂时无法更新（{code}），结果可能不完整。",
    },
}

_CHUNK_LIMIT_REACHED = {
    "en": "The project has reached its chunk limit; some texts of this table cannot be searched.",
    "zh": "项目的片段数已达上限，此表格的部分内容无法搜索。",
}


def language(accepted: str | None) -> Language:
    """Return the supported language that an Accept-Language header prefers; English by default."""
    best: tuple[float, Language] = (0.0, "en")
    for part in (accepted or "").split(","):
        name, *parameters = (each.strip() for each in part.lower().split(";"))
        known: Language | None = {"en": "en", "zh": "zh"}.get(name.split("-")[0])  # type: ignore[assignment]
        weight = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        try:
            value = float(weight)
        except ValueError:
            continue
        if known and best[0] < value <= 1:
            best = (value, known)
    return best[1]


def truncated(tool_type: str, shown: str, language: str) -> str:
    """Say that an answer was cut, how much of it is shown, and how to request less."""
    advice = NARROWING_ADVICE[language]
    return _TRUNCATED[language].format(shown=shown, advice=advice.get(tool_type, advice["edit"]))


def nothing_to_index(threshold: int, language: str) -> str:
    return _NOTHING_TO_INDEX[language].format(threshold=threshold)


def read_on(start: int, language: str) -> str:
    """Say that a part of a text was cut, and where to read on."""
    return _READ_ON[language].format(start=start)


def scope_missing(scope: str, language: str) -> str:
    return _SCOPE_MISSING[language].format(scope=scope)


def no_such_field(absent: list[str], fields: list[str], language: str) -> str:
    """Say that a call names fields that no object has, and which there are."""
    field = {"en": " or ", "zh": "、"}[language].join(absent)
    return _NO_SUCH_FIELD[language].format(field=field, fields=_fields(fields, language)).rstrip()


def no_such_key(key: str, type: str, fields: list[str], language: str) -> str:
    """Say that a query begins with a key that the data does not have, and what the data looks like."""
    return _NO_SUCH_KEY[language].format(key=key, type=type, fields=_fields(fields, language)).rstrip()


def _fields(names: list[str], language: str) -> str:
    return _FIELDS[language].format(names=", ".join(names)) if names else ""


def no_words(language: str) -> str:
    """Say that a query has nothing that can be searched for."""
    return _NO_WORDS[language]


def nothing_contains(symbols: str, language: str) -> str:
    """Say that symbols, of which a query consists, occur nowhere."""
    return _NOTHING_CONTAINS[language].format(symbols=symbols)


def other_type(field: str, present: str, given: str, language: str) -> str:
    """Say that the values of a selection have another type than the field."""
    return _OTHER_TYPE[language].format(field=field, present=present, given=given)


def deeper_than(levels: int, language: str) -> str:
    return _DEEPER[language].format(levels=levels)


def more_nodes(shown: int, total: int, language: str) -> str:
    return _MORE_NODES[language].format(shown=shown, total=total)


def fallback(code: str, language: str) -> str:
    """Say that a tool's search fell back to keywords."""
    return _FALLBACK[language].format(code=code)


def outdated(state: TableIndexState, code: str, language: str) -> str:
    """Say that the index of a table is not up to date."""
    return _OUTDATED[language][state.status].format(indexed=state.indexed, total=state.total, code=code)


def indexing(indexed: int, total: int, language: str, *, is_full: bool) -> str:
    """Say that not every document is searchable, and why. If all are indexed, store and engine are being compared."""
    if is_full:
        return _DOCUMENTS_OVER_LIMIT[language].format(indexed=indexed, total=total)
    return _INDEXING[language][indexed < total].format(indexed=indexed, total=total)


def chunk_limit_reached(language: str) -> str:
    return _CHUNK_LIMIT_REACHED[language]


def workspace_fallback(code: str, language: str) -> str:
    """Say why a workspace search fell back to keywords."""
    return _WORKSPACE_FALLBACK[language].get(code, _WORKSPACE_FALLBACK[language][""])


def rebuilding(language: str) -> str:
    return _REBUILDING[language]


def too_many_matches(most: int, language: str, *, by_date: bool = False) -> str:
    """Say that there are more matches than are ranked."""
    return (_TOO_MANY_BY_DATE if by_date else _TOO_MANY_MATCHES)[language].format(most=most)


def corrected(query: str, language: str) -> str:
    """Say that a misspelt query was corrected, and what was searched for."""
    return _CORRECTED[language].format(query=query)


def without_phrases(language: str) -> str:
    """Say that no passage has the phrase of a query, and that the results are those without it."""
    return _WITHOUT_PHRASES[language]


def nothing_indexes(language: str) -> str:
    """Say that without a server nothing updates the index."""
    return _NOTHING_INDEXES[language]
