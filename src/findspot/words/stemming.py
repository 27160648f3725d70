"""The English stem of a word (Snowball's Porter2): `searching` and `searched` are `search`."""

from __future__ import annotations

import threading

_local = threading.local()


def stem(word: str) -> str:
    """The stem of a folded word. What is not made of English letters, or is very short, stays as it is."""
    if len(word) < 3 or not (word.isascii() and word.replace("'", "").isalpha()):
        return word
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        import Stemmer  # here, so that reading a table never loads it

        # One a thread, because a stemmer works in a buffer of its own; no cache, because the analyser has one.
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    stemmed: str = stemmer.stemWord(word)
    return stemmed
