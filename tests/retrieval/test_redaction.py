"""Redaction: placeholders, offsets and overlaps, for any text."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.chunking.graphemes import is_boundary
from findspot.retrieval.redaction import Redacted, Redactor
from findspot.retrieval.redaction_folding import fold
from findspot.retrieval.redaction_rules import CustomPattern, custom_rules

PRIVATE = (
    "name@example.com", "李明@例子.公司", "13800138000", "１３８００１３８０００", "+44 20 7946 0018",
    "(415) 555-0132", "010-62345678", "4111 1111 1111 1111", "11010519491231002X",
    "https://fake:fake1@example.com/", "密码：fake-Passw0rd", "AKIAFAKEFAKEFAKEFAKE",
)  # fmt: skip
OTHER = (
    "她说", "the quick brown", "廢棄倉庫", " ", "\n", "，", "@", "密码", "token", "1999", "-", ".",
    "[EMAIL_1]", "[PHONE_2]",
    "👩‍👩‍👧", "🇨🇳", "e\u0301", "\u0301", "1️⃣", "\u200b", "ｆｕｌｌ", "x", "7", ":", "//", "\ud800", "क्षि",
)  # fmt: skip
texts = st.lists(st.sampled_from(PRIVATE + OTHER) | st.text(max_size=8), max_size=14).map("".join)
each_text = given(texts)


def put_back(original: str, redacted: Redacted) -> str:
    """Return the redacted text with the original values in place of their placeholders, found from left to right."""
    rest, whole = redacted.text, ""
    at = 0
    for each in redacted.redactions:
        kept = original[at : each.start]
        assert rest.startswith(kept + each.placeholder)
        rest = rest[len(kept) + len(each.placeholder) :]
        whole += kept + original[each.start : each.end]
        at = each.end
    return whole + rest


# ── what holds for any text ──


@each_text
def test_only_the_redacted_ranges_change(text: str) -> None:
    assert put_back(text, Redactor().redact(text)) == text


@each_text
def test_ranges_are_in_order_within_the_text_and_do_not_overlap(text: str) -> None:
    at = 0
    for each in Redactor().redact(text).redactions:
        assert at <= each.start < each.end <= len(text)
        at = each.end


@each_text
def test_no_grapheme_cluster_is_split(text: str) -> None:
    for each in Redactor().redact(text).redactions:
        assert is_boundary(text, 0, each.start)
        assert is_boundary(text, 0, each.end)


@given(st.lists(texts, max_size=4))
def test_a_placeholder_stands_for_one_value_in_all_texts_of_an_answer(passages: list[str]) -> None:
    redactor = Redactor()
    values: dict[str, set[str]] = {}
    for text in passages:
        redacted = redactor.redact(text)
        for each in redacted.redactions:
            value = fold(text[each.start : each.end]).text
            if each.kind in ("phone", "card", "id_number"):
                value = re.sub(r"\W", "", value)
            same = value if each.kind == "secret" else value.casefold()
            values.setdefault(each.placeholder, set()).add(same)
        kept = re.sub(
            "|".join(re.escape(each.placeholder) for each in redacted.redactions) or "(?!)", "", redacted.text
        )
        assert not [each for each in values if each in kept], "a placeholder in the text poses as a value"
    assert all(len(each) == 1 for each in values.values())
    placeholders = [placeholder for placeholder in values if not placeholder.startswith("[SECRET")]
    assert len({next(iter(values[each])) for each in placeholders}) == len(placeholders)


@each_text
def test_equal_texts_give_equal_answers_and_are_counted(text: str) -> None:
    one, two = Redactor(), Redactor()
    assert one.redact(text) == two.redact(text)
    assert one.counts.total() == len(two.redact(text).redactions)


@given(
    st.sampled_from(PRIVATE),
    st.text(alphabet="她说，。the \n😀", max_size=10),
    st.text(alphabet="請。the \n😀", max_size=10),
)
def test_a_private_value_never_survives(value: str, before: str, after: str) -> None:
    text = f"{before} {value} {after}"
    assert value not in Redactor().redact(text).text


@given(st.sampled_from(PRIVATE), st.sampled_from(["她说", "請", "（", "：", "，", "。", "😀", "é"]))
def test_chinese_neighbours_need_no_space(value: str, neighbour: str) -> None:
    if value[0] in "李密" or neighbour == "é":
        value = f" {value} "  # letters of the same script could belong to the value
    assert value not in Redactor().redact(f"{neighbour}{value}{neighbour}").text


@given(st.sampled_from([value for value in PRIVATE if value.isascii()]))
def test_full_width_forms_are_found_at_the_same_places(value: str) -> None:
    text = f"见：{value}。"
    wide = text.translate({point: point + 0xFEE0 for point in range(0x21, 0x7F)})
    places = [(each.start, each.end, each.kind) for each in Redactor().redact(text).redactions]
    assert places
    assert [(each.start, each.end, each.kind) for each in Redactor().redact(wide).redactions] == places


# ── placeholders ──


def test_a_value_keeps_its_placeholder_in_all_texts_of_an_answer() -> None:
    redactor = Redactor()
    first = redactor.redact("写信给a@example.com或b@example.com，电话138 0013 8000")
    second = redactor.redact("B@EXAMPLE.COM、ａ＠example.com、13800138000、13800138001")
    assert first.text == "写信给[EMAIL_1]或[EMAIL_2]，电话[PHONE_1]"
    assert second.text == "[EMAIL_2]、[EMAIL_1]、[PHONE_1]、[PHONE_2]"
    assert redactor.counts == {"email": 4, "phone": 3}


def test_offsets_refer_to_the_original_text() -> None:
    text = "邮箱：a@example.com；手机１３８００１３８０００。"
    redacted = Redactor().redact(text)
    assert [(each.kind, text[each.start : each.end]) for each in redacted.redactions] == [
        ("email", "a@example.com"),
        ("phone", "１３８００１３８０００"),
    ]


def test_a_text_with_nothing_private_is_returned_as_it_is() -> None:
    for text in ("", "他走进了废弃的仓库。", "The quick brown fox 🦊 jumps."):
        assert Redactor().redact(text) == Redacted(text, ())


def test_a_placeholder_in_the_text_is_not_used_for_a_value() -> None:
    assert Redactor().redact("[EMAIL_1] means a@example.com").text == "[EMAIL_1] means [EMAIL_2]"


def test_a_later_text_cannot_pose_as_an_earlier_value() -> None:
    redactor = Redactor()
    assert redactor.redact("a@example.com").text == "[EMAIL_1]"
    assert redactor.redact("[EMAIL_1] and b@example.com").text == "[EMAIL_2] and [EMAIL_3]"


# ── overlaps ──


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://fake:fake1@example.com/", "https://[SECRET_1]@example.com/"),  # fake1@example.com is no address
        ("见http://host:8080，联系a@example.com", "见http://host:8080，联系[EMAIL_1]"),  # a port is no password
        ("smtp://me@example.com:fake1@smtp.example.com", "smtp://[SECRET_1]@smtp.example.com"),
        ("token=AKIAFAKEFAKEFAKEFAKE", "token=[SECRET_1]"),  # two rules for one value
        ("password: fake1@example.com", "password: [SECRET_1]"),
        ("证件11010519491231002X", "证件[ID_NUMBER_1]"),
        ("手机：11010519491231002X", "手机：[ID_NUMBER_1]"),  # the longest decides
    ],
)
def test_overlapping_values_become_one(text: str, kept: str) -> None:
    assert Redactor().redact(text).text == kept


def test_values_that_overlap_in_part_are_redacted_together() -> None:
    rules = custom_rules([CustomPattern("code", "[A-Z]{3}[0-9]{4}"), CustomPattern("longer", "[0-9]{4}[a-z]{6}")], [])
    redacted = Redactor(rules).redact("见ABC1234abcdef。")
    assert redacted.text == "见[LONGER_1]。"


def test_values_side_by_side_stay_apart() -> None:
    assert Redactor().redact("a@example.com,b@example.com").text == "[EMAIL_1],[EMAIL_2]"
    assert Redactor().redact("4111 1111 1111 1111 4012 8888 8888 1881").text == "[CARD_1] [CARD_2]"
    assert Redactor().redact("2026 4111 1111 1111 1111").text == "2026 [CARD_1]"


# ── private keys ──


def test_a_private_key_is_redacted_with_what_a_cut_left_of_it() -> None:
    body = "\n".join(["FakeFake0FakeFake1FakeFake2FakeFake3"] * 4)
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    for text in (f"{begin}\n{body}\n{end}", f"{begin}\n{body}", f"{body}\n{end}"):
        redacted = Redactor().redact(f"钥匙：\n{text}\n完")
        assert "Fake" not in redacted.text
        assert redacted.text.startswith("钥匙：\n[SECRET_1]")
        assert redacted.text.endswith("完")


# ── cost ──


def test_phone_metadata_is_loaded_only_for_a_candidate() -> None:
    program = (
        "import sys; from findspot.retrieval.redaction import Redactor;"
        "Redactor().redact('nothing here, 1999'); assert 'phonenumbers' not in sys.modules;"
        "Redactor().redact('13800138000'); assert 'phonenumbers' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 50_000, "1" * 50_000, "a@" * 20_000, "a.b" * 20_000 + "@", "+1 " * 20_000, "password=" * 8_000,
        "(" * 50_000, "://a:" * 10_000, "-----BEGIN PRIVATE KEY-----" * 2_000, "eyJ" * 20_000, "4111 " * 10_000,
        "[EMAIL_" * 8_000, "密码：" * 20_000, "e\u0301" * 20_000, "&a=" * 20_000,
        "A" * 25_000 + "b" * 25_000, "电话" * 20_000, "\n7" * 20_000,
    ],
)  # fmt: skip
def test_a_hostile_text_ends(hostile: str) -> None:
    redacted = Redactor().redact(hostile)
    assert put_back(hostile, redacted) == hostile
