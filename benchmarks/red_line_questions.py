"""Questions on both sides of the red lines, made from a seed, each with its right answer.

What a small model is good at (copying a value out of a text) stands beside what it is not, on
texts as similar as can be.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

FACTS = Path(__file__).resolve().parent / "red_line_facts.tsv"
N = 30  # of each kind, where nothing else is said
LENGTHS = (5, 20, 80)  # lines of the lists
PER_LENGTH = 8
NAMES = ("Ada", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
GOODS = ("lamps", "chairs", "books", "ropes", "pots", "coats")
COLOURS = ("red", "blue", "green", "black", "white", "grey")
NUMBER = "[0-9]{1,7}"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question. `right` are the forms of its answer; `text` stands before it and is shared.

    `answer` is a regular expression that the answer must match, or empty for free text, of which
    one of the forms must be a part. `in_steps` lets the model write first; the last number counts.
    """

    kind: str
    question: str
    right: tuple[str, ...]
    text: str = ""
    answer: str = ""
    in_steps: bool = False


def _words(names: tuple[str, ...]) -> str:
    return "|".join(names)


def copies(draw: random.Random) -> Iterator[Asked]:
    """A number that the text states, among others."""
    for _ in range(N):
        name, goods = draw.choice(NAMES), draw.choice(GOODS)
        amount, order, year = (
            draw.randint(11, 99),
            draw.randint(1000, 9999),
            draw.randint(1990, 2024),
        )
        text = (
            f"{name} has ordered {amount} {goods} on invoice {order}, "
            f"and was a customer since {year}."
        )
        what, right = draw.choice(
            ((f"How many {goods} are ordered?", amount), ("What is the invoice's number?", order))
        )
        yield Asked("copy a value from the text", what, (str(right),), text + "\n", NUMBER)


def products(draw: random.Random) -> Iterator[Asked]:
    """Two numbers of two digits."""
    for _ in range(2 * N):
        a, b = draw.randint(12, 98), draw.randint(12, 98)
        yield Asked("multiply two-digit numbers", f"{a} * {b} =", (str(a * b),), answer=NUMBER)


def one_step(draw: random.Random) -> Iterator[Asked]:
    """A word problem of one addition, subtraction or multiplication."""
    for i in range(N):
        name, goods, a, b = (
            draw.choice(NAMES),
            draw.choice(GOODS),
            draw.randint(41, 99),
            draw.randint(12, 39),
        )
        text, right = (
            (f"{name} has {a} {goods} and buys {b} more. How many {goods} are there?", a + b),
            (f"{name} has {a} {goods} and sells {b}. How many {goods} are left?", a - b),
            (
                f"{name} packs {b} boxes with {a % 9 + 2} {goods} each. How many {goods} is that?",
                b * (a % 9 + 2),
            ),
        )[i % 3]
        yield Asked("word problem, one step", text, (str(right),), answer=NUMBER)


def two_steps(draw: random.Random, *, in_steps: bool = False) -> Iterator[Asked]:
    """A word problem of two operations, the second on the result of the first."""
    kind = "word problem, two steps" + (", written out first" if in_steps else "")
    for i in range(N):
        name, goods = draw.choice(NAMES), draw.choice(GOODS)
        boxes, each, sold = draw.randint(6, 19), draw.randint(4, 12), draw.randint(5, 20)
        text, right = (
            (
                f"{name} has {boxes} boxes with {each} {goods} each and sells {sold} {goods}. "
                f"How many {goods} are left?",
                boxes * each - sold,
            ),
            (
                f"{name} buys {each} {goods} for {boxes} euros each and pays with 500 euros. "
                "How many euros come back?",
                500 - boxes * each,
            ),
            (
                f"{name} had {boxes * 5} {goods}, got {each * 3} more and then lost {sold}. "
                f"How many {goods} are there now?",
                boxes * 5 + each * 3 - sold,
            ),
        )[i % 3]
        yield Asked(kind, text, (str(right),), answer="" if in_steps else NUMBER, in_steps=in_steps)


def orders(draw: random.Random) -> Iterator[Asked]:
    """Four people in an order that three sentences give, told out of order."""
    for _ in range(N):
        people = draw.sample(NAMES, 4)  # the oldest first
        told = [f"{a} is older than {b}." for a, b in pairwise(people)]
        draw.shuffle(told)
        place, right = draw.choice((("second oldest", people[1]), ("youngest", people[3])))
        question = f"Who is the {place}?"
        yield Asked(
            "put three sentences together",
            question,
            (right,),
            " ".join(told) + "\n",
            _words(tuple(sorted(people))),
        )


def moves(draw: random.Random) -> Iterator[Asked]:
    """Where a thing is after three moves: a plan of three steps, followed."""
    rooms = ("kitchen", "cellar", "garage", "office", "hall")
    for _ in range(N):
        things = draw.sample(("key", "map", "cup"), 2)
        at = {thing: draw.choice(rooms) for thing in things}
        told = [f"The {thing} is in the {room}." for thing, room in at.items()]
        for _ in range(3):
            thing = draw.choice(things)
            room = draw.choice([one for one in rooms if one != at[thing]])
            told.append(
                draw.choice(
                    (
                        f"Then the {thing} is taken from the {at[thing]} to the {room}.",
                        f"What is in the {at[thing]} is now moved to the {room}."
                        if len({*at.values()}) == 2
                        else f"Then the {thing} goes to the {room}.",
                    )
                )
            )
            at[thing] = room
        thing = draw.choice(things)
        yield Asked(
            "follow three moves",
            f"In which room is the {thing} now?",
            (at[thing],),
            " ".join(told) + "\n",
            _words(rooms),
        )


def lists(draw: random.Random) -> Iterator[Asked]:
    """A list of lines: one line's value to be found, and lines of a colour to be counted."""
    for n_lines in LENGTHS:
        for _ in range(PER_LENGTH):
            codes = draw.sample(range(100, 999), n_lines)
            colours = [draw.choice(COLOURS[:3]) for _ in codes]
            text = "".join(f"box {c}: {colour}\n" for c, colour in zip(codes, colours, strict=True))
            i = draw.randrange(n_lines)
            yield Asked(
                f"find a line among {n_lines}",
                f"Which colour is box {codes[i]}?",
                (colours[i],),
                text,
                _words(COLOURS[:3]),
            )
            wanted = draw.choice(COLOURS[:3])
            yield Asked(
                f"count lines among {n_lines}",
                f"How many boxes are {wanted}?",
                (str(colours.count(wanted)),),
                text,
                "[0-9]{1,2}",
            )


def facts(_: random.Random) -> Iterator[Asked]:
    """What everybody can look up, and no text at hand."""
    for line in FACTS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            question, _, right = line.partition("\t")
            yield Asked("facts without a text", question, tuple(right.split("|")))


FAMILIES: tuple[Callable[[random.Random], Iterator[Asked]], ...] = (
    copies, products, one_step, two_steps, orders, moves, facts, lists,
    lambda draw: two_steps(draw, in_steps=True),
)  # fmt: skip


def questions(seed: int = 0) -> list[Asked]:
    """All of them; the same for a seed."""
    return [asked for i, make in enumerate(FAMILIES) for asked in make(random.Random(seed + i))]
