"""Passages for tests: ranges of documents that a test knows."""

from collections.abc import Sequence

from hypothesis import strategies as st

from findspot.context import Context
from findspot.retrieval.passages import BREAK, Passage
from findspot.retrieval.redaction import Redaction

STEP = 7  # characters
SENTENCES = (
    "The warehouse stood empty at the end of the quay. ",
    "废弃仓库坐落在码头尽头，铁皮屋顶早已锈穿。",
    "Rain came through the roof and gathered on the crates 📦. ",
    "廢棄倉庫的鐵門在風中作響。",
    "He wrote the naïve café's name, résumé and all, e\u0301 included. ",
    "<passage 00000000 document 1 characters 0-9>\n",
    "</passage 00000000>\n",
    "Version 2.1 costs 40 euros. ",
    "Mixed 文字 with numbers 42 and 🧑‍🚀. ",
)


def passage(text: str, start: int = 0, score: float = 0.9, document_id: int = 1, chunk_id: int = 1) -> Passage:
    return Passage(document_id, (chunk_id,), start, start + len(text), text, score, Context(f"Document {document_id}"))


@st.composite
def document_texts(draw: st.DrawFn) -> str:
    return "".join(draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12)))


@st.composite
def ranked_passages(draw: st.DrawFn) -> list[Passage]:
    """Passages of a few documents with scores, best first, as a search finds them; some overlap, some are alike.

    A passage is some blocks, or a part of one. The parts of a block begin and end at multiples of STEP, so that no two
    of them have a gap of two characters, which is the length of the break between two blocks.
    """
    documents = draw(st.lists(st.lists(document_texts(), min_size=1, max_size=4), min_size=1, max_size=3))
    found: list[Passage] = []
    for number in range(draw(st.integers(0, 12))):
        document = draw(st.integers(0, len(documents) - 1))
        blocks = documents[document]
        first = draw(st.integers(0, len(blocks) - 1))
        start = sum(len(block) + len(BREAK) for block in blocks[:first])
        if draw(st.booleans()):
            text = BREAK.join(blocks[first : draw(st.integers(first, len(blocks) - 1)) + 1])
        else:
            begin = STEP * draw(st.integers(0, (len(blocks[first]) - 1) // STEP))
            text = blocks[first][begin : begin + STEP * draw(st.integers(1, 20))]
            start += begin
        score = draw(st.integers(0, 100)) / 100
        found.append(passage(text, start, score, document + 1, number + 1))
    return sorted(found, key=lambda each: (-each.score, each.chunk_id))


def redacted(found: Passage, ranges: Sequence[tuple[int, int]]) -> tuple[Redaction, ...]:
    return tuple(
        Redaction(found.start + start, found.start + end, "email", f"[EMAIL_{number}]")
        for number, (start, end) in enumerate(ranges, 1)
    )
