"""How many tokens a text takes, without a network.

The encodings come from files inside LiteLLM's package. They are read as they are: LiteLLM itself is not imported.
"""

import base64
import importlib.util
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    import tiktoken

Encoding = Literal["cl100k_base", "o200k_base", "p50k_base", "anthropic"]
ENCODINGS: Final[tuple[Encoding, ...]] = get_args(Encoding)
DEFAULT: Final[Encoding] = "cl100k_base"  # for models that are not known: newer ones need fewer tokens

# How each encoding cuts a text before it merges bytes, and the file with its merges; from tiktoken (MIT).
_WORD = r"[^\r\n\p{L}\p{N}]?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_TIKTOKEN: dict[str, tuple[str, str]] = {
    "p50k_base": (
        "ec7223a39ce59f226a68acc30dc1af2788490e15",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
        r"\s+(?!\S)|\s",
    ),
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        rf"{_WORD}{_UPPER}*{_LOWER}+{_SHORT}|{_WORD}{_UPPER}+{_LOWER}*{_SHORT}|\p{{N}}{{1,3}}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}

# Texts are counted a slice at a time: a run of a million spaces is more than tiktoken's regular expressions can bear,
# and while a slice is counted for Anthropic no other thread has its turn.
_SLICE = 4096
# Every encoding cuts between a letter or digit and one of these, so that slices which end here add up exactly.
_END = re.compile(r".*[^\W_](?=[\s,.;:!?，。、；：！？])", re.DOTALL)


def count(text: str, encoding: Encoding = DEFAULT) -> int:
    """The tokens of a text. What looks like a special token is text like any other.

    Exact, unless there are thousands of characters without the end of a word: each slice may then be off by a few.
    """
    return sum(map(_counter(encoding), _slices(text.encode(errors="replace").decode())))


def _slices(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _SLICE:
        found = _END.match(text, start, start + _SLICE)
        end = found.end() if found else start + _SLICE
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _counter(encoding: Encoding) -> Callable[[str], int]:
    if encoding == "anthropic":
        import tokenizers

        found = tokenizers.Tokenizer.from_file(str(_folder() / "anthropic_tokenizer.json"))
        found.encode_special_tokens = True
        return lambda text: len(found.encode(text, add_special_tokens=False).ids)
    merges = _tiktoken(encoding)
    return lambda text: len(merges.encode_ordinary(text))


def _tiktoken(encoding: str) -> "tiktoken.Encoding":
    import tiktoken

    file, pattern = _TIKTOKEN[encoding]
    lines = (line.split() for line in (_folder() / file).read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(encoding, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


@cache
def _folder() -> Path:
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("litellm is not installed", name="litellm")
    return Path(package.origin).parent / "litellm_core_utils" / "tokenizers"
