"""Texts with private values at known places, read from a folder of fixtures or written here by rule."""

import ast
import importlib
import json
import random
import re
import string
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import phonenumbers

SEED = 16
EACH = 300  # national numbers of a country
SENTENCES = ("{}", "Call {} before noon.", "请拨打电话{}联系我们。", "聯絡人：王小明 {}，謝謝")
OTHER_SECRETS = ("basic_auth", "jwt")  # tests of detect-secrets for secrets that belong to no provider
UNNAMED = ("base", "high_entropy", "ip_public", "keyword")  # tests for values without a sign that they are secret

# Rules of gitleaks for values that are no provider's key.
NO_KEYS = ("generic-", "curl-", "kubernetes-", "nuget-config", "jwt", "private-key", "sidekiq-sensitive")


@dataclass(frozen=True, slots=True)
class Sample:
    """A text and the private value in it."""

    text: str
    start: int
    end: int
    source: str

    @property
    def value(self) -> str:
        return self.text[self.start : self.end]


def placed(value: str, source: str, sentences: tuple[str, ...] = SENTENCES) -> Iterator[Sample]:
    for sentence in sentences:
        start = sentence.index("{}")
        yield Sample(sentence.replace("{}", value), start, start + len(value), source)


# ── addresses and numbers ──


def recognised(fixtures: Path, recogniser: str, place: int) -> Iterator[Sample]:
    """Yield the values whose positions the cases of Presidio name."""
    for case in json.loads((fixtures / "pii" / "presidio_recognizer_cases.json").read_text(encoding="utf-8")):
        if case["recognizer"] == recogniser:
            for start, end in case["expected"][place]:
                yield Sample(case["text"], start, end, "presidio")


def emails(fixtures: Path) -> list[Sample]:
    found = list(recognised(fixtures, "email", 1))
    for name in ("presidio_demo.txt",):
        text = (fixtures / "pii" / name).read_text(encoding="utf-8")
        found += [Sample(text, at.start(), at.end(), name) for at in re.finditer(r"\w+@\w+\.\w+", text)]
    values = sorted({sample.value for sample in found})
    wide = str.maketrans({chr(point): chr(point + 0xFEE0) for point in range(0x21, 0x7F)})
    return found + [
        sample for value in values for form in (value, value.translate(wide)) for sample in placed(form, "placed")
    ]


def international_numbers(fixtures: Path) -> list[Sample]:
    found: list[Sample] = []
    for row in json.loads((fixtures / "pii" / "phone_examples.json").read_text(encoding="utf-8")):
        number = phonenumbers.parse(row["e164"])
        spaced = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
        for form in (row["e164"], spaced):
            found += placed(form, row["region"])
    return found + [each for each in recognised(fixtures, "phone", 2) if each.value.startswith("+")]


def chinese_numbers(fixtures: Path) -> list[Sample]:
    """Return mobile and landline numbers of China in the forms that people write."""
    chance = random.Random(SEED)
    forms = []
    for row in json.loads((fixtures / "pii" / "phone_examples.json").read_text(encoding="utf-8")):
        if row["region"] == "CN":
            number = phonenumbers.parse(row["e164"])
            forms.append(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL))
    while len(forms) < EACH:
        mobile = _valid(chance, "CN", "1", 11)
        forms += [mobile, f"{mobile[:3]} {mobile[3:7]} {mobile[7:]}", f"{mobile[:3]}-{mobile[3:7]}-{mobile[7:]}"]
        forms.append(mobile.translate({ord("0") + n: chr(0xFF10 + n) for n in range(10)}))
        for area, length in (("010", 11), ("021", 11), ("0755", 12), ("0571", 12), ("028", 11)):
            whole = _valid(chance, "CN", area + chance.choice("2345678"), length)
            local = whole[len(area) :]
            forms += [f"{area}-{local}", f"({area}){local}", f"（{area}）{local}", f"{area} {local[:4]} {local[4:]}"]
    return [sample for form in forms for sample in placed(form, "China")]


def american_numbers(fixtures: Path) -> list[Sample]:
    """Return numbers of the United States in the forms that people write."""
    chance = random.Random(SEED)
    found = [each for each in recognised(fixtures, "phone", 2) if re.fullmatch(r"\(?415\)?[ -]?555-0132", each.value)]
    for _ in range(EACH // 5):
        number = _valid(chance, "US", chance.choice("23456789"), 10)
        area, exchange, line = number[:3], number[3:6], number[6:]
        for form in ("({}) {}-{}", "({}){}-{}", "{}-{}-{}", "{}.{}.{}", "{} {} {}", "1-{}-{}-{}"):
            found += placed(form.format(area, exchange, line), "United States")
        found += placed(number, "United States", ("{}", "my phone number is {}", "手机：{}"))
    return [each for each in found if "is" + each.value not in each.text]  # a number inside a word is not expected


def _valid(chance: random.Random, region: str, start: str, length: int) -> str:
    while True:
        digits = start + "".join(chance.choices("0123456789", k=length - len(start)))
        if phonenumbers.is_valid_number(phonenumbers.parse(digits, region)):
            return digits


def cards(fixtures: Path) -> list[Sample]:
    return list(recognised(fixtures, "credit_card", 2))


# ── keys of providers ──


def tested_keys(fixtures: Path, *, of_providers: bool) -> list[Sample]:
    """Return the payloads that the tests of detect-secrets expect to be found."""
    found = []
    for file in sorted((fixtures / "secrets" / "detect_secrets_plugin_tests").glob("*_test.py")):
        belongs_to_provider = not file.name.startswith(OTHER_SECRETS)
        if file.name.startswith(UNNAMED) or belongs_to_provider is not of_providers:
            continue
        for payload in _payloads(ast.parse(file.read_text(encoding="utf-8"))):
            found.append(Sample(payload, 0, len(payload), file.stem.removesuffix("_test")))
    return found


def _payloads(module: ast.Module) -> Iterator[str]:
    """Yield the texts of `(text, True)` in parameters, and single texts where a test has only those."""
    constants = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(module):
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "parametrize"):
            continue
        names = ast.literal_eval(node.args[0])
        rows = node.args[1].elts if isinstance(node.args[1], ast.List | ast.Tuple) else []
        for row in rows:
            if names in ("line", "payload", "file_content"):
                yield _text(row, constants)
            elif "flag" in names and isinstance(row, ast.Tuple) and ast.unparse(row.elts[1]) == "True":
                yield _text(row.elts[0], constants)


def _text(node: ast.expr, constants: dict[str, str]) -> str:
    """Return the value of a constant, or of `"…".format(…)` with constants."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        named = {each.arg or "": _text(each.value, constants) for each in node.keywords}
        return _text(node.func.value, constants).format(*(_text(each, constants) for each in node.args), **named)
    if isinstance(node, ast.Name):
        return constants[node.id]
    return str(ast.literal_eval(node))


def shaped_keys(fixtures: Path, each: int = 3) -> list[Sample]:
    """Return random keys in the shape that each rule of gitleaks describes, alone or assigned to a provider's name."""
    rules = tomllib.loads((fixtures / "secrets" / "gitleaks.toml").read_text(encoding="utf-8"))["rules"]
    chance = random.Random(SEED)
    found: list[Sample] = []
    for rule in rules:
        pattern = rule.get("regex", "")
        if not pattern or rule["id"].startswith(NO_KEYS):
            continue
        assigned = re.search(r"\[\\x60'\"\\s=\]\{0,5\}\((.+?)\)\(\?:\[\\x60", pattern)
        for _ in range(each):
            value = _random(assigned[1] if assigned else _core(pattern), chance).strip("\"'")
            named = not any(word in value.lower() for word in rule["keywords"])
            name = f'{rule["keywords"][0].strip("_-.")}_api_key = "{{}}"' if named else "{}"
            found += placed(value, rule["id"], (name,))
    return found


def _core(pattern: str) -> str:
    """Return a pattern without the context that it requires around a key."""
    return re.sub(r"\(\?:\[\\x60.*$|\(\?:\[\^.*\\z\)$|^\(\?:\^\|.*?\]\)|\(\?:\$\|.*$", "", pattern)


def _random(pattern: str, chance: random.Random) -> str:
    plain = re.sub(r"\(\?i\)", "", pattern).replace("(?-i:", "(?:").replace("(?i:", "(?:").replace("(?s:", "(?:")
    plain = plain.replace("[[:alnum:]]", "[0-9A-Za-z]").replace(r"\z", "$")
    tree = importlib.import_module("re._parser").parse(plain)
    return "".join(_chosen(tree, chance))


def _chosen(tree: Any, chance: random.Random) -> Iterator[str]:
    for kind, content in tree:
        match str(kind):
            case "LITERAL":
                yield chr(content)
            case "IN":
                yield chance.choice(sorted(_members(content)))
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inner = content
                for _ in range(chance.randint(least, min(int(most), least + 20))):
                    yield from _chosen(inner, chance)
            case "BRANCH":
                yield from _chosen(chance.choice(content[1]), chance)
            case "SUBPATTERN":
                yield from _chosen(content[3], chance)
            case "ANY":  # the rules have it for a dot
                yield "."


def _members(content: Any) -> set[str]:
    found: set[str] = set()
    for kind, value in content:
        match str(kind):
            case "LITERAL":
                found.add(chr(value))
            case "RANGE":
                found |= {chr(point) for point in range(value[0], value[1] + 1)}
            case "CATEGORY":
                kinds = {"DIGIT": string.digits, "SPACE": " ", "WORD": string.ascii_letters + string.digits + "_"}
                found |= set(kinds[str(value).rpartition("_")[2]])
    return found


# ── prose ──

PROSE = ("squad2_dev_articles", "beir_scifact", "zh_cmrc_packed", "zh_stard_laws", "zh_novels", "wiki_articles")


def prose(data: Path, name: str) -> Iterator[str]:
    """Yield the texts of a collection: a question set's corpus, or every string of a JSON file."""
    corpus = data / name / "corpus.jsonl"
    if corpus.exists():
        with corpus.open(encoding="utf-8", newline="\n") as rows:
            yield from (json.loads(row)["text"] for row in rows)
    else:
        yield from _strings(json.loads((data / "json" / f"{name}.json").read_text(encoding="utf-8")))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
