"""The table of redaction rules: every row finds its example, leaves its counter-example, and belongs where it is."""

import re

import pytest

from findspot.errors import FindspotError
from findspot.retrieval.redaction import Redactor
from findspot.retrieval.redaction_checks import entropy, is_card, is_id_number, is_luhn
from findspot.retrieval.redaction_rule import Rule
from findspot.retrieval.redaction_rules import (
    DEFAULT_RULES,
    MAX_ALLOWED,
    MAX_PATTERN_LENGTH,
    MAX_PATTERNS,
    CustomPattern,
    Rules,
    custom_rules,
)

KINDS = {"secret", "id_number", "card", "email", "phone"}
each_rule = pytest.mark.parametrize("rule", DEFAULT_RULES.rules, ids=lambda rule: rule.name)


# ── the table ──


@each_rule
def test_a_rule_finds_its_example_and_not_its_counter_example(rule: Rule) -> None:
    assert Redactor(Rules((rule,))).redact(rule.example).redactions, rule.example
    assert Redactor(Rules((rule,))).redact(rule.counter_example).redactions == (), rule.counter_example


@each_rule
def test_an_example_is_found_in_any_text_with_the_kind_of_its_rule(rule: Rule) -> None:
    sentences = ("see {} here", "请看{}，谢谢", "請看「{}」😀", "\n{}\n", "{}")
    for sentence in sentences[3:] if rule.pattern.startswith("(?m)^") else sentences:
        text = sentence.format(rule.example)
        assert rule.kind in {each.kind for each in Redactor().redact(text).redactions}, text


@each_rule
def test_a_rule_has_a_known_kind_keywords_in_lower_case_and_an_example_with_one_of_them(rule: Rule) -> None:
    assert rule.kind in KINDS
    assert rule.keywords == tuple(word.lower() for word in rule.keywords)
    assert not rule.keywords or any(word in rule.example.replace("：", ":").lower() for word in rule.keywords)


def test_rules_have_different_names() -> None:
    names = [rule.name for rule in DEFAULT_RULES.rules]
    assert len(set(names)) == len(names)


# ── checks ──


@pytest.mark.parametrize(
    ("number", "valid"),
    [
        ("11010519491231002X", True),
        ("11010519491231002x", True),
        ("440524188001010014", True),
        ("440524 18800101 0014", True),
        ("110105194912310021", False),  # the check digit
        ("990105194912310029", False),  # the province
        ("110105194913310024", False),  # the month
    ],
)
def test_an_id_number_needs_its_checksum_a_province_and_a_date(number: str, valid: bool) -> None:
    assert is_id_number(number) is valid
    assert bool(Redactor().redact(f"身份证号{number}。").redactions) is valid


@pytest.mark.parametrize(
    ("number", "valid"),
    [
        ("4111111111111111", True),
        ("4111-1111-1111-1111", True),
        ("3782 822463 10005", True),
        ("6222021234567890128", True),
        ("5555555555554444", True),
        ("4111111111111112", False),  # the check digit
        ("9111111111111111", False),  # no issuer
        ("41111111111111116", False),  # the length
        ("0000000000000000", False),
    ],
)
def test_a_card_needs_its_check_digit_and_the_prefix_and_length_of_an_issuer(number: str, valid: bool) -> None:
    assert is_card(number) is valid


def test_each_single_wrong_digit_is_noticed() -> None:
    number = "4111111111111111"
    assert is_luhn(number)
    for at in range(len(number)):
        assert not is_luhn(number[:at] + str((int(number[at]) + 3) % 10) + number[at + 1 :])


def test_entropy_is_measured_in_bits_per_character() -> None:
    assert entropy("aaaa") == 0
    assert entropy("abcd") == 2
    assert entropy("0123456789abcdef") == 4


# ── values ──


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("邮箱zhang.san@example.com请查收", "邮箱[EMAIL_1]请查收"),
        ("写信给josé.garcía@exämple.com.", "写信给[EMAIL_1]."),
        ("почта@пример.рф", "[EMAIL_1]"),
        ("ｎａｍｅ＠ｅｘａｍｐｌｅ．ｃｏｍ", "[EMAIL_1]"),
        ("用户@例子.中国 和 user@例子.公司", "[EMAIL_1] 和 [EMAIL_2]"),
        ("<a@b.cn>,c@d.cn;e@f.cn", "<[EMAIL_1]>,[EMAIL_2];[EMAIL_3]"),
        ('"two words"@example.com', "[EMAIL_1]"),
        ("name@sub_domain.example.com, name@例え.jp", "[EMAIL_1], [EMAIL_2]"),
        ("a@xn--d1acufc.xn--p1ai", "[EMAIL_1]"),
        ("git@github.com:org/repo, icon@2x.png, @someone, 你好@李明, npm i pkg@1.2.3", None),
    ],
)
def test_addresses_are_found_in_every_script_and_without_spaces(text: str, kept: str | None) -> None:
    assert Redactor().redact(text).text == (text if kept is None else kept)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("电话13800138000请", "电话[PHONE_1]请"),
        ("電話１３８００１３８０００請", "電話[PHONE_1]請"),
        ("手机138-0013-8000或138 0013 8001", "手机[PHONE_1]或[PHONE_2]"),
        ("致电+86 138 0013 8000！", "致电[PHONE_1]！"),
        ("0086-13800138000、(+86)13800138001", "[PHONE_1]、[PHONE_2]"),
        ("座机（010）62345678转801", "座机[PHONE_1]"),
        ("总机0755-86013388，传真0755 8601 3389", "总机[PHONE_1]，传真[PHONE_2]"),
        ("call (415) 555-0132 ext. 12 or 415.555.0133", "call [PHONE_1] or [PHONE_2]"),
        ("my phone number is 4155550132", "my phone number is [PHONE_1]"),
        ("联系电话：62345678", "联系电话：[PHONE_1]"),
        ("客服4008001234，总机010-62345678/62345679", "客服[PHONE_1]，总机[PHONE_2]"),
        ("📞+44 20 7946 0018📞", "📞[PHONE_1]📞"),
        ("1️⃣3️⃣8️⃣0️⃣0️⃣1️⃣3️⃣8️⃣0️⃣0️⃣0️⃣", "[PHONE_1]"),
        ("13800138000²和138\u200b0013\u200b8000", "[PHONE_1]²和[PHONE_1]"),
        ("订单213800138000、圆周率3.14159265358、2026-11-17 10:30、ISBN 978-7-301-12345-6", None),
        ("in 1999-2004, 1,234,567 of 415 people (2021) paid 1000000000", None),
    ],
)
def test_phone_numbers_are_found_in_the_forms_that_people_write(text: str, kept: str | None) -> None:
    assert Redactor().redact(text).text == (text if kept is None else kept)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("密码：hunter2x，请保管", "密码：[SECRET_1]，请保管"),
        ("用户名fake@example.com密码Fake0000，口令:88888888", "用户名[EMAIL_1]密码[SECRET_1]，口令:[SECRET_2]"),
        ("密碼是Fake-0000", "密碼是[SECRET_1]"),
        ('{"password": "f4ke!pass"}', '{"password": "[SECRET_1]"}'),
        ("db_password=fake1234&user=me", "db_password=[SECRET_1]&user=me"),
        ("mysql://root:fake@1@db.example.com:3306/x", "mysql://[SECRET_1]@db.example.com:3306/x"),
        ("client_secret: 0fake1Fake2key3Key4.", "client_secret: [SECRET_1]."),
        ("password: required; token: bearer; secret = os.environ['SECRET_KEY_2']", None),
        ("password=${DB_PASSWORD1} token: <your-token-1> 密码是否正确1？", None),
        ("mysql://{user}:{password}@host, tokens = bm25s.tokenize(corpus)", None),
        ("The secret of 1001 nights is a token of love, and max_tokens: 4096.", None),
    ],
)
def test_assigned_secrets_are_found_and_variables_are_not(text: str, kept: str | None) -> None:
    assert Redactor().redact(text).text == (text if kept is None else kept)


# ── rules of a project ──


def test_a_project_adds_its_own_patterns() -> None:
    rules = custom_rules(
        [CustomPattern("order_number", r"订单([A-Z]{2}[0-9]{4})"), CustomPattern("phone", "内线[0-9]{4}")], []
    )
    redactor = Redactor(rules)
    redacted = redactor.redact("订单ＡＢ1234，内线8001，a@b.cn")
    assert redacted.text == "订单[ORDER_NUMBER_1]，[PHONE_1]，[EMAIL_1]"
    assert redactor.counts == {"order_number": 1, "phone": 1, "email": 1}


def test_a_pattern_whose_group_is_empty_redacts_nothing() -> None:
    rules = custom_rules([CustomPattern("a", "()xy"), CustomPattern("b", "x()y"), CustomPattern("c", "(z?)xy")], [])
    assert Redactor(rules).redact("xy xy 和 zxy").text == "xy xy 和 [C_1]xy"


def test_allowed_values_are_not_redacted_whatever_their_case_and_width() -> None:
    rules = custom_rules([], ["Support@Example.com", "400-123-4567"])
    text = "support@example.com, ＳＵＰＰＯＲＴ＠example.com, 400-123-4567, support@example.org"
    assert Redactor(rules).redact(text).text == text.replace("support@example.org", "[EMAIL_1]")


@pytest.mark.parametrize(
    ("patterns", "allowed", "field"),
    [
        ([CustomPattern("a", "x")] * (MAX_PATTERNS + 1), [], "patterns"),
        ([CustomPattern("a", "x"), CustomPattern("Not A Kind", "x")], [], "patterns[1].kind"),
        ([CustomPattern("a", "x" * (MAX_PATTERN_LENGTH + 1))], [], "patterns[0].pattern"),
        ([CustomPattern("a", "")], [], "patterns[0].pattern"),
        ([CustomPattern("a", "x*")], [], "patterns[0].pattern"),
        ([CustomPattern("a", "(x")], [], "patterns[0].pattern"),
        ([CustomPattern("a", r"(?<=x)y")], [], "patterns[0].pattern"),
        ([], ["x"] * (MAX_ALLOWED + 1), "allowed"),
        ([], ["ok", ""], "allowed[1]"),
        ([], ["x" * 201], "allowed[0]"),
    ],
)
def test_a_bad_rule_is_refused_and_the_error_names_its_field(
    patterns: list[CustomPattern], allowed: list[str], field: str
) -> None:
    with pytest.raises(FindspotError, match=re.escape(field)) as caught:
        custom_rules(patterns, allowed)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert caught.value.fields["field"] == field
