"""Checks of redaction: decide whether a matched text is a private value, after its pattern has matched.

A check receives the folded text and the matched range. It returns the ranges to redact: usually that range, or none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from math import log2

Span = tuple[int, int]
Check = Callable[[str, int, int], Iterable[Span]]

_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_PROVINCES = frozenset(
    (*range(11, 16), *range(21, 24), *range(31, 38), *range(41, 47), *range(50, 55), *range(61, 66), 71, 81, 82, 83)
)
# First and last prefix of an issuer, and the lengths of its numbers.
_ISSUERS = (
    ("Visa", "4", "4", (13, 16, 19)),
    ("Mastercard", "51", "55", (16,)),
    ("Mastercard", "2221", "2720", (16,)),
    ("American Express", "34", "34", (15,)),
    ("American Express", "37", "37", (15,)),
    ("Diners Club", "300", "305", (14, 16)),
    ("Diners Club", "36", "36", (14,)),
    ("Diners Club", "38", "39", (14, 16)),
    ("JCB", "3528", "3589", (16, 17, 18, 19)),
    ("Discover", "6011", "6011", (16, 19)),
    ("Discover", "644", "659", (16, 19)),
    ("UnionPay", "62", "62", (16, 17, 18, 19)),
    ("UnionPay", "81", "81", (16, 19)),
    ("Maestro", "50", "50", (16, 19)),
    ("Maestro", "56", "58", (16, 19)),
    ("Maestro", "63", "63", (16, 19)),
    ("Maestro", "67", "67", (16, 19)),
    ("Mir", "2200", "2204", (16, 19)),
    ("UATP", "1", "1", (15,)),
)
_FILE_ENDINGS = re.compile(r"(?i)\.(?:png|jpe?g|gif|svg|webp|ico|js|ts|css|html?|json|md|py|txt|pdf|zip)$")
_PLACEHOLDER = re.compile(
    r"(?i)[$%<{\[(*]|(?:your|insert|example|placeholder|change_?me|redacted|none|null|true|false|undefined|https?:|/|\./)"
)
_TEMPLATE = re.compile(r"[$%]?\{[^{}]*\}|<[^<>]*>|\[[a-z_ -]*\]|\$\(")
_EXPRESSION = re.compile(r"[A-Za-z_][\w.]*[\[(]")
_PARAMETER = re.compile(r"&[\w.-]+=")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def where(condition: Callable[[str], bool]) -> Check:
    """Return a check that redacts the matched text if a condition holds for it."""

    def check(text: str, start: int, end: int) -> Iterable[Span]:
        return [(start, end)] if condition(text[start:end]) else []

    return check


def entropy(value: str) -> float:
    """Return Shannon's entropy in bits per character."""
    return -sum(n / len(value) * log2(n / len(value)) for n in Counter(value).values())


# ── numbers ──


def is_id_number(value: str) -> bool:
    """Return whether the checksum, the province and the date of birth of a Chinese ID number are right."""
    value = re.sub("[ -]", "", value).upper()
    if len(value) != 18 or int(value[:2]) not in _ID_PROVINCES or not _is_date(value[6:14]):
        return False
    total = sum(int(digit) * weight for digit, weight in zip(value[:17], _ID_WEIGHTS, strict=True))
    return "10X98765432"[total % 11] == value[17]


def _is_date(digits: str) -> bool:
    try:
        return 1850 <= date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).year <= date.today().year
    except ValueError:
        return False


def is_luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of ISO/IEC 7812."""
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(n - 9 if n > 9 else n for n in doubled)) % 10 == 0


def is_card(value: str) -> bool:
    """Return whether a number has the prefix and length of an issuer, and a right check digit."""
    digits = re.sub("[ -]", "", value)
    issued = any(len(digits) in sizes and low <= digits[: len(low)] <= high for _, low, high, sizes in _ISSUERS)
    return issued and len(set(digits)) > 1 and is_luhn(digits)


def card(text: str, start: int, end: int) -> Iterable[Span]:
    """Redact a card number. The last group of digits may belong to another number."""
    while end > start:
        if is_card(text[start:end]):
            return [(start, end)]
        end = max(text.rfind(" ", start, end), text.rfind("-", start, end))
    return []


# ── addresses ──


def email(text: str, start: int, end: int) -> Iterable[Span]:
    """Redact an address, unless it is a file name, the login of a Git server or the end of a URL's password."""
    local, _, domain = text[start:end].rpartition("@")
    authority = text.rfind("://", max(0, start - 256), start)
    inside_password = authority >= 0 and re.fullmatch(r"[^\s/:]*:[!#-&*+.0-:=?-~-]*", text[authority + 3 : start])
    if _FILE_ENDINGS.search(domain) or local == "git" or inside_password:
        return []
    return [(start, end)]


# ── secrets ──


def password(text: str, start: int, end: int) -> Iterable[Span]:
    """Redact a value assigned to a password: any that is neither a word nor a placeholder."""
    end = _without_stop(text, start, end)
    value = text[start:end]
    if _is_placeholder(value) or _is_code(text, start, end):
        return []
    mixed = bool(re.search("[0-9]", value)) or bool(re.search(r"[^\w\s.,:;/-]", value))
    return [(start, end)] if mixed else []


def token(text: str, start: int, end: int) -> Iterable[Span]:
    """Redact a value assigned to a key or token: a long one of high entropy."""
    end = _without_stop(text, start, end)
    value = text[start:end]
    if _is_placeholder(value) or value.isdigit() or _is_code(text, start, end):
        return []
    return [(start, end)] if _UUID.fullmatch(value) or is_random(value) else []


def provider_value(text: str, start: int, end: int) -> Iterable[Span]:
    """Redact a value assigned to the name of a provider. In quotation marks it may consist of letters only."""
    value = text[start:end]
    if _is_placeholder(value) or entropy(value) < 2.9:
        return []
    if "/" in value and len(value) < 30:  # a path
        return []
    long = (value.isalpha() and len(value) >= 24) or (value.isdigit() and len(value) >= 16)
    quoted = long and text[start - 1 : start] in ('"', "'", "`")
    return [(start, end)] if quoted or _UUID.fullmatch(value) or is_random(value) else []


def is_random(value: str) -> bool:
    """Return whether a value looks generated: letters with digits, or a long mixture of cases."""
    if len(value) < 10 or entropy(value) < 2.9 or not re.search("[A-Za-z]", value):
        return False
    mixed_case = len(re.findall("[a-z][A-Z]", value)) >= 3
    return bool(re.search("[0-9]", value)) or (len(value) >= 24 and mixed_case and entropy(value) >= 3.8)


def is_mixed(value: str) -> bool:
    """Return whether a value has upper- and lower-case letters, or digits."""
    return not (value.isalpha() and (value.isupper() or value.islower() or value.istitle()))


def is_template(value: str) -> bool:
    """Return whether a value is a variable to fill in, such as `{user}:{password}`."""
    return bool(_TEMPLATE.search(value))


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.match(value)) or (len(set(value.lower())) <= 2 and not value.isdigit())


def _is_code(text: str, start: int, end: int) -> bool:
    """Return whether the value is an expression: a call, an index or a type with parameters."""
    quoted = text[start - 1 : start] in ('"', "'", "`")
    return not quoted and bool(_EXPRESSION.match(text, start, end + 1))


def _without_stop(text: str, start: int, end: int) -> int:
    """Return the end of a value without the punctuation or the parameters of a URL that follow it."""
    parameter = _PARAMETER.search(text, start, end)
    end = parameter.start() if parameter else end
    while end > start and text[end - 1] in ".,:;!?":
        end -= 1
    return end
