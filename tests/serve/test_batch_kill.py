"""A server that is killed in the midst of a batch, as a process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from batching import begin, chat_line, over, rows
from openai import OpenAI
from served import WAIT_S, wait_until

N_LINES = 40


@pytest.fixture
def start(tiny_full, tmp_path):
    """Starts `vedette serve`; gives its process and a client."""
    variables = {
        "VEDETTE_OFFLINE": "1",
        "VEDETTE_THREADS": "1",
        "VEDETTE_HOME": str(tmp_path / "home"),
    }

    @contextmanager
    def start(*more: str):
        command = [sys.executable, "-m", "vedette.cli.main", "serve", "--port", "0", *more]
        with subprocess.Popen(
            [*command, "--model", str(tiny_full), "--alias", "tiny"],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | variables,
        ) as process:
            for line in process.stderr:
                if found := re.fullmatch(r"tiny answers at (http://\S+/v1)\n", line):
                    break
            with OpenAI(base_url=found[1], api_key="none", max_retries=0) as client:
                yield process, client
            process.kill()

    return start


def test_after_a_kill_all_lines_are_answered_once(start, tmp_path):
    folder = tmp_path / "files"
    names = [f"{i}" for i in range(N_LINES)]
    lines = [chat_line(name, f"line {name}", max_tokens=80) for name in names]
    with start("--files-dir", str(folder)) as (process, client):
        batch = begin(client, lines)
        wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed >= 5)
        process.send_signal(signal.SIGKILL)
        process.wait(WAIT_S)
    journal = (folder / "batches" / batch.id / "journal").read_bytes().splitlines()[1:]
    kept = {json.loads(line.split(b" ", 2)[2])["id"] for line in journal}
    assert 5 <= len(kept) < N_LINES
    with start("--files-dir", str(folder)) as (process, client):
        ended = over(client, batch.id)
        found = rows(client, ended.output_file_id)
        assert (ended.status, ended.request_counts.completed) == ("completed", N_LINES)
        assert [line["custom_id"] for line in found] == names
        assert kept <= {line["id"] for line in found}
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0


def test_told_to_end_it_does_so_in_the_midst_of_a_batch(start, tmp_path):
    with start("--files-dir", str(tmp_path / "files")) as (process, client):
        batch = begin(client, [chat_line(f"{i}", max_tokens=3000) for i in range(30)])
        wait_until(lambda: client.batches.retrieve(batch.id).status == "in_progress")
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
        assert "Traceback" not in process.stderr.read()
