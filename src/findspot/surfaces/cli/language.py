"""The preferred language, from the locale variables of the environment."""

import os
import re

_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def language_header() -> dict[str, str]:
    """Return the Accept-Language header for the locale. The locale 'C' asks for no language."""
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    if locale in ("C", "POSIX"):
        return {}
    names = [*os.environ.get("LANGUAGE", "").split(":"), locale]  # in order of preference: 'zh_CN:en'
    tags = [re.split("[.@]", name)[0].replace("_", "-") for name in names]
    languages = ", ".join(filter(_TAG.fullmatch, tags))
    return {"Accept-Language": languages} if languages else {}
