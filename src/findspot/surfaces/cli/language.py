"""The language that a person reads, as the variables of the locale say it."""

import os
import re

_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def accepted() -> dict[str, str]:
    """The header that asks for sentences in this language. In the locale 'C' no one does, as with other commands."""
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    if locale in ("C", "POSIX"):
        return {}
    names = [*os.environ.get("LANGUAGE", "").split(":"), locale]  # the best first: 'zh_CN:en'
    tags = [re.split("[.@]", name)[0].replace("_", "-") for name in names]
    known = ", ".join(filter(_TAG.fullmatch, tags))
    return {"Accept-Language": known} if known else {}
