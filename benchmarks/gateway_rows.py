"""Requests for `gateway.py`, made from a seed: tickets, extractions, open questions, red lines.

Every one has personal data or a secret planted in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from redact_ids import card, cn_id
from stdnum import iban

LABELS = {
    "delivery": "the parcel is late, lost, broken, incomplete or at the wrong place",
    "payment": "money: refunds, charges, invoices, discounts",
    "login": "signing in, password, the account and its profile",
    "praise": "is happy and says thanks, wants nothing",
}
LABELLING = "\n".join(
    (
        "Label the support ticket with one word.",
        *(f"{name}: {about}" for name, about in LABELS.items()),
        "Contact data in the ticket does not matter. Reply with the label only.",
        "'Where is my order? It should have come on Friday.' is delivery.",
        "'You have taken the sum from my account two times.' is payment.",
        "'It says my password is wrong.' is login.",
        "'Great work, thank you for your help!' is praise.",
    )
)
EXAMPLES = (
    ("Where is my order? It should have come on Friday. Mail: jo@example.com", "delivery"),
    ("You have taken the sum from my account two times. My phone is +49 170 1112223.", "payment"),
    ("It says my password is wrong. You can reach me at kim@example.com.", "login"),
    ("Great work, thank you for your help! Mail: pat@example.com", "praise"),
    ("包裹还没有收到。 My phone is +49 170 2223334.", "delivery"),
    ("发票金额不对，请退款。 Mail: li@example.com", "payment"),
    ("无法登录，密码不对。 You can reach me at wu@example.com.", "login"),
    ("东西很好，谢谢！ My phone is +49 170 3334445.", "praise"),
)
COPYING = "Copy the order number and the city: "
ORDER = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "city": {"type": "string"}},
    "required": ["order", "city"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "order", "schema": ORDER}}
ORDER_EXAMPLES = (
    ("R-1212 is on its way to Bonn.", {"order": "R-1212", "city": "Bonn"}),
    (
        "In Nice nobody has seen R-3434. Mail: a@example.com",
        {"order": "R-3434", "city": "Nice"},
    ),
)

TICKETS = {
    "delivery": (
        "My parcel has not arrived for two weeks.",
        "The box came open and the lamp in it is broken.",
        "The courier left my order with somebody I do not know.",
        "Tracking has said 'in transit' since Monday, where is my parcel?",
        "You sent the package to my old street.",
        "Half of the delivery is missing.",
        "The driver never rang, and now the parcel is back at the depot.",
        "When will my order be delivered? It is late.",
        "The shipment was soaked by rain.",
        "I got the parcel of another customer.",
        "我的包裹两个星期还没有到。",
        "快递送错了地址，请重新派送。",
    ),
    "payment": (
        "I want my money back for the chair.",
        "You charged my card twice.",
        "The invoice says 89 but I was told 59.",
        "I returned the coat a month ago and still have no refund.",
        "Please pay back the amount of the cancelled order.",
        "There is a charge from you that I do not recognise.",
        "Why does the invoice have a fee for express?",
        "The discount was not taken off my bill.",
        "I would like to be reimbursed.",
        "Please send a corrected invoice, the sum is wrong.",
        "请把订单的钱退给我。",
        "我的信用卡被重复扣款，要求退款。",
    ),
    "login": (
        "I cannot log in any more.",
        "The link to reset my password does not work.",
        "Please change the e-mail address of my profile.",
        "My account is locked after three tries.",
        "I forgot my password.",
        "The two-factor code never comes when I sign in.",
        "How do I delete my account?",
        "Somebody else has signed in to my account.",
        "My user name is wrong in the profile, please correct it.",
        "The login page says that my account does not exist.",
        "我无法登录我的账户。",
        "忘记密码了，重置链接打不开。",
    ),
    "praise": (
        "Everything arrived on time and is lovely, thank you!",
        "Your support was wonderful, thanks a lot.",
        "I am very happy with the lamp.",
        "Best shop I know, keep it up!",
        "Thank you for the quick help yesterday.",
        "The quality is great, I will buy again.",
        "Just wanted to say that I love the new coat.",
        "Five stars from me.",
        "Great service, my compliments to your team.",
        "What a nice surprise in the box, thank you so much!",
        "非常满意，谢谢你们！",
        "服务很好，下次还会再买。",
    ),
}
CITIES = ("Lyon", "Oslo", "Porto", "Graz", "Leeds", "Bergen", "Gdansk", "Turin", "Ghent", "Malaga")
MESSAGES = (
    "Order {order} left for {city} today.",
    "We could not deliver {order} in {city}, nobody was there.",
    "Please note that {order} waits at our shop in {city}.",
    "The customer in {city} asks where {order} is.",
    "{city} depot: {order} was scanned this morning.",
    "As agreed, {order} goes to {city} by train.",
)
WISHES = (
    "Write a short, kind reply to {email}: the parcel is late by two days.",
    "Write a slogan for our shop and end it with our number {phone}.",
    "Write a friendly reminder to {email} that an invoice is open.",
    "Write two sentences that explain to {email} how a password is reset.",
    "Write a thank-you note and sign it with {email}.",
)
RED = (
    "What is {a} * {b}? Send the result to {email}.",
    "A box holds {a} cups and we send {b} boxes. How many cups are that? Tell {email}.",
    "If {a} of {b} parcels are lost, what percentage is that? Call {phone}.",
    "Who is the president of Norway? Answer to {email}.",
    "What is the capital of Bolivia? Text it to {phone}.",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One request. `planted` must not leave; `right` is the label of a ticket."""

    id: str
    kind: str
    body: dict[str, Any]
    planted: tuple[str, ...]
    right: str = ""

    @property
    def text(self) -> str:
        """The user's turn."""
        return str(self.body["messages"][-1]["content"])


def email(rng: random.Random) -> str:
    first = rng.choice(("ann", "bo", "cleo", "dan", "eve", "finn", "hana", "li"))
    return f"{first}.{rng.choice(('lee', 'berg', 'costa', 'wu'))}{rng.randint(1, 999)}@example.com"


def phone(rng: random.Random) -> str:
    return f"+49 170 {rng.randint(1000000, 9999999)}"


def account(rng: random.Random) -> str:
    body = "".join(rng.choices("0123456789", k=18))
    return f"DE{iban.calc_check_digits('DE00' + body)}{body}"


def secret(rng: random.Random) -> str:
    return "AKIA" + "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ234567", k=16))


# what is said around a planted value, and what makes it
ASIDES: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    ("You can reach me at {}.", email),
    ("My phone is {}.", phone),
    ("Mail: {}", email),
    ("身份证{}。", cn_id),
)
PAPERS: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    ("Contact: {}", email),
    ("Paid with card {}.", card),
    ("Paid from {}.", account),
    ("Their API key is {}.", secret),
)


def ticket(rng: random.Random, number: int) -> Row:
    label = rng.choice([*TICKETS])
    aside, make = rng.choice(ASIDES)
    value = make(rng)
    parts = [rng.choice(TICKETS[label]), aside.format(value)]
    if rng.random() < 0.3:
        parts.insert(0, rng.choice(("Hello,", "Hi there.", "Good morning,", "你好，")))
    messages = [
        {"role": "system", "content": LABELLING},
        {"role": "user", "content": " ".join(parts)},
    ]
    body = {"messages": messages, "temperature": 0, "max_tokens": 8}
    return Row(f"t{number}", "ticket", body, (value,), label)


def extraction(rng: random.Random, number: int) -> Row:
    order, city = f"R-{rng.randint(1000, 9999)}", rng.choice(CITIES)
    paper, make = rng.choice(PAPERS)
    value = make(rng)
    message = rng.choice(MESSAGES).format(order=order, city=city)
    text = f"{COPYING}{message} {paper.format(value)}"
    body = {
        "messages": [{"role": "user", "content": text}],
        "response_format": FORM,
        "temperature": 0,
        "max_tokens": 48,
    }
    return Row(f"x{number}", "extraction", body, (value,))


def free(rng: random.Random, number: int, kind: str, texts: tuple[str, ...]) -> Row:
    values = {"email": email(rng), "phone": phone(rng)}
    numbers = {"a": rng.randint(12, 99), "b": rng.randint(12, 99)}
    chosen = rng.choice(texts)
    planted = tuple(value for name, value in values.items() if f"{{{name}}}" in chosen)
    body = {
        "messages": [{"role": "user", "content": chosen.format(**values, **numbers)}],
        "temperature": 0,
        "max_tokens": 32,
        "stream": True,
    }
    return Row(f"{kind[0]}{number}", kind, body, planted)


def rows_of(seed: int, **counts: int) -> list[Row]:
    """So many of each kind, in random order."""
    rng = random.Random(seed)
    makers: dict[str, Callable[[int], Row]] = {
        "ticket": lambda number: ticket(rng, number),
        "extraction": lambda number: extraction(rng, number),
        "open": lambda number: free(rng, number, "open", WISHES),
        "red": lambda number: free(rng, number, "red", RED),
    }
    rows = [makers[kind](number) for kind, n in counts.items() for number in range(n)]
    rng.shuffle(rows)
    return rows
