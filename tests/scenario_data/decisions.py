"""DECISIONS: what holds where the requirement documents disagree or cannot hold as written."""

from tests.scenario_data.entry import Scenario, need

# fmt: off
DECISIONS: tuple[Scenario, ...] = (
    need("D01", "DECISIONS row 1",
         "Chunking always comes to an end, cuts late in its window, and leaves no crumb followed by a gap in overlap.",
         "tests/chunking/test_cut.py::test_a_boundary_close_to_the_start_neither_stops_the_chunker_nor_leaves_a_crumb",
         "tests/chunking/test_cut.py::test_every_chunk_but_the_last_ends_in_the_last_half_of_its_window_and_shares_text_with_the_next"),
    need("D02", "DECISIONS row 2",
         "Offsets are those of the stripped text, and no visible character falls between two chunks.",
         "tests/chunking/test_cut.py::test_offsets_cut_out_a_chunk_without_blanks_around_it",
         "tests/chunking/test_cut.py::test_every_visible_character_is_in_a_chunk"),
    need("D03", "DECISIONS row 3",
         "Chinese sentence ends count, closing quotes stay with their sentence, and graphemes stay whole.",
         "tests/chunking/test_cut.py::test_no_cut_falls_inside_a_grapheme_cluster",
         "tests/chunking/test_cut.py::test_a_chunk_ends_after_a_sentence_with_its_closing_quotes",
         "tests/chunking/test_cut.py::test_closing_quotes_past_the_window_move_the_cut_to_the_sentence_before",
         "tests/chunking/test_cut.py::test_a_run_of_clusters_is_cut_only_between_them"),
    need("D04", "DECISIONS row 4",
         "A key with `~` or `/` yields a pointer that leads back to that key.",
         "tests/test_pointer.py::test_every_pointer_of_the_rfc_leads_to_its_value",
         "tests/test_pointer.py::test_the_pointer_to_any_key_leads_back_to_that_key",
         "tests/test_pointer.py::test_writing_and_parsing_are_inverse",
         "tests/http/test_exact_json.py::test_every_pointer_of_the_rfc_reads_and_writes_its_value"),
    need("D05", "DECISIONS row 5",
         "Engine ids are short, different for every pointer and chunk setting, stable under edits elsewhere, and a "
         "tool sees only the chunks of its own settings."),
    need("D06", "DECISIONS row 6",
         "Fifty million characters in one node are chunked as a stream, and a node over a limit is named and skipped "
         "while the rest is indexed."),
    need("D07", "DECISIONS row 7",
         "A scope takes in its pointer and all that lies below it, not keys that merely begin alike, even when few of "
         "the nearest chunks lie inside."),
    need("D08", "DECISIONS row 8",
         "Each way to change content leads to an index of the new content, without embedding again what stayed and "
         "with nothing left of what went."),
    need("D09", "DECISIONS row 9",
         "Waiting for a creation or not makes no difference to the work, which survives a kill and runs at most twice "
         "over in a project."),
    need("D10", "DECISIONS row 10",
         "Tools fuse by whatever measured best or their configuration names, the workspace by its fixed formula, and "
         "both give one type of result."),
    need("D11", "DECISIONS row 11",
         "A chunk that leads both legs scores 1.0, and no score leaves the range 0 to 1."),
    need("D12", "DECISIONS row 12",
         "Normalised BM25 depends on the hit, not on its neighbours, and a missing leg hands its weight to the "
         "others."),
    need("D13", "DECISIONS row 13",
         "Recency is 1.0 for a document saved now and half of that thirty days later."),
    need("D14", "DECISIONS row 14",
         "Each embedder maps cosines to a scale on which related pairs reach 0.7 and unrelated ones stay well below."),
    need("D15", "DECISIONS row 15",
         "Ten thousand candidates and more give a normal answer that admits its total is a minimum."),
    need("D16", "DECISIONS row 16",
         "A chunk whose vector was given up is still found by its words, and the status counts such chunks."),
    need("D17", "DECISIONS row 17",
         "A channel's name is its route, the server validates strictly, and the client's types and schemas come from "
         "the server's OpenAPI."),
    need("D18", "DECISIONS row 18",
         "Importing the MCP surface loads no engine or embedder, and its calls end in the same functions as HTTP's."),
    need("D19", "DECISIONS row 19",
         "Chunk text is complete until the answer as a whole would pass its token budget, and then `notice` says so."),
    need("D20", "DECISIONS row 20",
         "Nothing in an answer tells the agent what to do next with a hit."),
    need("D21", "DECISIONS row 21",
         "A tool over short strings only is ready, answers an empty list and said so when it was made, and a threshold "
         "of 1 makes them searchable."),
    need("D22", "DECISIONS row 22",
         "`get` and `query` are taken as `get_all_data` and `query_data`, and only the long names are given back."),
    need("D23", "DECISIONS row 23",
         "Status has one home in the metadata, configuration one column, and the namespace is never stored on a tool."),
    need("D24", "DECISIONS row 24",
         "Tables and documents have namespaces of their own inside one folder a project, and the folder goes with the "
         "project."),
    need("D25", "DECISIONS row 25",
         "An offset past an emoji is the same number in every answer, counted in code points."),
    need("D26", "DECISIONS row 26",
         "The hash of a query in the logs cannot be recomputed without the installation's secret."),
    need("D27", "DECISIONS row 27",
         "With every index file deleted, the store alone brings search back."),
    need("D28", "DECISIONS row 28",
         "A name that occurs in every chapter is still found in hybrid search, and a hit of one leg gets the other's "
         "score as well."),
    need("D29", "DECISIONS row 29",
         "Paging through a large result repeats nothing and misses nothing, though page one ranks few candidates."),
    need("D30", "DECISIONS row 30",
         "An embedder declares its dimension, every vector is checked against it, and another dimension is another "
         "fingerprint."),
    need("D31", "DECISIONS row 31",
         "A node whose pointer or filter value is too long for the engine is listed as skipped, with the reason."),
    need("D32", "DECISIONS row 32",
         "Memory caches expire by their settings, stored vectors never do, and no cache outlives a change."),
    need("D33", "DECISIONS row 33",
         "Text of which the embedder knows no token is nobody's neighbour, so the vector leg never returns it."),
    need("D34", "DECISIONS row 34",
         "A request may choose `topK` from 1 to 50 and `minScore` from 0 to 1, an admin sets the defaults, and nobody "
         "sets weights."),
    need("D35", "DECISIONS row 35",
         "Headings, list items and short paragraphs are chunks of their own, and only a paragraph over a thousand "
         "characters is split.",
         "tests/chunking/test_paragraphs.py::"
         "test_a_heading_an_item_and_a_short_paragraph_are_chunks_of_their_own_and_only_a_long_one_is_split"),
    need("D36", "DECISIONS row 36",
         "JSON comes back as it went in on both databases, order of keys, big numbers and NUL included, and a lone "
         "surrogate is refused.",
         "tests/http/test_exact_json.py::test_a_value_of_any_shape_comes_back_byte_for_byte_however_it_is_sent",
         "tests/http/test_exact_json.py::test_every_naughty_string_comes_back_as_key_and_as_value",
         "tests/http/test_exact_json.py::test_a_sample_of_the_parser_test_suite_is_taken_and_refused_as_it_must_be",
         "tests/http/test_exact_json.py::test_a_lone_surrogate_is_refused_and_nothing_is_changed",
         "tests/http/test_exact_json.py::test_a_change_at_a_pointer_leaves_every_other_value_as_it_was_spelled",
         "tests/http/test_exact_json.py::test_three_megabytes_are_written_read_set_and_patched_exactly"),
    need("D37", "DECISIONS row 37",
         "Searches are answered throughout a replacement, which holds others off only while it commits and switches."),
    need("D38", "DECISIONS row 38",
         "A table can be deleted while the engine is away, and its leftovers are removed once the engine is back."),
    need("D39", "DECISIONS row 39",
         "Every search answer reports its duration and how many candidates came from each leg."),
    need("D40", "DECISIONS row 40",
         "At the limit a save still succeeds with a notice, and only asking for more index is refused with "
         "`SEARCH_CAPACITY_EXCEEDED`."),
)
