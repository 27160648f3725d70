from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from findspot.replacing.rewrite import rewrite
from findspot.sources import Format, extract
from tests.replacing.documents import a_part_of, contents, found, plain_sources, read, replaced_text, replacements


@given(plain_sources, replacements, st.data())
def test_plain_text_is_the_text_with_its_matches_replaced(source: str, replace: str, data: st.DataObject) -> None:
    extracted = extract(source, "text")
    matches = found(extracted, a_part_of(data.draw, source), replace)
    done = rewrite(source, "text", extracted, matches)
    assert done.content == replaced_text(extracted, matches)
    assert done.left == ()


@given(contents)
def test_without_matches_the_content_stays(content: tuple[Format, str]) -> None:
    format, source = content
    assert rewrite(source, format, read(source, format), []).content == source


@given(contents, st.data())
def test_each_match_can_be_replaced_alone(content: tuple[Format, str], data: st.DataObject) -> None:
    format, source = content
    extracted = read(source, format)
    search = a_part_of(data.draw, extracted.text)
    for match in found(extracted, search, "林小溪")[:3]:
        done = rewrite(source, format, extracted, [match])
        if not done.left:
            after = read(done.content, format).text
            assert after.count("林小溪") >= 1
            assert json.dumps(after) != json.dumps(extracted.text) or search == "林小溪"
