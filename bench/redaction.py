"""`make bench-redaction`: does redaction find private values, does it leave prose alone, and what does it cost?"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import redaction_samples as samples
from bench.redaction_samples import Sample
from bench.report import Figure, Report, percentile
from findspot.retrieval.redaction import Redactor

PASSAGE = 1000  # characters
PASSAGES = 50  # of one answer
ROUNDS = 20
SHOWN = 20

HOW = """`make bench-redaction ARGS="--data DIR"` redacts the fixtures and the prose of a folder, each text by itself.

- **Found**: a value counts if one redaction of its kind covers all of it. E-mail addresses are those of Presidio's
  cases, alone and in English, simplified and traditional Chinese sentences, also in full width. International numbers
  are libphonenumber's examples for every region, as E.164 and with spaces, in the same sentences. Chinese and US
  numbers are theirs and random valid ones, in the forms that people write. Provider keys are the payloads that
  detect-secrets expects to be found (such a key counts if its longest run of characters is gone), and random keys in
  the shapes of {shapes} rules of gitleaks.
- **Prose**: *every* redaction counts, also a correct one. A word is a Latin word, or two Han characters.
- **Time**: processor time of passages of {passage:,} characters on one thread. Retrieval answers with 5 to 50 passages.
"""

VALUES = (
    "a.b@example.com", "13800138000", "(415) 555-0132", "+44 20 7946 0018", "4111 1111 1111 1111", "010-62345678",
    "11010519491231002X", "密码：fake-Passw0rd", "https://u:fake1@example.com", "AKIA" + "FAKE" * 4,
)  # fmt: skip

_LAUNCH = """
import time
started = time.process_time()
from findspot.retrieval.redaction import Redactor
Redactor().redact("nothing")
compiled = time.process_time()
Redactor().redact("13800138000")
print(compiled - started, time.process_time() - compiled)
"""


def measure(data: Path) -> Report:
    shapes = samples.shaped_keys(data / "fixtures")
    how = HOW.format(shapes=len({each.source for each in shapes}), passage=PASSAGE)
    report = Report("redaction", "Redaction", how.strip())
    _found(report, data / "fixtures", shapes)
    _prose(report, data)
    _time(report, data)
    return report


def _found(report: Report, fixtures: Path, shapes: list[Sample]) -> None:
    section = "Found"
    for what, kind, known, least in (
        ("e-mail addresses", "email", samples.emails(fixtures), 0.98),
        ("phone numbers, international form", "phone", samples.international_numbers(fixtures), 0.98),
        ("phone numbers, Chinese national forms", "phone", samples.chinese_numbers(fixtures), 0.98),
        ("phone numbers, US national forms", "phone", samples.american_numbers(fixtures), 0.98),
        ("bank cards", "card", samples.cards(fixtures), 0.95),
        ("provider keys, random ones in the shapes of gitleaks", "secret", shapes, 0.95),
    ):
        missed = [each for each in known if not _covers(each, kind)]
        report.add(section, Figure(f"{what} ({len(known):,})", 1 - len(missed) / len(known), "", least=least))
        _show(f"missed {each.value!r} ({each.source})" for each in missed)
    for what, of_providers in (("provider keys", True), ("JSON Web Tokens and passwords in URLs", False)):
        known = samples.tested_keys(fixtures, of_providers=of_providers)
        missed = [each for each in known if not _removes(each)]
        title = f"{what}, detect-secrets ({len(known):,})"
        report.add(section, Figure(title, 1 - len(missed) / len(known), "", least=0.95))
        _show(f"missed {each.text!r} ({each.source})" for each in missed)


def _covers(sample: Sample, kind: str) -> bool:
    found = Redactor().redact(sample.text).redactions
    return any(each.kind == kind and each.start <= sample.start and each.end >= sample.end for each in found)


def _removes(sample: Sample) -> bool:
    """Return whether the longest run of characters that a key may have is gone."""
    longest = max(re.findall(r"[0-9A-Za-z_+/=-]+", sample.text), key=len)
    return longest not in Redactor().redact(sample.text).text


def _prose(report: Report, data: Path) -> None:
    section = "Redactions per 10,000 words of prose"
    words_in_all, found_in_all = 0, 0
    for name in samples.PROSE:
        words, found = 0, []
        for text in samples.prose(data, name):
            words += len(re.findall(r"[A-Za-z0-9']+", text)) + len(re.findall(r"[\u3400-\u9fff]", text)) // 2
            for passage in _cut(text):
                found += [
                    f"{each.kind}: {passage[max(0, each.start - 30) : each.end + 10]!r}"
                    for each in Redactor().redact(passage).redactions
                ]
        title = f"{name} ({words:,} words, {len(found)} redactions)"
        report.add(section, Figure(title, len(found) / words * 10_000, "", 1))
        _show(found)
        words_in_all, found_in_all = words_in_all + words, found_in_all + len(found)
    title = f"all ({words_in_all:,} words, {found_in_all} redactions)"
    report.add(section, Figure(title, found_in_all / words_in_all * 10_000, "", 1))


def _cut(text: str) -> Iterable[str]:
    return (text[at : at + PASSAGE] for at in range(0, len(text), PASSAGE))


def _time(report: Report, data: Path) -> None:
    english = _passages(data, "squad2_dev_articles")
    chinese = _passages(data, "zh_novels")
    private = [_with_values(text, VALUES) for text in chinese]
    for what, texts, bound in (
        ("English passages with nothing private", english, 1000),
        ("Chinese passages with nothing private", chinese, 1000),
        ("Chinese passages with ten private values", private, None),
    ):
        times = [_timed([text]) for _ in range(ROUNDS) for text in texts]
        for name, share in (("median", 0.5), ("p95", 0.95)):
            report.add("Time of a passage", Figure(f"{what}, {name}", percentile(times, share) * 1000, "µs", bound))
    for what, texts in (("nothing private", chinese), ("ten private values each", private)):
        whole = [_timed(texts) for _ in range(ROUNDS)]
        title = f"{len(texts)} Chinese passages with {what}, p95"
        report.add("Time of an answer", Figure(title, percentile(whole, 0.95), "ms"))
    command = [sys.executable, "-c", _LAUNCH]
    rules, metadata = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    report.add("First use in a process", Figure("load and compile the rules", float(rules) * 1000, "ms"))
    report.add("First use in a process", Figure("load the metadata of phone numbers", float(metadata) * 1000, "ms"))


def _passages(data: Path, name: str) -> list[str]:
    whole = (passage for text in samples.prose(data, name) for passage in _cut(text) if len(passage) == PASSAGE)
    return [passage for passage, _ in zip(whole, range(PASSAGES), strict=False)]


def _with_values(text: str, values: Sequence[str]) -> str:
    step = len(text) // len(values)
    parts = (text[at * step : (at + 1) * step - len(value) - 2] + f" {value}，" for at, value in enumerate(values))
    return "".join(parts)


def _timed(texts: Sequence[str]) -> float:
    redactor = Redactor()
    started = time.process_time()
    for text in texts:
        redactor.redact(text)
    return (time.process_time() - started) * 1000


def _show(lines: Iterable[str]) -> None:
    for line, _ in zip(lines, range(SHOWN), strict=False):
        print(f"    {line}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with fixtures/ and the collections of prose")
    parser.add_argument("--write", action="store_true", help="write docs/bench/redaction.md")
    options = parser.parse_args()
    report = measure(options.data)
    return report.finish(write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
