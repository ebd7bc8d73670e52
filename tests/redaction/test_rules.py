"""What rules find, with exact places, and what they leave alone."""

from __future__ import annotations

import pytest

from vedette.errors import InputError
from vedette.redaction.redactor import Redactor, allowed_values
from vedette.redaction.rules import KINDS

PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow+/aB3=" * 5 + "\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"

# (text, kind, what of it is found)
FOUND = [
    ("call 212-555-1234 now", "phone", "212-555-1234"),
    ("((617) 569-7296)", "phone", "(617) 569-7296"),
    ("+49 170 1234567.", "phone", "+49 170 1234567"),
    ("Büro 030 1234567", "phone", "030 1234567"),
    ("(020 7946 0982)", "phone", "020 7946 0982"),
    ("Fax: 345-899-3560x4587", "phone", "345-899-3560x4587"),
    ("请拨打0755-82345678。", "phone", "0755-82345678"),
    ("手机13800138000，谢谢", "phone", "13800138000"),
    ("手机１３８００１３８０００，", "phone", "１３８００１３８０００"),
    ("138 0013 8000", "phone", "138 0013 8000"),
    ("订单已发货，加13800138000", "phone", "13800138000"),
    ("Phone:\n467 3395", "phone", "467 3395"),
    ("+1-984-182-0190", "phone", "+1-984-182-0190"),
    ("416 60 039 office", "phone", "416 60 039"),
    ("a <jo.do+x@mail.example.co.uk>", "email", "jo.do+x@mail.example.co.uk"),
    ("邮箱abc@qq.com。", "email", "abc@qq.com"),
    ("jörg@müller.de", "email", "jörg@müller.de"),
    ("abc＠qq.com", "email", "abc＠qq.com"),
    ("from 10.20.30.40: ok", "ip", "10.20.30.40"),
    ("[2001:db8::8a2e:370:7334]:80", "ip", "2001:db8::8a2e:370:7334"),
    ("at 2001:db8:1:2:3:4:5:6.", "ip", "2001:db8:1:2:3:4:5:6"),
    ("postgres://app:s3cr3t@db:5432/x", "url_credentials", "app:s3cr3t"),
    ("DE89 3704 0044 0532 0130 00.", "iban", "DE89 3704 0044 0532 0130 00"),
    ("my iban: gb82west12345698765432", "iban", "gb82west12345698765432"),
    ("card 4111 1111 1111 1111 (12/29)", "card", "4111 1111 1111 1111"),
    ("3782-822463-10005", "card", "3782-822463-10005"),
    ("身份证11010519491231002X。", "cn_id", "11010519491231002X"),
    ("110105 19491231 002x", "cn_id", "110105 19491231 002x"),
    ("１１０１０５１９４９１２３１００２Ｘ", "cn_id", "１１０１０５１９４９１２３１００２Ｘ"),
    ("信用代码91110000600037341L", "cn_uscc", "91110000600037341L"),
    ("车牌京A12345", "cn_plate", "京A12345"),
    ("粤B·D12345 新能源", "cn_plate", "粤B·D12345"),
    ("微信号：zhang_san88", "wechat", "zhang_san88"),
    ("wx: lilei2020", "wechat", "lilei2020"),
    ("SSN 536-90-4399", "us_ssn", "536-90-4399"),
    ("social security 536904399", "us_ssn", "536904399"),
    ("NHS number 943 476 5919", "uk_nhs", "943 476 5919"),
    ("DNI 12345678Z", "es_nif", "12345678Z"),
    ("NIE X1234567L,", "es_nif", "X1234567L"),
    ("RSSMRA85T10A562S", "it_cf", "RSSMRA85T10A562S"),
    ("1 84 12 76 451 089 46", "fr_nir", "1 84 12 76 451 089 46"),
    ("CPF 390.533.447-05", "br_cpf", "390.533.447-05"),
    ("16.727.230/0001-97", "br_cnpj", "16.727.230/0001-97"),
    ("AHV 756.9217.0769.85", "ch_ahv", "756.9217.0769.85"),
    ("IdNr. 36574261809", "de_idnr", "36574261809"),
    ("2341 2341 2346", "in_aadhaar", "2341 2341 2346"),
    ("BSN 1112.22.333", "nl_bsn", "1112.22.333"),
    ("PESEL 44051401359", "pl_pesel", "44051401359"),
    ("880320-0016", "se_personnummer", "880320-0016"),
    ("A123456789", "tw_id", "A123456789"),
    ("key AKIAIOSFODNN7EXAMPLE", "secret", "AKIAIOSFODNN7EXAMPLE"),
    ("ghp_" + "a1B2" * 9, "secret", "ghp_" + "a1B2" * 9),
    ("sk-ant-api03-" + "a1B2" * 20, "secret", "sk-ant-api03-" + "a1B2" * 20),
    (f"bearer {JWT}", "secret", JWT),
    ("bot 123456789:AA" + "a1B" * 11, "secret", "123456789:AA" + "a1B" * 11),
    ("DB_PASSWORD=hunter2", "secret", "hunter2"),
    ('{"password": "hunter two 2"}', "secret", "hunter two 2"),
    ("密码：abc#123，", "secret", "abc#123"),
    ("mysql --password hunter2 db", "secret", "hunter2"),
    ("?access_token=9fK2mQ81xZ04bV7t&x=1", "secret", "9fK2mQ81xZ04bV7t"),
    (f"key:\n{PEM}\nend", "private_key", PEM),
    (PEM.replace("\n", "\\n"), "private_key", PEM.replace("\n", "\\n")),
    (PEM[:70], "private_key", PEM[:70]),
]

LEFT_ALONE = [
    "order 20240115103000", "订单号202401151030001234", "PO-12345678", "1700000000",
    "1700000000123", "2024-01-15 10:22:33.123456", "20240115103000",
    "550e8400-e29b-41d4-a716-446655440000", "12345678-1234-1234-1234-123456789012",
    "9e107d9d372bb6826bd81d3542a419d6", "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
    "110105194912310021", "4111 1111 1111 1112", "DE89 3704 0044 0532 0130 01",
    "91110000600037341M", "12345678A", "143 476 5918", "A123456788", "390.533.447-06",
    "000-12-3456", "666-12-3456", "version 1.2.3.4", "1.2.3.4.5", "256.1.1.1", "std::vector",
    "10:22:33", "a::b", "@handle", "left-pad@1.3.0", "x@y", "3.141592653589793",
    "1,234,567.00", "ISBN 978-3-16-148410-0", "password = get_password()", "token: your_token",
    "password: ********", "api_key=${API_KEY}", "Enter your password: please",
    '"password": "Enter your password"', "token=550e8400-e29b-41d4-a716-446655440000",
    "http://user:${PASS}@host", "the secret is out", "云A计划", "京AB", "tokens: 2048",
    "https://example.com:8080/a/12345678", "eyJub3QiOiJhIGhlYWRlciJ9.eyJhIjoxfQ.abcdefghij",
    "52.520008, 13.404954", "微信支付功能", "phone: n/a",
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "value"), FOUND)
def test_it_is_found_where_it_stands(text, kind, value):
    found = [(span.kind, text[span.start : span.end]) for span in Redactor.of().find(text)]
    assert found == [(kind, value)]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_only_looks_like_it_is_left_alone(text):
    assert Redactor.of().find(text) == []


def test_every_kind_has_an_example_here():
    assert {kind for _, kind, _ in FOUND} >= set(KINDS) - {"kr_rrn"}


def test_one_kind_alone_finds_nothing_else():
    text = "a@b.de 10.20.30.40 4111111111111111"
    assert [span.kind for span in Redactor.of(["ip"]).find(text)] == ["ip"]
    with pytest.raises(InputError, match="no kind 'emial'"):
        Redactor.of(["emial"])


def test_national_numbers_count_only_in_their_region():
    text = "01 84 17 61 18 and +33 1 84 17 61 18"
    ends = [span.start for span in Redactor.of(regions=("FR",)).find(text)]
    assert ends == [0, 19]
    assert [span.start for span in Redactor.of(regions=("US",)).find(text)] == [19]
    with pytest.raises(InputError, match="region 'XX'"):
        Redactor.of(regions=("XX",))


@pytest.mark.parametrize("allowed", ["Info@Example.com", " info@example.com "])
def test_allowed_values_stay_in_any_spelling(allowed):
    redactor = Redactor.of(allow=[allowed])
    text = "info@example.com INFO@example.com other@example.com"
    assert [text[s.start : s.end] for s in redactor.find(text)] == ["other@example.com"]


def test_an_allowed_telephone_number_stays_however_it_is_written():
    redactor = Redactor.of(allow=["+49301234567"])
    assert redactor.find("030 1234567") == []


def test_an_allow_file_has_a_value_a_line():
    assert allowed_values("a@b.de\n\n# no\n 10.0.0.1 \n") == ("a@b.de", "10.0.0.1")


def test_spellings_of_one_value_are_one_entity():
    first, second = Redactor.of().find("0170 1234567, +49 170 1234567")
    assert first.canonical == second.canonical == "+491701234567"
