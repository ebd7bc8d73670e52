"""One request at a time: log events, tool calls and forms, against a llama-server.

    python benchmarks/one_at_a_time.py [--model NAME] [--peer PATH] [--items 24] [--json]

Each item is asked of vedette, then of the server (one slot, prompt cache on, no other request
under way): the same messages and the same schema, without the keywords that only vedette knows.
What vedette asks in two requests (which tool, then its arguments) is put to the server in two
requests as well. The first two items of each kind warm both up and are not counted. Told is the
median of an item's wall time, and what it is of the server's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from itertools import product

from common import EXAMPLES, LOG, event_task, say, table

from vedette.backends.find_server import find_server
from vedette.backends.local import LocalBackend
from vedette.backends.server_process import ServerOptions
from vedette.bench.bodies import label_body, text_body
from vedette.bench.client import ask_all
from vedette.bench.peer import Peer
from vedette.cli.bench_run import stopped_by_sigterm
from vedette.errors import VedetteError
from vedette.tasks.base import Ask, Task
from vedette.tasks.form import FillForm
from vedette.tasks.tool import CallTools
from vedette.tasks.tool_defs import parse_tools
from vedette.types import Item, Request

WARMUP = 2
MINUTES = (5, 8, 12, 20, 25, 40, 50, 55)
ROOMS = ("kitchen", "bath", "bedroom", "hall")
PLACES = ("Oslo", "Lagos", "Lima", "Porto", "Osaka", "Quito", "Turin", "Lyon")
NAMES = ("Okafor", "Lindqvist", "Marchetti", "Nguyen", "Haddad", "Castro", "Wolff", "Ito", "Baker")
DAYS = ("Friday", "Saturday", "Sunday")


def tool_texts() -> list[str]:
    timers = [f"Wake me in {n} minutes, the rice is on." for n in MINUTES]
    lights = [f"Lights {how} in the {room} please" for room, how in product(ROOMS, ("on", "off"))]
    weather = [f"What is the weather in {place} tomorrow?" for place in PLACES]
    return [text for group in zip(timers, lights, weather, strict=False) for text in group] + [
        "Thanks, that was all.",
        "Who won the match last night?",
        "Read me a story.",
    ]


def form_texts() -> list[str]:
    return [
        f"A table for {2 + i % 7} on {DAYS[i % 3]}, the name is {NAMES[i % 9]}."
        + (f" Call me on +47 22 33 {10 + i} {40 + i}." if i % 2 else "")
        for i in range(27)
    ]


def log_lines() -> list[str]:
    lines = LOG.read_text("utf-8").splitlines()
    return lines[:: len(lines) // 27][:27]


def jobs() -> dict[str, tuple[Task, list[str]]]:
    kits = EXAMPLES / "kits"
    tools = parse_tools((kits / "tools.json").read_text("utf-8"), "tools.json")
    booking = json.loads((kits / "booking.schema.json").read_text("utf-8"))
    return {
        "log events": (event_task(), log_lines()),
        "tool calls": (CallTools(tools=tools), tool_texts()),
        "forms": (FillForm(schema=booking), form_texts()),
    }


def ours(backend: LocalBackend, task: Task, text: str) -> tuple[float, list[Ask]]:
    """Seconds, and what was asked."""
    started = time.perf_counter()
    steps = task.steps(Item(id="1", text=text), backend)
    asked: list[Ask] = []
    try:
        asks = next(steps)
        while True:
            asked.extend(asks)
            handles = [backend.submit(ask) for ask in asks]
            asks = steps.send([handle.result() for handle in handles])
    except StopIteration:
        return time.perf_counter() - started, asked


def theirs(url: str, asked: list[Ask]) -> float:
    bodies = [text_body(a) if isinstance(a, Request) else label_body(a) for a in asked]
    started = time.perf_counter()
    for body in bodies:
        (reply,) = ask_all(url, [body], concurrency=1)
        if reply.error:
            raise VedetteError(f"the llama-server refused: {reply.error}")
    return time.perf_counter() - started


def measure(backend: LocalBackend, url: str, task: Task, texts: list[str]) -> dict[str, float]:
    pairs = []
    for text in texts:
        seconds, asked = ours(backend, task, text)
        pairs.append((seconds, theirs(url, asked)))
    mine, other = zip(*pairs[WARMUP:], strict=True)
    return {
        "items": len(mine),
        "vedette_ms": statistics.median(mine) * 1000,
        "llama_server_ms": statistics.median(other) * 1000,
        "of_it": statistics.median(mine) / statistics.median(other),
        "of_it_by_item": statistics.median(a / b for a, b in zip(mine, other, strict=True)),
    }


def run(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    backend = LocalBackend(args.model)
    try:
        options = ServerOptions(threads=backend.engine.options.threads)
        with Peer(find_server(args.peer), backend.path, options) as peer:
            found = {}
            for name, (task, texts) in jobs().items():
                say(f"{name} ...")
                found[name] = measure(backend, peer.url, task, texts[: args.items + WARMUP])
            return found
    finally:
        backend.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--peer")
    parser.add_argument("--items", type=int, default=24, help="of each kind, 24 at most")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not 1 <= args.items <= 24:
        parser.error(f"--items is {args.items}; it must be 1 to 24")
    try:
        with stopped_by_sigterm():
            found = run(args)
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    if args.json:
        print(json.dumps(found))
        return 0
    rows = [
        (
            name,
            f"{f['items']:.0f}",
            f"{f['vedette_ms']:.0f}",
            f"{f['llama_server_ms']:.0f}",
            f"{f['of_it']:.2f}",
            f"{f['of_it_by_item']:.2f}",
        )
        for name, f in found.items()
    ]
    print(table(("task", "items", "vedette ms", "llama-server ms", "ratio", "by item"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
