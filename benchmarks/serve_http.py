"""What HTTP itself costs: chats with a backend that answers at once, over one connection.

    python benchmarks/serve_http.py [--requests 1000]

Everything between a client's request and its answer but the model: the connection, the door with
its key, the body, the desk, counting, and the log line. Client and server are one process, so that
its processor time is that of both (the client is a plain one). `serve_load.py latency` measures it
beside a real model; of this one the processor time can be read on a busy machine too. Exit code 1
above 3 ms at the median.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import threading
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import uvicorn
from common import table

from vedette.backends.base import Handle, Result
from vedette.backends.none import NoModel
from vedette.engine.ticket import Ticket
from vedette.serve.app import create_app
from vedette.serve.keys import KeyFile
from vedette.serve.options import ServeOptions
from vedette.serve.rate import Rate
from vedette.serve.run import bind, config_of, url_of
from vedette.types import AnyRequest, Completion, Usage

GOAL_MS = 3.0
WARM_UP = 50
BODY = {
    "model": "model",
    "messages": [{"role": "user", "content": "18:20:11 ERROR [billing-api] not rendered"}],
    "max_tokens": 1,
}


class AtOnce(NoModel):
    """Answers at once."""

    width = 8

    def submit(self, request: AnyRequest) -> Handle[Result]:
        del request
        ticket: Ticket[Completion] = Ticket()
        usage = Usage(prompt_tokens=20, sampled_tokens=1)
        ticket.settle(Completion(text="yes", finish_reason="stop", usage=usage))
        return ticket


def measure(n_requests: int) -> tuple[str, bool]:
    """The table, and whether the goal is met."""
    logging.getLogger("vedette.serve").setLevel(logging.INFO)
    logging.getLogger("vedette.serve").addHandler(logging.NullHandler())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.json"
        key = KeyFile(path).add("bench", frozenset({"chat"}), Rate.of("1000000/s"))
        app = create_app(AtOnce(), ServeOptions(model="model", keys_file=path))
        taken = bind("127.0.0.1", 0)
        server = uvicorn.Server(config_of(app, drain_s=1))
        thread = threading.Thread(target=server.run, args=([taken],))
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            times, cpu_s = _ask(url_of(taken), key, n_requests)
        finally:
            server.should_exit = True
            thread.join()
    cuts = sorted(times)
    shown = [median(cuts), cuts[len(cuts) * 9 // 10], cuts[len(cuts) * 99 // 100]]
    rows = [
        ("ms", *(f"{value * 1e3:.2f}" for value in shown)),
        ("ms of processor time, client's too", f"{cpu_s / n_requests * 1e3:.2f}", "", ""),
    ]
    return table((f"{n_requests} requests", "p50", "p90", "p99"), rows), shown[0] * 1e3 <= GOAL_MS


def _ask(url: str, key: str, n_requests: int) -> tuple[list[float], float]:
    """Seconds of each request, and the processor time of all."""
    times: list[float] = []
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with closing(HTTPConnection(url.removeprefix("http://"))) as client:
        for i in range(WARM_UP + n_requests):
            if i == WARM_UP:
                cpu_began = time.process_time()
            began = time.perf_counter()
            client.request("POST", "/v1/chat/completions", json.dumps(BODY), headers)
            reply = client.getresponse()
            reply.read()
            if reply.status != 200:
                raise SystemExit(f"the server answered {reply.status}")
            if i >= WARM_UP:
                times.append(time.perf_counter() - began)
        return times, time.process_time() - cpu_began


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=1000)
    report, is_met = measure(parser.parse_args().requests)
    print(report)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
