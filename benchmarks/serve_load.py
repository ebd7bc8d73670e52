"""What HTTP costs: one client, many at once, and a llama-server beside it.

    python benchmarks/serve_load.py latency [--model NAME] [--requests 200]
    python benchmarks/serve_load.py load [--model NAME] [--clients 64] [--seconds 60]
    python benchmarks/serve_load.py peer [--model NAME] [--clients 8] [--seconds 30] [--turns 3]
    python benchmarks/serve_load.py memory [--requests 10000]

`latency` asks the engine in this process and `vedette serve` in another, in turns, for one token
each time, and compares medians. `load` has many clients ask as fast as they are answered and looks
for errors, for clients that got less than others and for answers that overtook older ones. `peer`
gives the same work to `vedette serve` and to a llama-server on the same file, in turns. `memory`
sends requests to a server and reads how much memory it holds, over time.

`--model` is a registry name or a path; a tiny model is enough for `memory`. Goals: 3 ms; no error
but 429; memory flat; at least as much as the llama-server. Exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

import httpx2
import psutil
from common import LOG, say, table

from vedette.backends.find_server import find_server
from vedette.backends.local import LocalBackend, options_of
from vedette.backends.server_process import ServerOptions, ServerProcess
from vedette.config import load as load_settings
from vedette.engine.admission import MOST_PASSED
from vedette.models.locate import locate
from vedette.types import Message, Prompt, Request

GOAL_MS = 3.0
WARM_UP = 20
MOST_CHARS = 80
SYSTEM = "Say in a few words what the log line is about."
PATH = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Server:
    """One under measurement: where it answers, under which name, and its process."""

    url: str
    model: str
    pid: int


@dataclass(slots=True)
class Tally:
    """What clients got: when each request was sent and answered, and with which status."""

    sent: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    tokens: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    by_client: Counter[int] = field(default_factory=Counter)


def lines() -> list[str]:
    """What is asked about."""
    return [line[:MOST_CHARS] for line in LOG.read_text("utf-8").splitlines() if line.strip()]


@contextmanager
def vedette_server(model: str, *more: str) -> Iterator[Server]:
    """`vedette serve` in a process of its own."""
    command = [sys.executable, "-m", "vedette.cli.main", "serve", "--port", "0", "--model", model]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "VEDETTE_KEYS_FILE": f"{folder}/none.json"}
        process = subprocess.Popen(
            [*command, "--alias", "model", "--quiet", *more],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        try:
            yield Server(_url_of(process), "model", process.pid)
        finally:
            process.terminate()
            process.wait()


def _url_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"answers at (\S+)/v1", line):
            return found[1]
    raise SystemExit(f"the server ended with {process.wait()}")


@contextmanager
def llama_server(model: str, n_slots: int, threads: int) -> Iterator[Server]:
    """A llama-server with a slot for each client."""
    path = locate(model).path
    options = ServerOptions(threads=threads, n_slots=n_slots, slot_tokens=1024, cpu_only=True)
    with ServerProcess(find_server(), path, options) as process:
        assert process.pid is not None
        yield Server(process.url, path.name, process.pid)


def body(server: Server, text: str, max_tokens: int) -> dict[str, object]:
    """One chat; greedy for both kinds of server."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    return {
        "model": server.model,
        "messages": messages,
        "max_tokens": max_tokens,
        "temperature": 0,
    }


def latency(model: str, n_requests: int) -> tuple[str, bool]:
    """Medians in process and over HTTP, a request each in turn; and whether the goal is met."""
    texts = lines()
    backend = LocalBackend(model, options_of(load_settings(model=model)), use_tuned=True)
    inside: list[float] = []
    outside: list[float] = []
    cpu_inside = cpu_before = 0.0
    try:
        with vedette_server(model) as server, httpx2.Client(base_url=server.url) as client:
            process = psutil.Process(server.pid)
            for i in range(WARM_UP + n_requests):
                if i == WARM_UP:
                    cpu_before = sum(process.cpu_times()[:2])
                text = texts[i % len(texts)]
                cpu_began, began = time.process_time(), time.perf_counter()
                prompt = Prompt(messages=(Message("system", SYSTEM), Message("user", text)))
                backend.submit(Request(prompt=prompt, max_tokens=1)).result()
                cpu_between, between = time.process_time(), time.perf_counter()
                client.post(PATH, json=body(server, text, 1)).raise_for_status()
                ended = time.perf_counter()
                if i >= WARM_UP:
                    inside.append((between - began) * 1e3)
                    outside.append((ended - between) * 1e3)
                    cpu_inside += cpu_between - cpu_began
            cpu_outside = sum(process.cpu_times()[:2]) - cpu_before
    finally:
        backend.close()
    added = median(outside) - median(inside)
    rows = [
        ("in process", *map(_ms, _three(inside))),
        ("over HTTP", *map(_ms, _three(outside))),
        ("added", _ms(added), _ms(median(o - i for o, i in zip(outside, inside, strict=True))), ""),
    ]
    head = (f"ms, {n_requests} requests of one token", "p50", "p90", "p99")
    cpu = [_ms(seconds / n_requests * 1e3) for seconds in (cpu_inside, cpu_outside)]
    notes = (
        "added: of the medians; median of the pairs",
        f"processor time of a request: {cpu[0]} ms in process, {cpu[1]} ms in the server",
    )
    return "\n".join((table(head, rows), *notes)), added <= GOAL_MS


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    cuts = quantiles(values, n=100)
    return median(values), cuts[89], cuts[98]


def _ms(value: float) -> str:
    return f"{value:.2f}"


async def drive(
    server: Server,
    n_clients: int,
    seconds: float,
    max_tokens: int,
    *,
    n_requests: int = 0,
    turn: int = 0,
) -> Tally:
    """Clients that ask as fast as they are answered, for a time or for so many requests.

    No text is asked in two turns: a llama-server keeps all prompts that it has read.
    """
    texts = lines()
    tally = Tally()
    limits = httpx2.Limits(max_connections=n_clients, max_keepalive_connections=n_clients)
    end = time.perf_counter() + seconds

    async def ask(http: httpx2.AsyncClient, client: int) -> None:
        while time.perf_counter() < end and (not n_requests or len(tally.sent) < n_requests):
            text = f"{turn}.{len(tally.sent)} {texts[len(tally.sent) % len(texts)]}"
            sent = time.perf_counter()
            tally.sent.append(sent)
            index = len(tally.sent) - 1
            tally.answered.append(float("inf"))
            reply = await http.post(PATH, json=body(server, text, max_tokens))
            tally.answered[index] = time.perf_counter()
            tally.statuses[reply.status_code] += 1
            if reply.status_code == 200:
                tally.by_client[client] += 1
                tally.tokens += reply.json()["usage"]["completion_tokens"]
            else:
                await asyncio.sleep(float(reply.headers.get("retry-after", 1)))

    async with httpx2.AsyncClient(base_url=server.url, limits=limits, timeout=300) as http:
        await asyncio.gather(*(ask(http, client) for client in range(n_clients)))
    return tally


def overtaken(tally: Tally, width: int) -> int:
    """Answers that came before those to `width` or more requests that had been sent earlier.

    As many as are answered at once end in any order, and one that waits is passed over by at most
    `MOST_PASSED` others that share more with what is in the cache.
    """
    found = 0
    for i, answered in enumerate(tally.answered):
        earlier = tally.answered[max(0, i - 4 * width) : i]
        found += sum(other > answered for other in earlier) > width
    return found


def under_load(model: str, n_clients: int, seconds: float, max_tokens: int) -> tuple[str, bool]:
    """Errors, order and memory with many clients at once."""
    width = load_settings().width + MOST_PASSED
    with vedette_server(model, "--max-requests", str(n_clients)) as server:
        process = psutil.Process(server.pid)
        asyncio.run(drive(server, n_clients, 3, max_tokens))
        before = process.memory_info().rss
        tally = asyncio.run(drive(server, n_clients, seconds, max_tokens))
        after = process.memory_info().rss
    bad = {status: n for status, n in tally.statuses.items() if status not in (200, 429)}
    waits = [(a - s) * 1e3 for s, a in zip(tally.sent, tally.answered, strict=True)]
    counts = [tally.by_client[client] for client in range(n_clients)]
    rows = [
        ("answers, and a second", f"{sum(counts)}, {sum(counts) / seconds:.1f}"),
        ("statuses", str(dict(tally.statuses))),
        ("ms of a request, p50, p90, p99", ", ".join(map(_ms, _three(waits)))),
        ("answers of a client, least and most", f"{min(counts)}, {max(counts)}"),
        (f"answers that overtook more than {width}", str(overtaken(tally, width))),
        ("memory before and after, MB", f"{before / 1e6:.0f}, {after / 1e6:.0f}"),
    ]
    head = (f"{n_clients} clients, {seconds:g} s, at most {max_tokens} tokens", model)
    return table(head, rows), not bad and min(counts) > 0


def against_peer(
    model: str, n_clients: int, seconds: float, turns: int, max_tokens: int
) -> tuple[str, bool]:
    """Answers and tokens a second, the two servers in turns."""
    threads = load_settings().thread_count
    rates: dict[str, list[float]] = {"vedette": [], "llama-server": []}
    tokens: dict[str, list[float]] = {"vedette": [], "llama-server": []}
    with (
        vedette_server(model, "--no-tune", "--width", str(n_clients)) as ours,
        llama_server(model, n_clients, threads) as peer,
    ):
        sides = {"vedette": ours, "llama-server": peer}
        for server in sides.values():
            asyncio.run(drive(server, n_clients, 3, max_tokens))
        for turn in range(turns):
            for name, server in sorted(sides.items(), reverse=bool(turn % 2)):
                began = time.perf_counter()
                tally = asyncio.run(drive(server, n_clients, seconds, max_tokens, turn=turn + 1))
                took = time.perf_counter() - began
                rates[name].append(tally.statuses[200] / took)
                tokens[name].append(tally.tokens / took)
                say(f"turn {turn + 1}, {name}: {rates[name][-1]:.2f} answers/s")
    rows = [(name, f"{median(rates[name]):.2f}", f"{median(tokens[name]):.1f}") for name in sides]
    ratio = median(a / b for a, b in zip(tokens["vedette"], tokens["llama-server"], strict=True))
    head = (f"{n_clients} clients, {turns} turns of {seconds:g} s", "answers/s", "tokens/s")
    return f"{table(head, rows)}\nratio of the tokens, median of the turns: {ratio:.2f}", ratio >= 1


def memory(model: str, n_requests: int, n_clients: int) -> tuple[str, bool]:
    """Memory of the server over many short requests, read ten times."""
    rows: list[tuple[str, str]] = []
    held: list[float] = []
    with vedette_server(model) as server:
        process = psutil.Process(server.pid)
        part = max(1, n_requests // 10)
        for i in range(10):
            wave = drive(server, n_clients, 3600, 2, n_requests=part, turn=i)
            tally = asyncio.run(wave)
            held.append(process.memory_info().rss / 1e6)
            rows.append((str((i + 1) * part), f"{held[-1]:.1f}"))
            if set(tally.statuses) - {200}:
                raise SystemExit(f"the server answered {dict(tally.statuses)}")
    growth = (held[-1] - held[1]) / held[1]
    head = ("requests", "MB")
    return f"{table(head, rows)}\ngrowth after the second tenth: {growth:.1%}", growth < 0.02


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("latency", "load", "peer", "memory"))
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--clients", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, default=24)
    given = parser.parse_args()
    if Path(given.model).suffix == ".gguf":
        given.model = str(Path(given.model).absolute())
    if given.what == "latency":
        report, is_met = latency(given.model, given.requests or 200)
    elif given.what == "load":
        report, is_met = under_load(
            given.model, given.clients or 64, given.seconds or 60, given.max_tokens
        )
    elif given.what == "peer":
        report, is_met = against_peer(
            given.model, given.clients or 8, given.seconds or 30, given.turns, given.max_tokens
        )
    else:
        report, is_met = memory(given.model, given.requests or 10_000, given.clients or 8)
    print(report)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
