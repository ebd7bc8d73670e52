"""Twelve closed questions about one text: against one question, and against a llama-server.

    python benchmarks/many_questions.py [--model NAME] [--peer PATH] [--inputs 12] [--json]

Each input is a letter of some 300 tokens that nobody has read before. vedette is asked one question
about one letter, then all twelve about the next; the server is asked the same twelve, a request
each under a grammar, with the prompt cache on. How many slots, and whether with flash attention, is
tried on two letters first; what was fastest for the server is measured. Two letters warm each side
up. Told are median wall times, and the medians of the ratios within a round (one question, twelve,
the server's twelve), which other programs' moods spoil less than ratios of medians.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from common import say, table

from vedette.backends.find_server import find_server
from vedette.backends.local import LocalBackend
from vedette.backends.server_process import ServerOptions
from vedette.batch.single import answer_item
from vedette.bench.bodies import label_body
from vedette.bench.peer import Peer
from vedette.cli.bench_run import stopped_by_sigterm
from vedette.decide.question import Question, ask
from vedette.errors import EngineFailed, VedetteError
from vedette.tasks.decide import Decide
from vedette.types import Item

TOKENS = 300
WARMUP = 2
QUESTIONS = (
    "Is the customer angry?",
    "Is it about delivery?",
    "Which team? billing|shipping|technical",
    "How urgent? can wait<this week<today",
    "Is a refund asked for?",
    "Is it written in English?",
    "Does it name a product?",
    "Is it praise?",
    "Is it a threat to leave?",
    "How polite? rude<neutral<polite",
    "Which product? shoes|shirt|watch",
    "Is it spam?",
)
SENTENCES = (
    "I ordered a pair of running shoes from your web shop in May and paid by card.",
    "The parcel came yesterday, but the box was open and one shoe has a torn sole.",
    "I wrote to your support twice, and nobody has answered me.",
    "I need the shoes for a race on Saturday, so please send a new pair today.",
    "If that cannot be done, I want my money back.",
    "The shirt that I bought last year is still as good as new, thank you for that.",
    "Your driver left the parcel in the rain, although I was at home all day.",
    "The invoice names a watch that I have never ordered.",
    "Please take it off the bill, or tell me whom I should call.",
    "The page where the return is to be announced shows an error whenever I open it.",
    "My neighbour had the same trouble with you and now buys elsewhere.",
    "I have been a member of your club for six years and would like to stay one.",
    "The young man on the phone was friendly, but he could not help me.",
    "He said that the warehouse was being moved and that all was late this month.",
    "The size on the label is not the size that I chose.",
    "I enclose two photographs and a copy of the receipt.",
    "It would be enough for me if you sent the left shoe alone.",
    "The discount that was promised in the letter was not taken off the price.",
    "I do not want a voucher, I want what I have paid for.",
    "You can reach me in the evening, after six, best by telephone.",
)


def questions() -> tuple[Question, ...]:
    return tuple(ask(line, number) for number, line in enumerate(QUESTIONS, start=1))


def letters(backend: LocalBackend) -> Iterator[Item]:
    """Letters without end, each of at least `TOKENS` tokens and not much more."""
    rng = random.Random(0)
    number = 0
    while True:
        number += 1
        text = f"Letter {number}."
        for sentence in rng.sample(SENTENCES, len(SENTENCES)):
            if backend.count_tokens(text) >= TOKENS:
                break
            text = f"{text} {sentence}"
        yield Item(id=str(number), text=text)


def ours(backend: LocalBackend, task: Decide, letter: Item) -> float:
    started = time.perf_counter()
    answer_item(task, letter, backend)
    return time.perf_counter() - started


def theirs(peer: Peer, task: Decide, letter: Item) -> float:
    bodies = [label_body(request) for request in task.requests(letter.text)]
    started = time.perf_counter()
    for reply in peer.ask(bodies):
        if reply.error:
            raise EngineFailed(f"the llama-server refused: {reply.error}")
    return time.perf_counter() - started


def fastest(backend: LocalBackend, args: argparse.Namespace, task: Decide) -> ServerOptions:
    """How the server is best started for this."""
    texts = letters(backend)
    base = ServerOptions(threads=backend.engine.options.threads, slot_tokens=1024)
    tried = []
    for n_slots, flash in product((1, 4), (True, False)):
        options = replace(base, n_slots=n_slots, flash_attention=flash)
        with Peer(find_server(args.peer), backend.path, options) as peer:
            theirs(peer, task, next(texts))
            seconds = theirs(peer, task, next(texts))
        say(f"llama-server, {n_slots} slots, flash attention {flash}: {seconds * 1000:.0f} ms")
        tried.append((seconds, options))
    return min(tried, key=lambda pair: pair[0])[1]


def measure(
    backend: LocalBackend, peer: Peer | None, n_inputs: int, texts: Iterator[Item]
) -> dict[str, float]:
    asked = questions()
    many = Decide(questions=asked)
    single = [Decide(questions=(question,)) for question in asked]
    for task in (*single, many):  # the prior of each question is measured with the first text
        ours(backend, task, next(texts))
    times: dict[str, list[float]] = {"one": [], "twelve": [], "server": []}
    for number in range(-WARMUP, n_inputs):
        times["one"].append(ours(backend, single[number % len(single)], next(texts)))
        letter = next(texts)
        times["twelve"].append(ours(backend, many, letter))
        if peer is not None:
            times["server"].append(theirs(peer, many, letter))
    medians = {
        f"{name}_ms": statistics.median(values[WARMUP:]) * 1000
        for name, values in times.items()
        if values
    }
    found = {"inputs": float(n_inputs), **medians, "many_to_one": ratio(times, "one")}
    if peer is not None:
        found["of_server"] = ratio(times, "server")
    return found


def ratio(times: dict[str, list[float]], other: str) -> float:
    pairs = zip(times["twelve"][WARMUP:], times[other][WARMUP:], strict=True)
    return statistics.median(a / b for a, b in pairs)


def run(args: argparse.Namespace) -> dict[str, float]:
    backend = LocalBackend(args.model)
    try:
        if args.peer is None:
            return measure(backend, None, args.inputs, letters(backend))
        options = fastest(backend, args, Decide(questions=questions()))
        with Peer(find_server(args.peer), backend.path, options) as peer:
            return measure(backend, peer, args.inputs, letters(backend))
    finally:
        backend.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--peer", help="a llama-server program; without it only vedette is asked")
    parser.add_argument("--inputs", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.inputs < 1:
        parser.error(f"--inputs is {args.inputs}; it must be at least 1")
    try:
        with stopped_by_sigterm():
            found = run(args)
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    if args.json:
        print(json.dumps(found))
    else:
        print(table(("what", "is"), [(name, f"{value:.2f}") for name, value in found.items()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
