"""Sentences for whoever reads an answer, in English and Chinese."""

from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "zh"]

_TRUNCATED = {
    "en": "This answer was cut to fit; shown of {places}. {narrow}",
    "zh": "内容过长，已截断；显示的部分：{places}。{narrow}",
}

_NARROW = {
    "en": {
        "get_all_data": "Read a part of it with a query_data, preview or select tool, or with a narrower scope.",
        "query_data": "Narrow the query: fewer fields, or a slice such as [0:10].",
        "get_data_schema": "Use a tool with a narrower scope.",
        "preview": "Name fewer fields in 'keys', or take a slice such as [0:10] with a query_data tool.",
        "select": "Name fewer values in 'keys', or take single fields with a query_data tool.",
        "search": "Ask for fewer hits with 'top_k'.",
        "edit": "Everything was done; only this list of keys is shortened.",
    },
    "zh": {
        "get_all_data": "请用 query_data、preview 或 select 工具读取其中一部分，或缩小工具的范围。",
        "query_data": "请缩小查询：减少字段，或使用切片，例如 [0:10]。",
        "get_data_schema": "请使用范围更小的工具。",
        "preview": "请在 keys 中减少字段，或用 query_data 工具取切片，例如 [0:10]。",
        "select": "请在 keys 中减少取值，或用 query_data 工具只取部分字段。",
        "search": "请用 top_k 减少结果数。",
        "edit": "所有更改均已完成，只是键的列表被缩短。",
    },
}

_NOTHING_TO_INDEX = {
    "en": "No string here has {threshold} characters or more, so there is nothing to search yet. To search shorter "
    "strings too, set search_config.chunk_threshold lower (1 takes all of them).",
    "zh": "此范围内没有达到 {threshold} 个字符的字符串，因此暂无可搜索的内容。若要搜索较短的字符串，"
    "请调低 search_config.chunk_threshold（设为 1 则包含全部）。",
}

_MORE_NODES = {
    "en": "{shown} of {total} nodes are listed.",
    "zh": "共 {total} 个节点，此处列出 {shown} 个。",
}

_FALLBACK = {
    "en": "Found by words alone: the search by meaning is not available ({code}).",
    "zh": "仅按关键词检索：语义检索暂不可用（{code}）。",
}

_SWITCHED = {
    "en": {
        "SEARCH_TIMEOUT": "The search by meaning took too long, so these results were found by keyword.",
        "EMBEDDING_DIMENSION_MISMATCH": "The query's vector does not fit the index, so these results were found by "
        "keyword.",
        "": "The search by meaning is not available for now, so these results were found by keyword.",
    },
    "zh": {
        "SEARCH_TIMEOUT": "语义检索超时，已切换关键词检索",
        "EMBEDDING_DIMENSION_MISMATCH": "查询向量与索引的维度不一致，已切换为关键词搜索",
        "": "语义搜索暂时不可用，已切换为关键词搜索",
    },
}

_REBUILDING = {
    "en": "The index is being rebuilt. Please try again in a moment.",
    "zh": "正在重建索引，请稍后重试",
}

_TOO_MANY = {
    "en": "More than {most:,} passages match; the best {most:,} can be read. More words narrow the search.",
    "zh": "匹配的片段超过 {most:,} 个，仅可浏览最相关的 {most:,} 个；请增加关键词以缩小范围。",
}

_NOT_ALL_INDEXED = {
    "en": {
        True: "Something may be missing: not everything is indexed yet. 'findspot serve' brings the index up to date.",
        False: "Something may be missing: not everything is indexed yet. Ask again soon.",
    },
    "zh": {
        True: "内容尚未全部建立索引，结果可能不完整。请运行 findspot serve 更新索引。",
        False: "内容尚未全部建立索引，结果可能不完整，请稍后再试。",
    },
}

_BEHIND = {
    "en": {
        "pending": "The index is behind the table, which has changed; what is new may be missing here. Ask again soon.",
        "indexing": "The index is behind the table by {waiting} chunks; hits may be missing. Ask again soon.",
        "error": "The index is behind the table and cannot follow it now ({code}); hits may be missing.",
    },
    "zh": {
        "pending": "表格刚有更改，索引尚未跟上，新内容可能还搜不到，请稍后再试。",
        "indexing": "索引尚未跟上表格，还有 {waiting} 个片段待建立，结果可能不完整，请稍后再试。",
        "error": "索引目前无法跟上表格（{code}），结果可能不完整。",
    },
}

_NO_ROOM = {
    "en": "The project has no room for more chunks; some texts of this table are not searched.",
    "zh": "项目的片段数已达上限，此表格有部分内容无法搜索。",
}


def language(accepted: str | None) -> Language:
    """The language that an Accept-Language header prefers among ours."""
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


def truncated(type: str, places: str, language: str) -> str:
    narrow = _NARROW[language]
    return _TRUNCATED[language].format(places=places, narrow=narrow.get(type, narrow["edit"]))


def nothing_to_index(threshold: int, language: str) -> str:
    return _NOTHING_TO_INDEX[language].format(threshold=threshold)


def more_nodes(shown: int, total: int, language: str) -> str:
    return _MORE_NODES[language].format(shown=shown, total=total)


def fallback(code: str, language: str) -> str:
    return _FALLBACK[language].format(code=code)


def behind(status: str, waiting: int, code: str, language: str) -> str:
    return _BEHIND[language][status].format(waiting=waiting, code=code)


def no_room(language: str) -> str:
    return _NO_ROOM[language]


def switched(code: str, language: str) -> str:
    """Why a search by meaning was answered by keyword."""
    return _SWITCHED[language].get(code, _SWITCHED[language][""])


def rebuilding(language: str) -> str:
    return _REBUILDING[language]


def too_many(most: int, language: str) -> str:
    return _TOO_MANY[language].format(most=most)


def not_all_indexed(alone: bool, language: str) -> str:
    """A search may have missed something; alone, no one is there to index it."""
    return _NOT_ALL_INDEXED[language][alone]
