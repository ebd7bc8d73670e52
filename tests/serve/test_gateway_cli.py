"""`vedette serve` with a gateway, as a process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import httpx2
from gatewayed import configure, tier
from served import WAIT_S
from upstreams import upstream

from vedette.cli.main import run


def test_a_server_with_a_gateway_from_its_start_to_its_end(
    tiny_full, tmp_path, monkeypatch, capsys
):
    command = [sys.executable, "-m", "vedette.cli.main", "serve", "--port", "0", "--offline"]
    with upstream() as large:
        configure(tmp_path, monkeypatch, tier(large) + '[gateway.routes.auto]\ncall = ["large"]')
        with subprocess.Popen(
            [*command, "--model", str(tiny_full), "--alias", "tiny", "--threads", "1"],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ,
        ) as started:
            try:
                for line in started.stderr:
                    if found := re.fullmatch(r"tiny answers at (http://\S+)/v1\n", line):
                        break
                body = {"model": "auto", "messages": [{"role": "user", "content": "private words"}]}
                response = httpx2.post(f"{found[1]}/v1/chat/completions", json=body, timeout=30)
                assert response.headers["x-vedette-tier"] == "large"
                started.send_signal(signal.SIGTERM)
                assert started.wait(WAIT_S) == 0
                told = started.stderr.read()
            finally:
                started.kill()
    assert "POST /v1/chat/completions 200" in told
    assert "private" not in told
    assert run(["ledger", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["total"]["requests"], shown["total"]["unanswered"]) == (1, 0)
