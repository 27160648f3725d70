"""Counts tokens without a network, with the encoding `cl100k_base` from our own data files."""

import base64
import gzip
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"
SLICE = 4096  # characters

_VOCABULARY = DATA / "cl100k_base.tiktoken.gz"
# How the encoding splits a text before it merges bytes. From tiktoken (MIT).
_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s"
)
# The encoding always splits between a letter or digit and one of these characters.
_END = re.compile(r".*[^\W_](?=[\s,.;:!?，。、；：！？])", re.DOTALL)


def count(text: str) -> int:
    """Return the number of tokens of a text. Special tokens in it, such as `<|endoftext|>`, count as ordinary text.

    The count is exact, unless thousands of characters follow each other without the end of a word. Then it may be off
    by a few tokens per slice.
    """
    return sum(map(_counter(), slices(text.encode(errors="replace").decode())))


def slices(text: str) -> Iterator[str]:
    """Cut a text into slices whose token counts add up to the count of the whole.

    tiktoken's regular expressions fail on a run of a million spaces, so they never see a long text.
    """
    start = 0
    while len(text) - start > SLICE:
        found = _END.match(text, start, start + SLICE)
        end = found.end() if found else start + SLICE
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _counter() -> Callable[[str], int]:
    import tiktoken

    lines = (line.split() for line in gzip.decompress(_VOCABULARY.read_bytes()).splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = tiktoken.Encoding("cl100k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))
