from __future__ import annotations

import pytest

from findspot.replacing.casing import with_case_of


@pytest.mark.parametrize(
    ("matched", "replacement", "expected"),
    [
        ("Warehouse", "factory", "Factory"),
        ("WAREHOUSE", "factory", "FACTORY"),
        ("warehouse", "Factory", "factory"),
        ("wareHouse", "Factory", "factory"),
        ("WareHouse", "iPhone factory", "IPhone factory"),
        ("林小雨", "Lin Xiaoxi", "Lin Xiaoxi"),
        ("123", "Abc", "Abc"),
        ("仓库A区", "factory b", "Factory b"),
        ("ÄRZTE", "straße", "STRASSE"),
        ("Ärzte", "özil", "Özil"),
        ("Москва", "київ", "Київ"),
        ("I", "we", "We"),
        ("Foo-Bar", "one-two", "One-Two"),
        ("FOO-bar", "one-two", "ONE-two"),
        ("foo_Bar", "One_two", "one_Two"),
        ("Foo-Bar", "one two", "One two"),
        ("Warehouse", "", ""),
        ("Warehouse", "工厂", "工厂"),
        ("Warehouse", "1 factory", "1 Factory"),
    ],
)
def test_a_replacement_takes_the_case_of_the_text_that_it_replaces(
    matched: str, replacement: str, expected: str
) -> None:
    assert with_case_of(matched, replacement) == expected
