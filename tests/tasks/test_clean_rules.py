"""Each rule of `clean`: what it settles, and what it leaves open rather than guess."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.tasks.clean.chinese import chinese_number
from vedette.tasks.clean.contacts import clean_email, clean_phone
from vedette.tasks.clean.copied import cuts_a_number
from vedette.tasks.clean.dates import Calendar, clean_date, clean_datetime
from vedette.tasks.clean.money import clean_money
from vedette.tasks.clean.names import clean_name
from vedette.tasks.clean.numbers import clean_number, number_of
from vedette.tasks.clean.plain_rules import (
    clean_boolean,
    clean_choice,
    clean_country,
    clean_text,
    is_missing,
)
from vedette.tasks.clean.quantities import clean_quantity, units
from vedette.tasks.clean.verdict import Unsettled

DMY = Calendar("dmy", pivot=50)


def left(call, *arguments, **options) -> Unsettled:
    with pytest.raises(Unsettled) as caught:
        call(*arguments, **options)
    return caught.value


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-03-04", "2026-03-04"),
        ("2026/3/4", "2026-03-04"),
        ("20260304", "2026-03-04"),
        ("31.12.2026", "2026-12-31"),
        ("12/31/2026", "2026-12-31"),
        ("03/03/2026", "2026-03-03"),
        ("１２／３１／２０２６", "2026-12-31"),
        ("3 March 2026", "2026-03-03"),
        ("Mar 3rd, 2026", "2026-03-03"),
        ("Tuesday, 3 March 2026", "2026-03-03"),
        ("3. März 2026", "2026-03-03"),
        ("3 de marzo de 2026", "2026-03-03"),
        ("14 июля 2026 г.", "2026-07-14"),
        ("2026年3月4日", "2026-03-04"),
        ("二〇二六年十二月三十一号", "2026-12-31"),
        ("2026-03-04T10:00:00Z", "2026-03-04"),
        ("2026年3月4日 下午3点", "2026-03-04"),
    ],
)
def test_a_date_that_says_itself_becomes_iso(text, iso):
    assert clean_date(text, Calendar()) == iso


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("03/04/2026", ("2026-03-04", "2026-04-03")),
        ("5-Mar-26", ("1926-03-05", "2026-03-05")),
        ("31/12/99", ("1999-12-31", "2099-12-31")),
    ],
)
def test_an_ambiguous_date_is_not_guessed_and_nobody_is_asked(text, readings):
    why = left(clean_date, text, Calendar())
    assert (why.reason, why.candidates, why.ask) == ("ambiguous", readings, False)


def test_what_is_told_settles_an_ambiguous_date():
    assert clean_date("03/04/2026", DMY) == "2026-04-03"
    assert clean_date("03/04/2026", Calendar("mdy")) == "2026-03-04"
    assert clean_date("03/04/05", DMY) == "2005-04-03"
    assert clean_date("03/04/51", DMY) == "1951-04-03"
    assert clean_date("03/04/05", Calendar("ymd", pivot=50)) == "2003-04-05"


@pytest.mark.parametrize("text", ["2026-02-30", "31.02.2026", "2026年13月1日", "32 March 2026"])
def test_a_day_that_is_not_in_the_calendar_is_no_date(text):
    assert not left(clean_date, text, DMY).ask


@pytest.mark.parametrize("text", ["tomorrow", "March 2026", "may I ask 3 of 2026 of you", "12"])
def test_what_is_no_date_to_the_rules_may_be_looked_at_by_a_model(text):
    assert left(clean_date, text, DMY).ask


@given(st.dates(min_value=date(1000, 1, 1)))
def test_every_way_of_writing_a_day_gives_that_day(day):
    month = day.strftime("%B")
    for text in (
        day.isoformat(),
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    ):
        assert clean_date(text, Calendar()) == day.isoformat()
    assert clean_date(f"{day.day}.{day.month}.{day.year}", DMY) == day.isoformat()
    assert clean_date(f"{day.month}/{day.day}/{day.year}", Calendar("mdy")) == day.isoformat()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-03-04 10:00:00Z", "2026-03-04T10:00:00Z"),
        ("3 March 2026 at 3:05 pm +01:00", "2026-03-03T15:05:00+01:00"),
        ("2026年3月4日下午3点05分", "2026-03-04T15:05:00+08:00"),
        ("31.12.2026 23:59", "2026-12-31T23:59:00+08:00"),
        ("2026-03-04 12:00 am", "2026-03-04T00:00:00+08:00"),
    ],
)
def test_times_have_a_zone_their_own_or_the_one_that_is_told(text, written):
    assert clean_datetime(text, Calendar(zone="+08:00")) == written


def test_a_time_without_a_zone_is_left_open():
    assert left(clean_datetime, "2026-03-04 10:00", Calendar()).reason == "no time zone"
    calendar = Calendar(zone="Z")
    assert left(clean_datetime, "2026-03-04 10:00", calendar, assume=False).reason == "no time zone"
    assert left(clean_datetime, "2026-03-04 25:00Z", Calendar()).reason == "not a time"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.234,56", "1234.56"),
        ("1,234.56", "1234.56"),
        ("1,234,567", "1234567"),
        ("1.234.567", "1234567"),
        ("12,34,567.00", "1234567"),
        ("1 234,56", "1234.56"),
        ("1'234.50", "1234.5"),
        ("12.5", "12.5"),
        ("12,50", "12.5"),
        ("0.123", "0.123"),
        (".5", "0.5"),
        ("(1,234.50)", "-1234.5"),
        ("−5", "-5"),
        ("+5", "5"),
        ("1e5", "100000"),
        ("3.5 million", "3500000"),
        ("3 Mio.", "3000000"),
        ("1.5k", "1500"),
        ("１２", "12"),
        ("1.2万", "12000"),
        ("3亿", "300000000"),
        ("负三", "-3"),
    ],
)
def test_numbers_are_read_whatever_their_marks(text, number):
    assert number_of(text) == Decimal(number)


@pytest.mark.parametrize("text", ["1,234", "1.234", "999,000", "-1.234"])
def test_one_mark_before_three_digits_is_ambiguous_unless_told(text):
    why = left(number_of, text)
    assert (why.reason, why.ask, len(why.candidates)) == ("ambiguous", False, 2)
    readings = {number_of(text, "."), number_of(text, ",")}
    assert readings == {Decimal(str(one)) for one in why.candidates}


def test_readings_are_told_with_what_multiplies_them():
    assert left(number_of, "1.234k").candidates == (1234000, 1234)
    assert left(number_of, "-1.234k").candidates == (-1234000, -1234)
    assert left(clean_quantity, "1.234 kg", "", "g").candidates == (1234000, 1234)
    assert left(clean_quantity, "1.234 kg", "", "").candidates == (
        {"value": 1234, "unit": "kg"},
        {"value": 1.234, "unit": "kg"},
    )


@pytest.mark.parametrize(
    "text", ["abc", "1,23,4", "1..2", "1.", "", "5 apples", "1.2.3,4,5", "12 k g"]
)
def test_what_is_no_number_is_left_open(text):
    assert left(number_of, text).reason == "not a number"


def test_a_number_against_what_is_told_or_a_percentage_is_not_bent():
    assert "decimal mark is '.'" in left(number_of, "12.50", ",").reason
    assert left(number_of, "12%").reason == "a percentage, not a number"
    assert left(clean_number, "1.5", "", whole=True).reason == "1.5 is not a whole number"
    assert left(clean_number, True, "", whole=False).reason == "not a number"
    assert "more digits" in left(clean_number, "0.12345678901234567", "", whole=False).reason


def test_numbers_of_json_stay_what_they_are():
    assert clean_number(12, "", whole=True) == 12
    assert clean_number(12.0, "", whole=True) == 12
    assert clean_number(0.1, "", whole=False) == 0.1
    assert left(clean_number, float("nan"), "", whole=False).reason == "not a number"
    assert left(clean_number, float("inf"), "", whole=False).reason == "not a number"


@given(st.integers(-(10**12), 10**12), st.integers(0, 99))
def test_grouped_numbers_are_read_back(whole, cents):
    written = f"{whole:,}.{cents:02d}"
    german = written.translate(str.maketrans(",.", ".,"))
    expected = Decimal(f"{whole}.{cents:02d}")
    assert number_of(written, ".") == expected
    assert number_of(german, ",") == expected


UNITS = ("", "十", "百", "千")


def written_in_chinese(number: int) -> str:
    """By the rules of the schoolbook: 零 for a gap, 万 and 亿 for each four places."""
    digits = "零一二三四五六七八九"
    out = ""
    for name, size in (("亿", 10**8), ("万", 10**4), ("", 1)):
        part = number // size % 10**4
        if part == 0:
            continue
        text = ""
        for place in (3, 2, 1, 0):
            digit = part // 10**place % 10
            if digit:
                text += digits[digit] + UNITS[place]
            elif text and not text.endswith("零"):
                text += "零"
        if out and part < 1000:
            out += "零"
        out += text.rstrip("零") + name
    return out or "零"


@given(st.integers(0, 10**12 - 1))
def test_chinese_numerals_are_read_back(number):
    assert chinese_number(written_in_chinese(number)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("两百零五", 205),
        ("一万五", 15000),
        ("一万零五", 10005),
        ("二〇二六", 2026),
        ("壹佰贰拾", 120),
        ("十", 10),
        ("3万5千", 35000),
        ("1万2345", 12345),
        ("一万亿", 10**12),
        ("三点五", Decimal("3.5")),
    ],
)
def test_chinese_numerals_as_they_are_spoken(text, number):
    assert chinese_number(text) == number


@pytest.mark.parametrize("text", ["123", "万", "三个", "", "一二百x"])
def test_what_is_no_chinese_numeral(text):
    assert chinese_number(text) is None


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("€12.50", 12.5, "EUR"),
        ("12,50 €", 12.5, "EUR"),
        ("EUR 12", 12, "EUR"),
        ("US$ 5", 5, "USD"),
        ("-US$5", -5, "USD"),
        ("3 US dollars", 3, "USD"),
        ("人民币1.2万元", 12000, "CNY"),
        ("3 欧元", 3, "EUR"),
        ("₹12,34,567", 1234567, "INR"),
        ("5 chf", 5, "CHF"),
        ("$5 USD", 5, "USD"),
    ],
)
def test_money_is_an_amount_and_a_code(text, amount, currency):
    assert clean_money(text, "", "") == {"amount": amount, "currency": currency}


def test_a_currency_is_never_guessed():
    assert left(clean_money, "$5", "", "").candidates[-1] == "USD"
    assert left(clean_money, "¥100", "", "").candidates == ("CNY", "JPY")
    assert left(clean_money, "100元", "", "USD").candidates == ("CNY", "HKD", "TWD")
    assert left(clean_money, "12.50", "", "").reason == "no currency"
    assert left(clean_money, "€5 CHF", "", "").reason == "two currencies"
    assert left(clean_money, "1,234 EUR", "", "").candidates == (1234, 1.234)
    assert left(clean_money, "12.50", "", "EUR", assume=False).reason == "no currency"
    assert left(clean_money, "ten euros", "", "").ask


def test_a_currency_that_is_told_settles_symbols_and_bare_amounts():
    assert clean_money("$5", "", "CAD") == {"amount": 5, "currency": "CAD"}
    assert clean_money("12.50", "", "EUR") == {"amount": 12.5, "currency": "EUR"}
    assert clean_money("¥100", "", "JPY")["currency"] == "JPY"
    assert clean_money("£5", "", "EUR")["currency"] == "GBP"


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("180 cm", "m", 1.8),
        ("5 ft 11 in", "cm", 180.34),
        ("5'11\"", "cm", 180.34),
        ("2斤", "kg", 1),
        ("3 公里", "m", 3000),
        ("1h30m", "min", 90),
        ("12 oz", "g", 340.1942775),
        ("12 oz", "ml", 354.88235475),
        ("68 F", "°C", 20),
        ("300 K", "°C", 26.85),
        ("1,5 kg", "g", 1500),
        ("500g", "kg", 0.5),
        ("-3 °C", "°C", -3),
        ("12 %", "%", 12),
        ("三公斤", "kg", 3),
    ],
)
def test_quantities_are_converted_exactly(text, unit, value):
    assert clean_quantity(text, "", unit) == value


def test_units_are_not_guessed():
    assert clean_quantity("1.8 cm", "", "") == {"value": 1.8, "unit": "cm"}
    assert left(clean_quantity, "12 oz", "", "").candidates == ("fl oz", "oz")
    assert left(clean_quantity, "3 tons", "", "kg").candidates == ("long ton", "short ton")
    assert left(clean_quantity, "10", "", "kg").reason == "no unit"
    assert "unit of time" in left(clean_quantity, "90 min", "", "kg").reason
    assert left(clean_quantity, "heavy", "", "kg").ask
    assert left(clean_quantity, "1.234 kg", "", "kg").reason == "ambiguous"


def test_every_unit_can_be_read_by_its_symbol_and_converted_there_and_back():
    for symbol, unit in units().items():
        base = next(one for one in units().values() if one.kind == unit.kind)
        there = clean_quantity(f"7 {symbol}", "", base.symbol)
        assert clean_quantity(f"{there:.15f} {base.symbol}", ".", symbol) == pytest.approx(
            7, rel=1e-7
        )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("  JOHN   DOE ", "John Doe"),
        ("doe, john", "John Doe"),
        ("ludwig van beethoven", "Ludwig van Beethoven"),
        ("Ludwig van Beethoven", "Ludwig van Beethoven"),
        ("MARY O'BRIEN-SMITH", "Mary O'Brien-Smith"),
        ("MCDONALD, RONALD", "Ronald McDonald"),
        ("John Smith, Jr.", "John Smith, Jr."),
        ("john smith iii", "John Smith III"),
        ("deMarco", "deMarco"),
        ("张  三", "张三"),
    ],
)
def test_names_are_written_as_names(text, name):
    assert clean_name(text) == name
    assert clean_name(name) == name


@pytest.mark.parametrize(
    "text",
    [
        "R2D2",
        "a, b, c",
        "...",
        "Please call John",
        "Contact: Ann",
        "请打电话给张三吧",
        "张三, 李四",
        "a b c d e f g",
    ],
)
def test_what_is_not_only_a_name_is_left_open(text):
    assert left(clean_name, text).ask


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Foo.Bar@EXAMPLE.Com", "Foo.Bar@example.com"),
        ("John <j@x.org>", "j@x.org"),
        ("mailto:a@b.de", "a@b.de"),
        ("a (at) b [dot] com", "a@b.com"),
        ("ａ@b.com", "a@b.com"),
        ("write to a@b.de.", "a@b.de"),
    ],
)
def test_addresses_are_taken_out_of_their_wrapping(text, address):
    assert clean_email(text) == address


@pytest.mark.parametrize("text", ["a@b", "a..b@c.de", "@c.de", "a.@c.de"])
def test_what_is_no_address_is_left_open(text):
    assert left(clean_email, text).ask


def test_two_addresses_are_ambiguous():
    assert left(clean_email, "a@b.de, c@d.de").candidates == ("a@b.de", "c@d.de")


def test_telephone_numbers_need_a_country_their_own_or_the_one_that_is_told():
    assert clean_phone("030 123456", "DE") == "+4930123456"
    assert clean_phone("0049 30 123456", "") == "+4930123456"
    assert clean_phone("138 0013 8000", "CN") == "+8613800138000"
    assert clean_phone("Tel: +1 (415) 555-2671", "DE") == "+14155552671"
    assert left(clean_phone, "030 123456", "").reason == "no country code"
    assert left(clean_phone, "12", "DE").reason == "no valid telephone number"
    assert left(clean_phone, "call me", "DE").ask
    assert clean_phone("call (415) 555-2671 after six", "US") == "+14155552671"
    two = left(clean_phone, "+49 30 123456 or +49 30 654321 at night", "")
    assert two.candidates == ("+4930123456", "+4930654321")
    assert "extension" in left(clean_phone, "+1 415 555 2671 ext. 5", "").reason


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *(("Germany", "DE"), ("deutschland", "DE"), ("de", "DE"), ("DEU", "DE"), ("U.S.A.", "US")),
        *(("uk", "GB"), ("中国", "CN"), ("法国", "FR"), ("Brasil", "BR"), ("Côte d’Ivoire", "CI")),
    ],
)
def test_countries_by_code_or_name(text, code):
    assert clean_country(text) == code


def test_a_country_that_is_not_known_is_left_open():
    assert left(clean_country, "Atlantis").ask
    assert left(clean_country, "ZZ").ask
    assert left(clean_country, "ß").ask


def test_true_and_false_in_several_languages():
    assert all(clean_boolean(word) for word in ("Yes", "是", "1", "ja", "✓", True, 1))
    assert not any(clean_boolean(word) for word in ("No", "否", "0", "nein", False, "无"))
    assert left(clean_boolean, "maybe").ask


def test_one_of_a_list_in_whatever_case_or_by_a_synonym():
    sizes, words = ["S", "M", "X-Large"], {"S": ("small", "小号")}
    assert clean_choice("s ", sizes, words) == "S"
    assert clean_choice("x large", sizes, words) == "X-Large"
    assert clean_choice("小号", sizes, words) == "S"
    assert clean_choice("2", [1, 2], {}) == 2
    assert left(clean_choice, "huge", sizes, words).ask
    both = left(clean_choice, "a", ["one", "two"], {"one": ("a",), "two": ("A",)})
    assert both.candidates == ("one", "two")


def test_text_is_trimmed_and_says_when_there_is_none():
    assert clean_text(" a \n\t b\u200b\x00 ") == "a b"
    assert all(map(is_missing, (None, "", " N/A ", "-", "null", "未知", "n.a.")))
    assert not any(map(is_missing, ("0", 0, False, "no", "nano")))


@pytest.mark.parametrize(
    ("span", "text"),
    [
        *(("234.50", "for 1,234.50 in all"), ("3", "3 million"), ("5", "below -5 degrees")),
        *(("12", "12% off"), ("3", "3万"), ("5 ft", "5 ft 11 in"), ("30 123456", "+49 30 123456")),
    ],
)
def test_a_part_of_a_number_is_recognised(span, text):
    assert cuts_a_number(span, text)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        *(
            ("1,234.50", "for 1,234.50 in all"),
            ("12", "12 items"),
            ("3 March 2026", "on 3 March 2026."),
        ),
        *(
            ("20", "20 of 120"),
            ("35", "库存 35 件"),
            ("Germany", "made in Germany 2"),
            ("EUR 5", "EUR 5!"),
        ),
    ],
)
def test_a_whole_number_is_no_part_of_one(span, text):
    assert not cuts_a_number(span, text)


@pytest.mark.parametrize("date", ["3.4.2026", "03-04-2026", "2026-12-31"])
def test_a_date_in_a_longer_text_is_no_telephone_number(date):
    with pytest.raises(Unsettled, match="not a telephone number"):
        clean_phone(f"Anna paid on {date}", "DE")
    assert clean_phone(f"Anna paid on {date}, 030 123456", "DE") == "+4930123456"
