"""Made-up values of every kind that rules find, and near misses that are none of them."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable

from stdnum import iban, luhn, numdb, verhoeff
from stdnum.br import cnpj, cpf
from stdnum.cn import ric, uscc
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.gb import nhs
from stdnum.it import codicefiscale
from stdnum.pl import pesel

Maker = Callable[[random.Random], str]
DIGITS, UPPER, ALNUM = string.digits, string.ascii_uppercase, string.ascii_letters + string.digits
AREAS = ("110105", "310104", "440305", "510107", "330106", "420111", "610113", "350203")
IBAN_FORMS = {
    "DE": "n18",
    "GB": "a4n14",
    "FR": "n10c11n2",
    "NL": "a4n10",
    "ES": "n20",
    "IT": "a1n10c12",
}


def some(rng: random.Random, chars: str, n: int) -> str:
    return "".join(rng.choices(chars, k=n))


def grouped(text: str, sizes: tuple[int, ...], gap: str) -> str:
    parts, at = [], 0
    for size in sizes:
        parts.append(text[at : at + size])
        at += size
    return gap.join(parts)


def wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in text)


def birth(rng: random.Random) -> str:
    return f"{rng.randint(1950, 2005)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"


def cn_id(rng: random.Random) -> str:
    body = rng.choice(AREAS) + birth(rng) + some(rng, DIGITS, 3)
    number = body + ric.calc_check_digit(body + "0")
    spaced = (grouped(number, (6, 8, 4), " "), grouped(number, (6, 8, 4), "-"), wide(number))
    return rng.choice((number, number, number.lower(), *spaced))


def cn_uscc(rng: random.Random) -> str:
    body = rng.choice(("91", "92", "93", "51", "52", "12")) + rng.choice(AREAS)
    body += some(rng, "0123456789ABCDEFGHJKLMNPQRTUWXY", 8) + some(rng, UPPER[:8], 1)
    return body + uscc.calc_check_digit(body + "0")


def card(rng: random.Random) -> str:
    begin, n = rng.choice(
        (("4", 16), ("53", 16), ("37", 15), ("6228", 19), ("3566", 16), ("6011", 16))
    )
    body = begin + some(rng, DIGITS, n - 1 - len(begin))
    number = body + luhn.calc_check_digit(body)
    if n == 15:
        return rng.choice((number, grouped(number, (4, 6, 5), " ")))
    sizes = (4, 4, 4, 4, 3) if n == 19 else (4, 4, 4, 4)
    return rng.choice(
        (number, grouped(number, sizes, " "), grouped(number, sizes, "-"), wide(number))
    )


def an_iban(rng: random.Random) -> str:
    country = rng.choice(sorted(IBAN_FORMS))
    body, kind, count = "", "", ""
    for char in IBAN_FORMS[country] + "#":
        if char.isdigit():
            count += char
            continue
        if kind:
            body += some(rng, {"n": DIGITS, "a": UPPER, "c": DIGITS + UPPER}[kind], int(count))
        kind, count = char, ""
    number = country + iban.calc_check_digits(f"{country}00{body}") + body
    assert numdb.get("iban").info(number)[0][1]
    return rng.choice((number, " ".join(number[i : i + 4] for i in range(0, len(number), 4))))


def us_ssn(rng: random.Random) -> str:
    area = rng.choice([n for n in range(100, 899) if n != 666])
    return f"{area:03}-{rng.randint(1, 99):02}-{rng.randint(1, 9999):04}"


def uk_nhs(rng: random.Random) -> str:
    while True:
        number = some(rng, DIGITS, 10)
        if nhs.is_valid(number):
            return "NHS number " + rng.choice((number, grouped(number, (3, 3, 4), " ")))


def es_nif(rng: random.Random) -> str:
    if rng.random() < 0.5:
        body = some(rng, DIGITS, 8)
        return body + dni.calc_check_digit(body)
    body = rng.choice("XYZ") + some(rng, DIGITS, 7)
    return body + nie.calc_check_digit(body)


def it_cf(rng: random.Random) -> str:
    body = some(rng, "BCDFGLMNPRST", 6) + f"{rng.randint(0, 99):02}{rng.choice('ABCDEHLMPRST')}"
    body += f"{rng.randint(1, 28):02}{rng.choice('ABCDEFGHI')}{rng.randint(100, 999)}"
    return body + codicefiscale.calc_check_digit(body)


def fr_nir(rng: random.Random) -> str:
    body = (
        f"{rng.choice('12')}{rng.randint(0, 99):02}{rng.randint(1, 12):02}{rng.randint(1, 95):02}"
    )
    body += f"{rng.randint(1, 990):03}{rng.randint(1, 999):03}"
    number = f"{body}{97 - int(body) % 97:02}"
    return rng.choice((number, grouped(number, (1, 2, 2, 2, 3, 3, 2), " ")))


def br_cpf(rng: random.Random) -> str:
    body = some(rng, DIGITS, 9)
    number = cpf.format(body + cpf._calc_check_digits(body))
    return rng.choice((number, "CPF: " + cpf.compact(number)))


def br_cnpj(rng: random.Random) -> str:
    body = some(rng, DIGITS, 8) + "0001"
    return str(cnpj.format(body + cnpj.calc_check_digits(body)))


def de_idnr(rng: random.Random) -> str:
    while True:
        body = some(rng, DIGITS, 10)
        for check in DIGITS:
            if idnr.is_valid(body + check):
                return rng.choice(("IdNr. " + body + check, str(idnr.format(body + check))))


def in_aadhaar(rng: random.Random) -> str:
    body = rng.choice("23456789") + some(rng, DIGITS, 10)
    number = body + verhoeff.calc_check_digit(body)
    return grouped(number, (4, 4, 4), " ")


def pl_pesel(rng: random.Random) -> str:
    body = birth(rng)[2:] + some(rng, DIGITS, 4)
    return "PESEL " + body + pesel.calc_check_digit(body)


def tw_id(rng: random.Random) -> str:
    first, body = rng.choice("ABCDEFGHJK"), rng.choice("12") + some(rng, DIGITS, 7)
    letter = "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(first) + 10
    total = letter // 10 + 9 * (letter % 10)
    total += sum(int(d) * w for d, w in zip(body, (8, 7, 6, 5, 4, 3, 2, 1), strict=True))
    return f"{first}{body}{-total % 10}"


def phone(rng: random.Random) -> str:
    n = some(rng, "23456789", 7)
    cn = "1" + rng.choice(("38", "39", "50", "58", "86", "77", "99")) + some(rng, DIGITS, 8)
    return rng.choice(
        (
            cn, cn, wide(cn), "+86 " + cn, grouped(cn, (3, 4, 4), " "), grouped(cn, (3, 4, 4), "-"),
            f"({rng.choice((212, 415, 617))}) {n[:3]}-{n[3:]}", f"+1-312-{n[:3]}-{n[3:]}",
            f"+44 20 7946 0{n[:3]}", f"020 7946 0{n[:3]}", f"+49 170 {n}", f"030 {n}",
            f"010-6{n}", f"0755-8{n}",
        )
    )  # fmt: skip


def email(rng: random.Random) -> str:
    name = some(rng, string.ascii_lowercase, 6) + rng.choice(("", ".x", "+tag", "_1"))
    return (
        f"{name}@{some(rng, string.ascii_lowercase, 5)}.{rng.choice(('com', 'co.uk', 'cn', 'de'))}"
    )


def ip(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return ".".join(str(rng.randint(1, 254)) for _ in range(4))
    return "2001:db8:" + ":".join(f"{rng.randint(4096, 65535):x}" for _ in range(6))


def cn_plate(rng: random.Random) -> str:
    body = rng.choice("京沪粤苏浙川") + rng.choice("ABCDEF")
    return body + rng.choice(DIGITS) + some(rng, "ABCDEFGHJK" + DIGITS, rng.choice((4, 5)))


def wechat(rng: random.Random) -> str:
    return (
        rng.choice(("微信：", "微信号 ", "WeChat: ")) + some(rng, string.ascii_lowercase, 5) + "_88"
    )


def secret(rng: random.Random) -> str:
    def b64(n: int) -> str:
        return some(rng, ALNUM, n)

    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(json.dumps({"sub": b64(6)}).encode()).decode().rstrip("=")
    return rng.choice(
        (
            "AKIA" + some(rng, UPPER + "234567", 16), "AIza" + b64(35), "ghp_" + b64(36),
            f"github_pat_{b64(22)}_{b64(59)}", "glpat-" + b64(20),
            f"xoxb-{some(rng, DIGITS, 12)}-{b64(24)}", "sk_live_" + b64(24),
            f"sk-proj-{b64(48)}", f"sk-ant-api03-{b64(93)}AA", "hf_" + b64(34),
            f"{header}.{body}.{b64(43)}", f"password={b64(10)}1", f'"api_key": "{b64(32)}7"',
            f"AccountKey={b64(86)}==", "密码：" + b64(8) + "#1",
            "Authorization: Bearer " + b64(39) + "7",
        )
    )  # fmt: skip


def url_credentials(rng: random.Random) -> str:
    scheme = rng.choice(("https", "postgres", "redis"))
    return (
        f"{scheme}://{some(rng, string.ascii_lowercase, 5)}:{some(rng, ALNUM, 9)}@db.example.com/x"
    )


def private_key(rng: random.Random) -> str:
    lines = "\n".join(some(rng, ALNUM + "+/", 64) for _ in range(12))
    kind = rng.choice(("RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


MAKERS: dict[str, Maker] = {
    "cn_id": cn_id, "cn_uscc": cn_uscc, "card": card, "iban": an_iban, "us_ssn": us_ssn,
    "uk_nhs": uk_nhs, "es_nif": es_nif, "it_cf": it_cf, "fr_nir": fr_nir, "br_cpf": br_cpf,
    "br_cnpj": br_cnpj, "de_idnr": de_idnr, "in_aadhaar": in_aadhaar, "pl_pesel": pl_pesel,
    "tw_id": tw_id, "phone": phone, "email": email, "ip": ip, "cn_plate": cn_plate,
    "wechat": wechat, "secret": secret, "url_credentials": url_credentials,
    "private_key": private_key,
}  # fmt: skip


def _wrong_digit(value: str, rng: random.Random) -> str:
    """The value with its last digit changed."""
    at = max(i for i, char in enumerate(value) if char.isascii() and char.isdigit())
    return value[:at] + rng.choice([d for d in DIGITS if d != value[at]]) + value[at + 1 :]


def _wrong_check(maker: Maker) -> Maker:
    def make(rng: random.Random) -> str:
        value = maker(rng)
        while not value.isascii() or value[-1] in "Xx":
            value = maker(rng)
        return _wrong_digit(value, rng)

    return make


NEAR_MISSES: dict[str, Maker] = {
    "id, wrong check": _wrong_check(cn_id),
    "card, wrong check": _wrong_check(card),
    "iban, wrong check": _wrong_check(an_iban),
    "nir, wrong check": _wrong_check(fr_nir),
    "order number": lambda rng: f"order {rng.randint(2020, 2026)}{some(rng, DIGITS, 10)}",
    "order in Chinese": lambda rng: f"订单号{birth(rng)}{some(rng, DIGITS, 8)}",
    "short order": lambda rng: f"PO-{some(rng, DIGITS, 8)}",
    "timestamp": lambda rng: str(1_700_000_000 + rng.randint(0, 10**8)),
    "timestamp, ms": lambda rng: str(1_700_000_000_000 + rng.randint(0, 10**11)),
    "timestamp, us": lambda rng: str(1_700_000_000_000_000 + rng.randint(0, 10**14)),
    "date and time": lambda rng: (
        f"{rng.randint(1990, 2026)}-01-{rng.randint(10, 28)} "
        f"10:22:{rng.randint(10, 59)}.{some(rng, DIGITS, 6)}"
    ),
    "compact time": lambda rng: birth(rng) + "103000",
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128))),
    "uuid of digits": lambda rng: grouped(some(rng, DIGITS, 32), (8, 4, 4, 4, 12), "-"),
    "token that is a uuid": lambda rng: f"token={uuid.UUID(int=rng.getrandbits(128))}",
    "sha-1": lambda rng: hashlib.sha1(rng.randbytes(8)).hexdigest(),
    "sha-256": lambda rng: "sha256:" + hashlib.sha256(rng.randbytes(8)).hexdigest(),
    "commit": lambda rng: "commit " + hashlib.sha1(rng.randbytes(8)).hexdigest()[:7],
    "version": lambda rng: (
        f"version {rng.randint(1, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}.{rng.randint(0, 99)}"
    ),
    "float": lambda rng: repr(rng.random() * 1000),
    "money": lambda rng: (
        f"{rng.randint(1, 999)},{rng.randint(100, 999)},{rng.randint(100, 999)}.00"
    ),
    "clock": lambda rng: f"{rng.randint(10, 23)}:{rng.randint(10, 59)}:{rng.randint(10, 59)}",
    "code": lambda rng: rng.choice(
        (
            "std::vector<int>",
            "a::b::c",
            "user.token = self.token",
            "password = get_password()",
            "api_key=${API_KEY}",
            'token: "<your token>"',
            "password: ********",
        )
    ),
    "handle": lambda rng: "@" + some(rng, string.ascii_lowercase, 8),
    "package": lambda rng: f"left-pad@{rng.randint(1, 9)}.{rng.randint(0, 9)}.{rng.randint(0, 9)}",
    "url": lambda rng: f"https://example.com:8080/a/{some(rng, DIGITS, 8)}?page=2",
    "coordinates": lambda rng: f"{rng.random() * 90:.6f}, {rng.random() * 180:.6f}",
    "isbn": lambda rng: f"ISBN 978-3-16-{some(rng, DIGITS, 6)}-{rng.randint(0, 9)}",
}
