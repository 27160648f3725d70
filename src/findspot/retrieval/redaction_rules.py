"""The rules of redaction: one readable table, and the patterns that a project adds to it.

Rules of keys with a provider's prefix are in `redaction_keys.py`; they have the same columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from findspot.errors import invalid
from findspot.patterns import compile_pattern
from findspot.retrieval import redaction_checks as checks
from findspot.retrieval import redaction_phones as phones
from findspot.retrieval.redaction_checks import where
from findspot.retrieval.redaction_folding import allowed_form
from findspot.retrieval.redaction_keys import PROVIDER_KEYS
from findspot.retrieval.redaction_rule import Rule, fake

MAX_PATTERNS = 50
MAX_PATTERN_LENGTH = 300
MAX_ALLOWED = 1000
MAX_ALLOWED_LENGTH = 200

_LETTER = r"\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}\p{Hebrew}\p{Devanagari}"  # scripts with spaces between words
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー"
_HAN_ENDING = (
    "中国|中國|香港|台湾|台灣|澳門|新加坡|公司|网络|網絡|网址|网店|网站|集团|商城|商店|商标|在线|中文网|手机|移动|信息|机构|"
    "组织机构|公益|政务|企业|时尚|游戏|娱乐|我爱你|八卦|广东|佛山|世界|健康|餐厅|招聘|购物|慈善|联通|电讯盈科"
)
_DOMAIN = (
    rf"(?:[{_LETTER}0-9][{_LETTER}0-9\p{{M}}_-]*\.|[{_UNSPACED}0-9A-Za-z-]+\.)+"
    rf"(?:xn--[0-9A-Za-z-]{{2,}}|[{_LETTER}][{_LETTER}\p{{M}}]+|{_HAN_ENDING})"
)
_SPELT_DOT = r"(?: ?[\[({] ?(?:dot|点|點) ?[\])}] ?|\.)"
_EXTENSION = r"(?: ?(?:[eE]xt\.?|x|转|轉|分机|分機|#) ?[0-9]{1,6})?"
_PHONE_WORDS = ("phone", "telephone", "tel", "mobile", "cell", "fax", "whatsapp", "call", "dial")
_HAN_PHONE_WORDS = (
    "电话", "電話", "手机", "手機", "座机", "座機", "传真", "傳真", "热线", "熱線",
    "联系方式", "聯繫方式", "号码", "號碼",
)  # fmt: skip
_CONTACT_WORDS = ("contact", "reach", "text me", "sms", "联系", "聯繫", "聯絡", "拨打", "撥打", "微信", "短信", "客服")
_PASSWORD_WORDS = ("password", "passwd", "passphrase", "pwd", "_pass", "密码", "密碼", "口令", "暗号", "暗號")
_TOKEN_WORDS = (
    "secret", "token", "apikey", "api_key", "api-key", "api key", "access_key", "access-key", "accesskey",
    "private_key", "private-key", "privatekey", "auth_key", "authkey", "encryption_key", "signing_key", "credential",
    "密钥", "密鑰", "秘钥", "秘鑰", "令牌", "私钥", "私鑰",
)  # fmt: skip
_PROVIDER_WORDS = (
    "adafruit", "adobe", "airtable", "algolia", "alibaba", "aliyun", "asana", "atlassian", "aws", "azure", "baidu",
    "beamer", "bitbucket", "bittrex", "cloudant", "cloudflare", "codecov", "cohere", "coinbase", "confluence",
    "confluent", "contentful", "datadog", "discord", "droneci", "dropbox", "etsy", "facebook", "fastly", "finicity",
    "finnhub", "flickr", "freshbooks", "gitter", "gocardless", "heroku", "hubspot", "huawei", "ibm", "intercom",
    "jfrog", "artifactory", "bintray", "xray", "jira", "kraken", "kucoin", "launchdarkly", "linear", "linkedin",
    "linked_in", "linked-in", "lob", "looker", "mailchimp", "mailgun", "mapbox", "mattermost", "meraki", "messagebird",
    "message_bird", "message-bird", "netlify", "new-relic", "newrelic", "new_relic", "nytimes", "okta", "plaid",
    "privateai", "private_ai", "private-ai", "rapidapi", "sendbird", "sentry", "snyk", "softlayer", "sonar",
    "sourcegraph", "squarespace", "sumo", "telegr", "tencent", "travis", "twilio", "twitch", "twitter", "typeform",
    "yandex", "zendesk", "sl_", "sl-", "slapi", "clou_", "iam_", "iam-", "cos_", "cos-", "contribsys",
)  # fmt: skip
_QUOTED = r""""([^"\s]{%d,})"|'([^'\s]{%d,})'|`([^`\s]{%d,})`"""
_UNQUOTED = r"([!#-&*+./0-:=?-_a-~-]{%d,})"  # printable ASCII without quotation marks and separators
_ASSIGNED = r"""[0-9A-Za-z_.-]{0,30}["'\]]{0,2} {0,3}(?:!?={1,3}|:=|=>|:|->)[ \t@]{0,3}"""


def _any(words: Sequence[str]) -> str:
    return "|".join(word.replace(".", r"\.") for word in words)


SECRETS = (
    Rule(
        "private key",
        "secret",
        ("private key", "begin pgp"),
        r"-----BEGIN[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]*-----END[ A-Z0-9_-]{0,40}-----|[0-9A-Za-z+/=\s\\:,.]*)",
        f"-----BEGIN PRIVATE KEY-----\n{fake(40)}\n{fake(20)}=\n-----END PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----",
        delimited=True,
    ),
    Rule(
        "end of a private key",
        "secret",
        ("private key",),
        r"[0-9A-Za-z+/=]{16,}\s{1,4}(?:[0-9A-Za-z+/=]{4,}\s{1,4})*-----END[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        f"{fake(64)}\n{fake(20)}=\n-----END RSA PRIVATE KEY-----",
        f"{fake(64)}\n-----END CERTIFICATE-----",
        delimited=True,
    ),
    Rule(
        "JSON Web Token",
        "secret",
        ("eyj",),
        r"eyJ[0-9A-Za-z_=-]{10,}\.eyJ[0-9A-Za-z_=-]{6,}(?:\.[0-9A-Za-z_.+/=-]{0,})?",
        f"eyJ{fake(20)}.eyJ{fake(30)}.{fake(43)}",
        "eyJmYWtl.eyJm",
    ),
    Rule(
        "password in a URL",
        "secret",
        ("://",),
        r"[A-Za-z][0-9A-Za-z+.-]{1,20}://([!$-&*+.0-9=@-~-]{0,100}:[!#-&*+.0-:=?-~-]{1,200})@[^\s/@\"'<>]",
        "postgres://fake_user:fake_password@db.example.com/app",
        "http://localhost:5000/@scope/name, http://localhost:8080，联系a@b",
        where(lambda value: not checks.is_template(value)),
    ),
    Rule(
        "authorization header",
        "secret",
        ("bearer", "basic", "authorization"),
        r"(?i)(?:bearer|basic|authorization: ?token|authorization:) {1,3}([0-9A-Za-z+/._~=-]{16,})",
        f"Authorization: Bearer {fake(32)}",
        "the bearer characteristically speaking",
        where(checks.is_random),
    ),
    *PROVIDER_KEYS,
    Rule(
        "value of a provider",
        "secret",
        _PROVIDER_WORDS,
        rf"(?i)(?:^|[^0-9A-Za-z])(?:{_any(_PROVIDER_WORDS)})"
        r"(?:[0-9A-Za-z_. -]{0,30}[\"'\]]{0,2}\s{0,3}(?:=|:=|:|=>|,|\|\|)"
        r"|[0-9A-Za-z_.-]{0,20}(?:key|token|secret|password|pwd|pass)[\"' ])[ =\"'`]{0,4}([0-9A-Za-z_+/=.%~-]{14,})",
        f"twitter_api_secret = '{fake(50)}'",
        "twitter_client = 'the_usual_twitter_client', blob: fake-base64-text",
        checks.provider_value,
    ),
    Rule(
        "assigned password",
        "secret",
        _PASSWORD_WORDS,
        rf"(?i)(?:{_any(_PASSWORD_WORDS)})(?:{_ASSIGNED}|[ \t]{{0,2}}(?:is|为|為|是)[ \t:]{{0,2}})"
        rf"(?:{_QUOTED % (4, 4, 4)}|{_UNQUOTED % 4})",
        "密码：fake-Passw0rd",
        "password: required",
        checks.password,
    ),
    Rule(
        "password right after its Chinese name",
        "secret",
        ("密码", "密碼", "口令"),
        r"(?:密码|密碼|口令)([!#-&*+./0-:=?-_a-~-]{8,})",
        "密码Fake0000",
        "密码SHA-512/PBKDF2加密",
        where(lambda value: value.isalnum() and checks.is_mixed(value) and any(map(str.isdigit, value))),
    ),
    Rule(
        "assigned token",
        "secret",
        _TOKEN_WORDS,
        rf"(?i)(?:{_any(_TOKEN_WORDS)})(?:{_ASSIGNED}|[ \t]{{0,2}}(?:is|为|為|是)[ \t:]{{0,2}}| {{1,2}})"
        rf"(?:{_QUOTED % (10, 10, 10)}|{_UNQUOTED % 10})",
        f"client_secret: {fake(30)}",
        "secret: internationalization",
        checks.token,
    ),
    Rule(
        "assigned key",
        "secret",
        ("key",),
        r"(?i)(?:^|[^0-9A-Za-z])keys?[\"'\]]{0,2} {0,3}(?:=|:)[ \t\"'`]{0,3}([0-9A-Za-z_+=-]{24,})",
        f'key = "{fake(32)}"',
        '"key": "fa4efa4e-fa4e-fa4e-fa4e-fa4efa4efa4e"',
        where(lambda value: checks.is_random(value) and value != value.lower() and checks.entropy(value) >= 3.5),
    ),
)  # fmt: skip

NUMBERS = (
    Rule(
        "Chinese ID number",
        "id_number",
        (),
        r"[1-9][0-9]{5}[ -]?[12][0-9]{7}[ -]?[0-9]{3}[0-9Xx]",
        "11010519491231002X",
        "110105194912310021",
        where(checks.is_id_number),
    ),
    Rule(
        "bank card",
        "card",
        (),
        r"[0-9]{4}(?:[ -][0-9]{4}){3}(?:[ -][0-9]{1,3})?|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4,5}|[0-9]{6}[ -][0-9]{10,13}"
        r"|[0-9]{13,19}",
        "4111 1111 1111 1111",
        "4111 1111 1111 1112",
        checks.card,
    ),
)

ADDRESSES = (
    Rule(
        "e-mail address",
        "email",
        ("@",),
        rf"(?:[{_LETTER}0-9_][{_LETTER}\p{{M}}0-9._%+'&~=-]*|\"[^\"\n]{{1,64}}\")@{_DOMAIN}",
        "name.surname+list@mail.example.com",
        "icon@2x.png",
        checks.email,
    ),
    Rule(
        "Chinese e-mail address",
        "email",
        ("@",),
        rf"(?:[\p{{Han}}0-9A-Za-z][\p{{Han}}0-9A-Za-z._-]*)?\p{{Han}}@{_DOMAIN}",
        "李明@例子.公司",
        "你好@李明",
        checks.email,
    ),
    Rule(
        "e-mail address spelt out",
        "email",
        ("at)", "at]", "at}", "at )", "at ]"),
        rf"(?i)[0-9a-z_][0-9a-z._+-]{{0,63}} ?[\[({{] ?at ?[\])}}] ?[0-9a-z-]{{1,63}}(?:{_SPELT_DOT}[0-9a-z-]{{1,63}})"
        rf"{{0,6}}{_SPELT_DOT}[a-z]{{2,24}}",
        "name (at) example (dot) com",
        "look (at) example",
    ),
)

PHONES = (
    Rule(
        "international phone number",
        "phone",
        (),
        r"(?:\(?\+|00) ?\(?[0-9](?:[ ().\-/]{0,3}[0-9]){5,17}(?: ?(?:[eE]xt\.?|x) ?[0-9]{1,6})?",
        "+44 20 7946 0018",
        "+44 1",
        phones.international,
    ),
    Rule(
        "Chinese mobile number",
        "phone",
        (),
        r"(?:86[ -]?)?1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}|1[3-9][0-9]\.[0-9]{4}\.[0-9]{4}",
        "电话13800138000请",
        "订单213800138000",
        phones.national("CN"),
    ),
    Rule(
        "Chinese landline number",
        "phone",
        (),
        r"(?:\(0[1-9][0-9]{1,2}\) ?|0[1-9][0-9]{1,2}[ -])[1-9][0-9]{2,3}[ -]?[0-9]{4}"
        r"(?:-[0-9]{1,5}|/[0-9]{7,8})?" + _EXTENSION + r"|0[1-9][0-9]{9,10}",
        "010-62345678转801",
        "010-0234567",
        phones.national("CN"),
    ),
    Rule(
        "Chinese service number",
        "phone",
        (),
        r"[48]00(?:-[0-9]{3}-[0-9]{4}|-[0-9]{4}-[0-9]{3}|-[0-9]{7}|-[0-9]{2}-[0-9]{5}|-[0-9]{5}-[0-9]{2}"
        r"| [0-9]{3} [0-9]{4})",
        "400-123-4567",
        "400-12-34",
    ),
    Rule(
        "US phone number",
        "phone",
        (),
        r"(?:1[ .-]?)?(?:\([2-9][0-9]{2}\) ?-? ?|[2-9][0-9]{2}-)[2-9][0-9]{2}[ .-]?[0-9]{4}" + _EXTENSION +
        r"|(?:1\.)?[2-9][0-9]{2}\.[2-9][0-9]{2}\.[0-9]{4}"
        r"|[2-9][0-9]{2} [2-9][0-9]{2}[ -][0-9]{4}",
        "(415) 555-0132",
        "(415) 055-0132",
        phones.national("US"),
    ),
    Rule(
        "phone number without separators near a word of contact",
        "phone",
        _PHONE_WORDS + _HAN_PHONE_WORDS + _CONTACT_WORDS,
        rf"(?i)(?:{_any(_PHONE_WORDS + _HAN_PHONE_WORDS + _CONTACT_WORDS)})"
        r"(?:[^0-9\n]{0,40}?[^0-9A-Za-z\n.,_-])?([0-9]{10})",
        "reach Mr Fake under the number 4155550132",
        "reached Mr Fake with 4 of 1000000000",
        phones.national("US", "CN"),
    ),
    Rule(
        "line that is a phone number without separators",
        "phone",
        (),
        r"(?m)^[ \t]*([0-9]{10})[ \t]*$",
        "4155550132",
        "1000000000",
        phones.national("US", "CN"),
    ),
    Rule(
        "number that is called a phone number",
        "phone",
        _PHONE_WORDS + _HAN_PHONE_WORDS,
        rf"(?i)(?:(?:^|[^A-Za-z])(?:{_any(_PHONE_WORDS)})(?:s|[_ -]?(?:number|num|no))?|{_any(_HAN_PHONE_WORDS)})"
        r"(?:[^0-9A-Za-z\n+,;/?&-]|[^0-9A-Za-z\n+,;/?&-][^0-9\n+,;/?&]{0,16}?[^0-9A-Za-z\n+,;/-])"
        rf"((?:\+|\([0-9]{{2,4}}\) ?)?[0-9](?:[ -]?[0-9]|[ -]?\([0-9]{{1,4}}\)){{6,15}}{_EXTENSION})",
        "电话：62345678",
        "the telephone of 1876, the cells of PD-0332991",
        phones.stated,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules in the order of their precedence, and folded values that are never redacted."""

    rules: tuple[Rule, ...]
    allowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CustomPattern:
    """A pattern that a project adds. `kind` names its placeholder: `order_number` gives `[ORDER_NUMBER_1]`."""

    kind: str
    pattern: str


DEFAULT_RULES = Rules(SECRETS + NUMBERS + ADDRESSES + PHONES)


def custom_rules(patterns: Sequence[CustomPattern], allowed: Sequence[str]) -> Rules:
    """Return the default rules with a project's own patterns and allowed values. INVALID_ARGUMENT names a bad field."""
    if len(patterns) > MAX_PATTERNS:
        raise invalid("patterns", f"has {len(patterns):,} entries; {MAX_PATTERNS} are allowed", limit=MAX_PATTERNS)
    if len(allowed) > MAX_ALLOWED:
        raise invalid("allowed", f"has {len(allowed):,} entries; {MAX_ALLOWED:,} are allowed", limit=MAX_ALLOWED)
    own = tuple(_custom_rule(pattern, f"patterns[{at}]") for at, pattern in enumerate(patterns))
    values = frozenset(_allowed_value(value, f"allowed[{at}]") for at, value in enumerate(allowed))
    return Rules(own + DEFAULT_RULES.rules, values)


def _custom_rule(custom: CustomPattern, field: str) -> Rule:
    if not re.fullmatch("[a-z][a-z0-9_]{0,29}", custom.kind):
        raise invalid(f"{field}.kind", "must be 1 to 30 lower-case letters, digits and _, and begin with a letter")
    if not 1 <= len(custom.pattern) <= MAX_PATTERN_LENGTH:
        raise invalid(f"{field}.pattern", f"must have 1 to {MAX_PATTERN_LENGTH} characters", limit=MAX_PATTERN_LENGTH)
    if compile_pattern(custom.pattern, field=f"{field}.pattern").occurs_in(""):
        raise invalid(f"{field}.pattern", "matches the empty text, so it would match everywhere")
    return Rule(f"own {custom.kind}", custom.kind, (), custom.pattern, "", "", delimited=True)


def _allowed_value(value: str, field: str) -> str:
    if not 1 <= len(value) <= MAX_ALLOWED_LENGTH:
        raise invalid(field, f"must have 1 to {MAX_ALLOWED_LENGTH} characters", limit=MAX_ALLOWED_LENGTH)
    return allowed_form(value)
