"""How many tokens a text takes, without a network: exactly, or as a quick estimate that is never much too low.

The encodings come from files inside LiteLLM's package. They are read as they are: LiteLLM itself is not imported.
"""

import base64
import importlib.util
import math
from collections.abc import Callable
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


def count(text: str, encoding: Encoding = DEFAULT) -> int:
    """The tokens of a text, exactly. What looks like a special token is text like any other."""
    return _counter(encoding)(text.encode(errors="replace").decode())


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


# ── the estimate ──

# What a byte of UTF-8 is: a vowel, another small letter, a capital, a digit, a mark, a space, a line break, or the
# first byte of a longer character: of two bytes, general punctuation, Chinese punctuation, Han, others, or of four.
_KINDS = "eaA0. \n2pcho4"
_FIRST_BYTES = ((0xC0, "_"), (0xE2, "2"), (0xE3, "p"), (0xE4, "c"), (0xEA, "h"), (0xF0, "o"), (0x100, "4"))


def _kind(byte: int) -> str:
    character = chr(byte)
    if byte >= 0x80:
        return next(kind for below, kind in _FIRST_BYTES if byte < below)
    if character.isalpha():
        return "A" if character.isupper() else "e" if character in "aeiou" else "a"
    return "0" if character.isdigit() else "\n" if character in "\n\r" else " " if character.isspace() else "."


_KIND = bytes(ord(_kind(byte)) for byte in range(256))
_RUNS = tuple(
    bytes(ord("x") if chr(byte) in kinds else ord(" ") for byte in range(256)) for kinds in ("ea", "A", ".", " \n")
)


def traits(text: str) -> list[int]:
    """What the estimate goes by: how much there is of each kind, how many runs, and what is unlike a language."""
    kinds = text.encode(errors="replace").translate(_KIND)
    counts = [kinds.count(kind.encode()) for kind in _KINDS]
    runs = [len(kinds.translate(run).split()) for run in _RUNS]
    vowels, others, capitals = counts[:3]
    letters = vowels + others
    return [letters, *counts[2:], *runs, max(0, letters - 5 * runs[0]), max(0, others + capitals - 2 * vowels)]


# Fitted to 2,840 passages, as little too high as can be without being too low for one of them. It is no bound: for
# a few passages of code and Markdown that it had not seen it was low (docs/tokens.md).
_WEIGHTS: dict[Encoding, tuple[float, ...]] = {
    "cl100k_base": (0.02, 0.121, 0.691, 0.073, 0.06, 0.156, 0.37, 2.336, 3.273, 1.796, 1.831, 3.359, 1.008, 0.365,
                    1.078, 0.242, 0.221, 0.523),
    "o200k_base": (0.001, 0.249, 0.685, 0.075, 0.063, 0.207, 0.0, 3.7, 2.51, 1.119, 2.582, 2.226, 1.051, 0.065,
                   1.098, 0.263, 0.235, 0.483),
    "p50k_base": (0.0, 0.135, 0.704, 0.085, 0.076, 1.031, 0.0, 2.148, 2.552, 2.78, 2.939, 3.776, 1.284, 0.597,
                  1.645, 0.0, 0.356, 0.478),
    "anthropic": (0.0, 0.129, 0.618, 0.097, 0.012, 0.258, 1.271, 2.434, 3.17, 1.697, 2.065, 3.216, 1.386, 0.367,
                  1.437, 0.032, 0.158, 0.397),
}  # fmt: skip


def estimate(text: str, encoding: Encoding = DEFAULT) -> int:
    """About how many tokens a text takes: quicker than counting, nearly always too many, and nothing to load.

    It is no bound. What must not be exceeded has to be counted.
    """
    return math.ceil(sum(weight * trait for weight, trait in zip(_WEIGHTS[encoding], traits(text), strict=True)))
