"""The gateway before a real llama-server: what stays here, whether it agrees, what leaks.

The larger model answers the calibration rows, `vedette calibrate` finds what the small one may
answer, `vedette serve` runs with a gateway, and 300 requests go through it. What was answered here
is asked of the larger model too, by a route of its own. All that reaches the larger model goes
through a recorder, and what it recorded is searched for the planted values. The answers are kept
under --work, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from common import say
from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse
from gateway_rows import (
    COPYING,
    EXAMPLES,
    LABELS,
    ORDER,
    ORDER_EXAMPLES,
    Row,
    rows_of,
)
from kept import Kept

import vedette
from vedette.backends.find_server import find_server
from vedette.backends.server_process import ServerOptions, ServerProcess
from vedette.models.locate import locate
from vedette.serve.run import bind, url_of

N_TICKETS = 480  # to calibrate on
N_ORDERS = 160
N_MIXED = {"ticket": 170, "extraction": 60, "open": 40, "red": 30}
PRICE = (0.15, 0.60)
AT_ONCE = 4

CONFIG = """
[gateway.tiers.large]
base_url = "{recorder}/v1"
model = "large"
price = [{price[0]}, {price[1]}]
timeout_s = 120

[gateway.ledger]
url = "sqlite:///ledger.db"

[gateway.routes.auto]
call = ["large"]
redact = {{}}
[gateway.routes.auto.decide]
red_lines = true
[[gateway.routes.auto.decide.tasks]]
when = "^Label the support ticket"
labels = "labels.txt"
examples = "tickets.examples.jsonl"
thresholds = "tickets.json"
[[gateway.routes.auto.decide.tasks]]
extract = "order.schema.json"
item = '(?s)^{copying}(.*)'
examples = "orders.examples.jsonl"
thresholds = "orders.json"

[gateway.routes.up]
call = ["large"]
redact = {{}}
"""


class Recorder:
    """Stands before the larger model and keeps what it is sent, in a file."""

    def __init__(self, target: str, path: Path) -> None:
        self.path = path
        self._http = httpx2.AsyncClient(base_url=target, timeout=300, trust_env=False)

    async def pass_on(self, request: Request) -> Response:
        content = await request.body()
        with self.path.open("ab") as file:
            file.write(content + b"\n")
        asked = self._http.build_request(
            "POST", request.url.path, content=content, headers={"content-type": "application/json"}
        )
        try:
            response = await self._http.send(asked, stream=True)
        except httpx2.HTTPError:  # the server has been killed
            return Response(status_code=502)

        async def chunks() -> AsyncIterator[bytes]:
            async for chunk in response.aiter_raw():
                yield chunk
            await response.aclose()

        kind = response.headers.get("content-type", "application/json")
        return StreamingResponse(chunks(), response.status_code, {"content-type": kind})


@contextmanager
def recording(target: str, path: Path) -> Iterator[str]:
    recorder = Recorder(target, path)
    app = FastAPI(openapi_url=None)
    app.post("/v1/chat/completions", response_model=None)(recorder.pass_on)
    taken = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, args=([taken],), daemon=True)
    thread.start()
    try:
        yield url_of(taken)
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def gateway(work: Path, small: str, threads: int) -> Iterator[str]:
    """The URL of `vedette serve` with the configuration in the folder."""
    command = [sys.executable, "-m", "vedette.cli.main", "serve", "--port", "0", "--quiet"]
    command += ["--model", small, "--threads", str(threads), "--no-tune", "--alias", "small"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=_environment(work)
    ) as started:
        assert started.stderr is not None
        told = []
        for line in started.stderr:
            told.append(line)
            if found := re.match(r"small answers at (http://\S+)/v1", line):
                break
        else:
            raise SystemExit("".join(told))
        try:
            yield found[1]
        finally:
            started.terminate()


def _environment(work: Path) -> dict[str, str]:
    return os.environ | {"VEDETTE_CONFIG": str(work / "vedette.toml")}


def ask(http: httpx2.Client, body: dict[str, Any], model: str) -> dict[str, Any]:
    """The answer's text, who gave it, and how long that took."""
    began = time.monotonic()
    response = http.post("/v1/chat/completions", json={**body, "model": model})
    ms = (time.monotonic() - began) * 1000
    response.raise_for_status()
    headers = response.headers
    text = _streamed(response.text) if body.get("stream") else _whole(response.json())
    told = {name: headers.get(f"x-vedette-{name}", "") for name in ("tier", "reason", "hidden")}
    return {"text": text, "ms": ms, **told}


def _whole(answer: dict[str, Any]) -> str:
    return str(answer["choices"][0]["message"]["content"])


def _streamed(text: str) -> str:
    events = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
    choices = [json.loads(event)["choices"] for event in events]
    return "".join(one[0]["delta"].get("content") or "" for one in choices if one)


def label_in(text: str) -> str:
    """The label that an answer in words comes down to."""
    return re.sub(r"[^a-z]", "", text.lower())


TASKS = {
    "tickets": ("classify", "--labels", "labels.txt"),
    "orders": ("extract", "--schema", "order.schema.json"),
}


def calibrate(work: Path, name: str, small: str, threads: int, alpha: float) -> None:
    """Thresholds for the rows of a task, if there are none yet."""
    if (work / f"{name}.json").exists():
        return
    verb, option, file = TASKS[name]
    command = [sys.executable, "-m", "vedette.cli.main", "calibrate", verb]
    command += ["--data", str(work / f"{name}.rows.jsonl"), option, str(work / file)]
    command += ["--alpha", str(alpha), "--out", str(work / f"{name}.json"), "--model", small]
    command += ["--threads", str(threads), "--no-tune"]
    command += ["--examples", str(work / f"{name}.examples.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=work)
    (work / f"{name}.calibrate.txt").write_text(done.stdout + done.stderr)
    if done.returncode:
        raise SystemExit(done.stderr)
    if "no threshold can promise" in done.stdout + done.stderr:
        say(f"{name}: no threshold can promise this, so nothing is kept")


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def teach(http: httpx2.Client, rows: list[Row], kept: Kept) -> None:
    """The larger model's answers to the rows, which it reads redacted."""

    def one(row: Row) -> dict[str, Any]:
        *before, last = row.body["messages"]
        messages = [*before, {**last, "content": vedette.redact(row.text).text}]
        return ask(http, {**row.body, "messages": messages}, "large")

    left = [row for row in rows if kept.get(row.id) is None]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for row, answer in zip(left, pool.map(one, left), strict=True):
            kept.add(row.id, answer)


def taught_rows(rows: list[Row], kept: Kept) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Tickets with the larger model's label, and orders with its object.

    What is no label cannot be agreed with.
    """
    tickets, orders = [], []
    for row in rows:
        text = (kept.get(row.id) or {})["text"]
        if row.kind == "extraction":
            orders.append({"text": row.text.removeprefix(COPYING), "value": json.loads(text)})
        elif (label := label_in(text)) in LABELS:
            tickets.append({"text": row.text, "label": label})
    return tickets, orders


def calibration_rows(arguments: argparse.Namespace) -> list[Row]:
    """The requests that the larger model answers to calibrate on."""
    return [*rows_of(1, ticket=arguments.tickets), *rows_of(2, extraction=arguments.orders)]


def prepare(arguments: argparse.Namespace, recorder: str) -> None:
    """Everything that the gateway needs: labels, a schema, thresholds, configuration."""
    work = arguments.work
    (work / "labels.txt").write_text(
        "".join(f"{name}: {about}\n" for name, about in LABELS.items())
    )
    (work / "order.schema.json").write_text(json.dumps(ORDER))
    labelled = [{"text": text, "label": label} for text, label in EXAMPLES]
    write_lines(work / "tickets.examples.jsonl", labelled)
    filled = [{"text": text, "value": value} for text, value in ORDER_EXAMPLES]
    write_lines(work / "orders.examples.jsonl", filled)
    rows = calibration_rows(arguments)
    taught = Kept(work / "taught.jsonl", {"large": arguments.large})
    with httpx2.Client(base_url=recorder, timeout=300, trust_env=False) as http:
        teach(http, rows, taught)
    tickets, orders = taught_rows(rows, taught)
    write_lines(work / "tickets.rows.jsonl", tickets)
    write_lines(work / "orders.rows.jsonl", orders)
    say(f"taught {len(tickets)} of {arguments.tickets} tickets, {len(orders)} orders")
    (work / "vedette.toml").write_text("")
    for name in TASKS:
        calibrate(work, name, arguments.small, arguments.threads, arguments.alpha)
    say("calibrated")
    config = CONFIG.format(recorder=recorder, price=PRICE, copying=COPYING)
    (work / "vedette.toml").write_text(config)


def run(arguments: argparse.Namespace, url: str, rows: list[Row]) -> None:
    """Answers through the gateway, and those of the larger model to what stayed here."""
    kept = answers_of(arguments)
    lock = threading.Lock()
    left = [row for row in rows if kept.get(row.id) is None]

    def one(http: httpx2.Client, row: Row) -> None:
        answer = ask(http, row.body, "auto")
        if answer["tier"] == "local":
            answer["large"] = ask(http, row.body, "up")
        with lock:
            kept.add(row.id, answer)

    with (
        httpx2.Client(base_url=url, timeout=300, trust_env=False) as http,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        for number, _ in enumerate(pool.map(lambda row: one(http, row), left)):
            if number % 40 == 0:
                say(f"asked {number} of {len(left)}")


def answers_of(arguments: argparse.Namespace) -> Kept:
    """What has been answered so far."""
    about = {"small": arguments.small, "large": arguments.large}
    return Kept(arguments.work / "answers.jsonl", about)


def after_the_end(url: str, rows: list[Row], answers: dict[str, dict[str, Any]]) -> str:
    """What ten requests of each sort get when the larger model's server has been killed."""
    counts: dict[str, list[str]] = {"here": [], "up": []}
    with httpx2.Client(base_url=url, timeout=300, trust_env=False) as http:
        for row in rows:
            where = counts["here" if answers[row.id]["tier"] == "local" else "up"]
            if len(where) == 10:
                continue
            reply = http.post("/v1/chat/completions", json={**row.body, "model": "auto"})
            error = {} if reply.is_success else reply.json()["error"]
            where.append(f"{reply.status_code} {error.get('code', '')}".strip())
    told = (f"{where}: {', '.join(sorted(set(found)))}" for where, found in counts.items())
    return f"with the server killed, ten of each: {'; '.join(told)}"


def agrees(row: Row, answer: dict[str, Any]) -> bool:
    """Whether the larger model says the same."""
    small, large = answer["text"], answer["large"]["text"]
    if row.kind == "ticket":
        return label_in(small) == label_in(large)
    try:
        return bool(json.loads(small) == json.loads(large))
    except ValueError:
        return small.strip() == large.strip()


def report(rows: list[Row], answers: dict[str, dict[str, Any]], recorded: str) -> list[str]:
    lines = [
        "| kind | requests | answered here | the larger model says the same |",
        "|---|---|---|---|",
    ]
    kinds = [*dict.fromkeys(row.kind for row in rows)]
    here = [row for row in rows if answers[row.id]["tier"] == "local"]
    same = [row for row in here if agrees(row, answers[row.id])]
    for kind in [*sorted(kinds), "all"]:
        of_kind, of_here, of_same = (
            [row for row in some if kind in ("all", row.kind)] for some in (rows, here, same)
        )
        share = f"{len(of_same)} of {len(of_here)}" if of_here else "-"
        lines.append(f"| {kind} | {len(of_kind)} | {len(of_here)} | {share} |")
    leaks = [value for row in rows for value in row.planted if value in recorded]
    up = [row for row in rows if answers[row.id]["tier"] != "local"]
    left = [row for row in up if re.search(r"\[[A-Z_]+_\d+\]", answers[row.id]["text"])]
    back = [row for row in up if any(value in answers[row.id]["text"] for value in row.planted)]
    median = {
        tier: sorted(answers[row.id]["ms"] for row in some)[len(some) // 2]
        for tier, some in (("here", here), ("up", up))
        if some
    }
    return [
        *lines,
        "",
        f"answered here: {len(here) / len(rows):.1%}; of these the same: "
        f"{len(same) / max(1, len(here)):.1%}",
        f"planted values: {sum(len(row.planted) for row in rows)}; found in the "
        f"{recorded.count(chr(10))} recorded bodies: {len(leaks)}",
        f"answers from above with a value put back: {len(back)}; with a placeholder left: "
        f"{len(left)} of {len(up)}",
        "median ms: " + ", ".join(f"{tier} {ms:.0f}" for tier, ms in median.items()),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of this run")
    parser.add_argument("--small", default="qwen2.5-coder-0.5b")
    parser.add_argument("--large", default="qwen2.5-coder-1.5b")
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--tickets", type=int, default=N_TICKETS, help="to calibrate on")
    parser.add_argument("--orders", type=int, default=N_ORDERS, help="to calibrate on")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="only tell what is kept in --work")
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    rows = rows_of(3, **N_MIXED)
    killed = "" if arguments.report else measure(arguments, rows)
    kept = answers_of(arguments)
    answers = {row.id: found for row in rows if (found := kept.get(row.id)) is not None}
    rows = [row for row in rows if row.id in answers]
    recorded = (work / "recorded.jsonl").read_text("utf-8")
    calibrating = [value for row in calibration_rows(arguments) for value in row.planted]
    leaked = [value for value in calibrating if value in recorded]
    print("\n".join([*report(rows, answers, recorded), f"of the calibration rows: {len(leaked)}"]))
    print(killed)
    return 0


def measure(arguments: argparse.Namespace, rows: list[Row]) -> str:
    """All that is not there yet; then what happens without the larger model."""
    work = arguments.work
    options = ServerOptions(
        threads=arguments.threads, n_slots=AT_ONCE, slot_tokens=1024, cpu_only=True
    )
    with ExitStack() as stack:
        weights = locate(arguments.large).path
        server = stack.enter_context(ServerProcess(find_server(), weights, options))
        recorder = stack.enter_context(recording(server.url, work / "recorded.jsonl"))
        prepare(arguments, recorder)
        url = stack.enter_context(gateway(work, arguments.small, arguments.threads))
        run(arguments, url, rows)
        kept = answers_of(arguments)
        server.stop()
        return after_the_end(url, rows, {row.id: kept.get(row.id) or {} for row in rows})


if __name__ == "__main__":
    sys.exit(main())
