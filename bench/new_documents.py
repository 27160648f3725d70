"""Documents that are added and deleted while others are searched."""

from collections.abc import Sequence

OF_A_DOCUMENT = 20  # chunks
SHORTEST = 320  # characters; Findspot joins shorter paragraphs into one chunk


def texts_of(word: str, queries: Sequence[str], turn: int) -> list[str]:
    """Return the texts of the chunks of a new document. All have this word, which consists of letters only."""
    texts = []
    for at in range(OF_A_DOCUMENT):
        place, text = turn * OF_A_DOCUMENT + at, f"{word} {at} 新的段落"
        while len(text) < SHORTEST:
            text += f" {queries[place % len(queries)]}."
            place += 1
        texts.append(text)
    return texts
