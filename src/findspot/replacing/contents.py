"""Finds and replaces matches in the contents of documents. Runs in helper processes."""

from typing import cast

import msgspec

from findspot.errors import FindspotError, invalid, shortened
from findspot.replacing.matching import Match, Matcher
from findspot.replacing.prefilter import Prefilter
from findspot.replacing.rewrite import rewrite
from findspot.replacing.rule import ReplaceRule
from findspot.sources import Extract, Format
from findspot.sources.stored import read_stored
from findspot.versions.words import word_count

MAX_SHOWN = 2_000  # characters of a match, and of its replacement, in a preview
AROUND = 40  # characters shown before and after a match

UNREADABLE = "unreadable"
TOO_LARGE = "too_large"
UNSAFE = "unsafe"  # some matches cannot be replaced without changing other text


class Matches(msgspec.Struct, frozen=True, array_like=True):
    """The matches of a document: places of (start, end, number of the replacement), and the replacements."""

    places: list[tuple[int, int, int]]
    replacements: list[str]


class FoundCount(msgspec.Struct, frozen=True, array_like=True):
    """How many matches a content has, and why it could not be searched, or some matches not be replaced."""

    matches: int
    skipped: str | None = None


class ShownMatch(msgspec.Struct, frozen=True, array_like=True):
    """A match as a preview shows it: the text, what replaces it, and the text around it in its line."""

    start: int
    end: int
    before: str
    after: str
    leading: str
    trailing: str


class Excerpt(msgspec.Struct, frozen=True, array_like=True):
    """Which matches of a content a page shows: those from `first` on, up to `last`."""

    format: str
    first: int
    last: int


class Plan(msgspec.Struct, frozen=True, array_like=True):
    """A content to change, without the matches that begin at the places of `kept`."""

    document_id: int
    format: str
    kept: list[int]


class Rewritten(msgspec.Struct, frozen=True, array_like=True):
    """How many matches of a content were replaced, and why others were not."""

    replaced: int
    word_count: int = 0
    skipped: str | None = None


_MATCHES = msgspec.msgpack.Decoder(Matches)


def check_rule(rule: ReplaceRule) -> None:
    """Raise INVALID_ARGUMENT if nothing can be searched for by this rule."""
    Matcher(rule)


def find(rule: ReplaceRule, formats: list[str], contents: list[bytes]) -> tuple[list[FoundCount], list[bytes]]:
    """Find the matches in contents. Return their counts, and the encoded matches of each content."""
    matcher, prefilter = Matcher(rule), Prefilter(rule)
    counts, encoded = [], []
    for form, content in zip(formats, contents, strict=True):
        found, skipped = Matches([], []), None
        if prefilter.may_match(content, form):
            extract = _read(content, form)
            if extract is None:
                skipped = UNREADABLE
            else:
                matches, is_whole = _replaceable(list(matcher.matches(extract)), extract, content, form)
                found, skipped = _numbered(matches), None if is_whole else UNSAFE
        counts.append(FoundCount(len(found.places), skipped))
        encoded.append(msgspec.msgpack.encode(found) if found.places else b"")
    return counts, encoded


def show(excerpts: list[Excerpt], found: list[bytes], contents: list[bytes]) -> list[list[ShownMatch]]:
    """Return the matches of each content that a page of a preview shows."""
    return [
        _shown(read_stored(content, each.format), _MATCHES.decode(matches), each)
        for each, matches, content in zip(excerpts, found, contents, strict=True)
    ]


def replace(
    plans: list[Plan], limit: int, found: list[bytes], contents: list[bytes]
) -> tuple[list[Rewritten], list[bytes]]:
    """Return each content with its matches replaced. One that would be larger than `limit` bytes stays as it is."""
    outcomes, rewritten = [], []
    for plan, matches, content in zip(plans, found, contents, strict=True):
        chosen = _chosen(plan, _MATCHES.decode(matches))
        outcome, new = _replaced(plan, limit, chosen, content) if chosen else (Rewritten(0), b"")
        outcomes.append(outcome)
        rewritten.append(new)
    return outcomes, rewritten


def ranges(rule: ReplaceRule, form: str, limit: int, content: bytes) -> list[tuple[int, int]]:
    """Return the ranges of the first matches in a content."""
    matcher = Matcher(rule)
    if not Prefilter(rule).may_match(content, form):
        return []
    return list(matcher.ranges(read_stored(content, form), limit))


def _read(content: bytes, form: str) -> Extract | None:
    """Return the text of a content; None if it is damaged, which must not stop the others from being found."""
    try:
        return read_stored(content, form)
    except FindspotError:
        return None


def _replaceable(matches: list[Match], extract: Extract, content: bytes, form: str) -> tuple[list[Match], bool]:
    """Return the matches that can be replaced, and whether these are all. Only Markdown may have others."""
    if form != "markdown" or not matches:
        return matches, True
    left = frozenset(rewrite(content.decode(), "markdown", extract, matches).left)
    return [each for each in matches if each not in left], not left


def _numbered(matches: list[Match]) -> Matches:
    numbers: dict[str, int] = {}
    places = [(each.start, each.end, numbers.setdefault(each.replacement, len(numbers))) for each in matches]
    return Matches(places, list(numbers))


def _shown(extract: Extract, found: Matches, excerpt: Excerpt) -> list[ShownMatch]:
    text = extract.text
    return [
        ShownMatch(
            start,
            end,
            shortened(text[start:end], MAX_SHOWN),
            shortened(found.replacements[number], MAX_SHOWN),
            text[max(0, start - AROUND) : start].rpartition("\n")[2],
            text[end : end + AROUND].partition("\n")[0],
        )
        for start, end, number in found.places[excerpt.first : excerpt.last]
    ]


def _chosen(plan: Plan, found: Matches) -> list[Match]:
    kept = set(plan.kept)
    if unknown := kept - {start for start, _, _ in found.places}:
        raise invalid("exclude", f"document {plan.document_id} has no match that starts at {min(unknown)}")
    return [Match(start, end, found.replacements[number]) for start, end, number in found.places if start not in kept]


def _replaced(plan: Plan, limit: int, matches: list[Match], content: bytes) -> tuple[Rewritten, bytes]:
    if len(content) - sum(each.end - each.start for each in matches) * 4 + _size(matches) > limit:
        return Rewritten(0, skipped=TOO_LARGE), b""
    extract = read_stored(content, plan.format)
    rewritten = rewrite(content.decode(), cast(Format, plan.format), extract, matches)
    new = rewritten.content.encode()
    if len(new) > limit:
        return Rewritten(0, skipped=TOO_LARGE), b""
    left = frozenset(rewritten.left)
    done = [each for each in matches if each not in left]
    skipped = UNSAFE if left else None
    return Rewritten(len(done), word_count(_text_after(extract.text, done)), skipped), new


def _size(matches: list[Match]) -> int:
    sizes: dict[str, int] = {}
    for each in matches:
        if each.replacement not in sizes:
            sizes[each.replacement] = len(each.replacement.encode())
    return sum(sizes[each.replacement] for each in matches)


def _text_after(text: str, matches: list[Match]) -> str:
    """Return the text of the new content, which need not be extracted for that."""
    parts, last = [], 0
    for each in matches:
        parts += [text[last : each.start], each.replacement]
        last = each.end
    return "".join([*parts, text[last:]])
