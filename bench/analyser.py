"""`python -m bench.analyser`: the speed of the analyser on texts that would be slow with backtracking patterns."""

import time

from findspot.words import terms, tokens

LONG_WORDS = {
    "dots": "a." * 100_000,
    "one letter": "a" * 300_000,
    "camel case": "aB" * 100_000,
    "letters and digits": "a1" * 100_000,
    "underscores": "_" * 300_000,
    "slashes": "://" * 99_999,
    "address": "http://" + "a?" * 99_999,
    "snake case": "a_" * 99_999 + "!",
    "emoji": "😀" * 99_999,
    "combining marks": "e\u0301" * 99_999,
}


def main() -> None:
    for name, text in LONG_WORDS.items():
        began = time.perf_counter()
        terms(text)
        middle = time.perf_counter()
        for _ in tokens(text):
            pass
        ended = time.perf_counter()
        print(f"{name:20} {len(text):>9,} characters: terms {middle - began:.3f} s, tokens {ended - middle:.3f} s")


if __name__ == "__main__":
    main()
