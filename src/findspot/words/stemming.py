"""English stemming (Snowball's Porter2): `searching` and `searched` become `search`."""

from __future__ import annotations

import threading

_local = threading.local()


def stem(word: str) -> str:
    """Return the stem of a folded word. Very short words, and words with other than English letters, do not change."""
    if len(word) < 3 or not (word.isascii() and word.replace("'", "").isalpha()):
        return word
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        import Stemmer  # on first use, so that reading a table does not load it

        # One per thread, because a stemmer has a mutable buffer. No cache, because the analyser has one.
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    stemmed: str = stemmer.stemWord(word)
    return stemmed
