"""Requirement document 000: a search tool that an agent can call."""

from tests.scenario_data.entry import Scenario, need

# fmt: off
DOC000: tuple[Scenario, ...] = (
    need("000.search-tool", "000 § Search Tool",
         "A tool of type `search` answers a question with passages found by meaning and by words, as structured data.",
         "tests/http/test_tools.py::test_a_call_of_a_search_tool_returns_whole_chunks_and_their_positions"),
    need("000.search-tool.bound-to-mcp", "000 § Search Tool / 被创建并绑定到 MCP v2",
         "Once bound to an endpoint, a search tool is listed there with name, description and input schema, and a call "
         "to it answers JSON hits.",
         "tests/mcp/test_served.py::test_an_agent_searches_reads_and_edits_and_its_key_is_in_no_log"),
    need("000.indexing", "000 § 创建 Search Tool 时触发 chunking 与 indexing",
         "Creating a search tool cuts the long strings of its scope into chunks and puts them into the engine.",
         "tests/http/test_tools.py::test_creating_a_search_tool_reports_the_indexed_nodes"),
    need("000.indexing.large-strings-indexed", "000 § 创建时触发 / scope 内存在大字符串节点",
         "Every string of the scope at or over the threshold is located by RFC 6901 pointer, chunked once, embedded, "
         "written to the engine, and its rows then name their namespace and engine id."),
    need("000.indexing.repeat-makes-nothing-twice", "000 § 创建时触发 / 重复创建/重试",
         "Indexing the same content again adds no chunk row, and completes those that never reached the engine.",
         "tests/agents/test_tool_index.py::test_creating_a_tool_restores_chunks_that_the_engine_has_lost"),
    need("000.search-index", "000 § 索引状态写入 tool.metadata.search_index",
         "An operator reads a search tool's indexing configuration and state from its `metadata.search_index`.",
         "tests/http/test_tools.py::test_the_metadata_of_a_search_tool_has_the_state_of_its_index"),
    need("000.search-index.written-on-creation", "000 § 索引状态 / 创建 Search Tool 时写入; DECISIONS row 23",
         "From creation on, `metadata.search_index` has the times of configuration and indexing, the number of "
         "indexed chunks, and the last error if there is one.",
         "tests/http/test_tools.py::test_the_metadata_of_a_search_tool_has_the_state_of_its_index"),
    need("000.engine-ids", "000 § namespace 与 doc_id 的确定性规则",
         "The namespace and the engine id of a chunk follow from the chunk alone, so a retried write lands on itself."),
    need("000.engine-ids.namespace-per-table", "000 § 确定性规则 / namespace 按 project + table 隔离",
         "Chunks of a table live in `project_{project_id}_table_{table_id}` and in no other namespace."),
    need("000.engine-ids.one-id-one-chunk", "000 § 确定性规则 / doc_id 可唯一定位; DECISIONS row 5",
         "No two chunks share an engine id, and the id contains the table and the start of the content hash, for "
         "tracing."),
    need("000.engine-schema", "000 § Turbopuffer 文档 schema",
         "A namespace is declared with the schema that BM25 over chunk text needs."),
    need("000.engine-schema.content-is-full-text", "000 § 文档 schema / content 字段启用 full_text_search",
         "The attribute with the chunk's text is declared as a string with full-text search."),
    need("000.hybrid", "000 § 混合检索与结果融合; DECISIONS row 10",
         "A search asks the vector leg and the BM25 leg and fuses both answers into one ranking."),
    need("000.hybrid.top-k", "000 § 混合检索 / 执行混合检索并返回 top_k",
         "Against an indexed tool, a call with `query` and `top_k` embeds the query, recalls from both legs and "
         "answers at most `top_k` fused hits."),
    need("000.arguments", "000 § 输入参数最小集",
         "A search tool's input schema has `query` and `top_k` and no other argument.",
         "tests/http/test_tools.py::test_a_call_of_a_search_tool_returns_whole_chunks_and_their_positions"),
    need("000.arguments.query-and-top-k", "000 § 输入参数 / query + top_k",
         "`query` alone is enough for a search, `top_k` may be added, and leaving out `query` is refused.",
         "tests/http/test_tools.py::test_a_call_of_a_search_tool_returns_whole_chunks_and_their_positions"),
    need("000.hits", "000 § 返回结构包含命中 Chunk 的完整信息; DECISIONS rows 19, 20",
         "Each hit contains its whole chunk, so an agent needs no second call to read it.",
         "tests/http/test_tools.py::test_a_call_of_a_search_tool_returns_whole_chunks_and_their_positions"),
    need("000.hits.full-chunk", "000 § 返回结构 / 每条结果返回完整 chunk 记录",
         "A hit has a score and a chunk with id, table, absolute pointer, index and total, text, character range, "
         "content hash, namespace and engine id.",
         "tests/http/test_tools.py::test_a_call_of_a_search_tool_returns_whole_chunks_and_their_positions"),
    need("000.json-path", "000 § json_path 适配为 Tool 视角",
         "Every hit carries a `json_path` that can be followed from the root of the tool's own scope.",
         "tests/http/test_tools.py::test_a_call_of_a_search_tool_returns_whole_chunks_and_their_positions"),
    need("000.json-path.relative-to-scope", "000 § json_path / Tool 有 json_path 视角限制",
         "A hit at `/articles/0/content` in a tool scoped to `/articles` shows `json_path` `/0/content` beside its "
         "absolute `json_pointer`.",
         "tests/http/test_tools.py::test_a_call_of_a_search_tool_returns_whole_chunks_and_their_positions"),
)
