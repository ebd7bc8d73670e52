"""Two processes that are meant to survive: one answers cases, the other judges the answers.

    python fuzz_process.py engine MODEL VOCABULARY
    python fuzz_process.py judge MODEL

Each reads a JSON object per line and writes one. They are processes so that a death or an endless
computation is an observation about one case.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
import psutil

Reply = dict[str, Any]
Mode = Literal["engine", "judge"]

ADDRESS_SPACE_BYTES = 10 << 30
PLAIN_TOKENS = 3
FIRST_MASKS = 8
TAIL_CHARS = 600
POLL_S = 0.5


class Died(Exception):
    """The process ended; the message has its exit code and the end of its stderr."""


class Late(Exception):
    """No reply within the time; the message says within which."""


class Child:
    """One of the processes, started when it is first asked and again after `end`."""

    def __init__(self, mode: Mode, *models: Path) -> None:
        self._command = [sys.executable, __file__, mode, *map(str, models)]
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed on exit
        self.starts = 0

    def ask(self, what: object, patience_s: float) -> Reply:
        """The reply to a JSON value. Raises `Died` or `Late`; the process is gone then.

        `patience_s` is processor time, so that a busy machine is no hang; a process that does
        nothing has ten times as long.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        line = json.dumps(what).encode() + b"\n"
        try:
            process.stdin.write(line)
            process.stdin.flush()
            reply: Reply = json.loads(self._line(process, patience_s))
        except (BrokenPipeError, Died) as error:
            code = process.wait()
            self.end()
            raise Died(f"exit code {code}: {self._tail()}") from error
        except Late:
            self.end()
            raise
        return reply

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        return self._process

    def _line(self, process: subprocess.Popen[bytes], patience_s: float) -> bytes:
        assert process.stdout is not None
        watched = psutil.Process(process.pid)
        wall_end, cpu_end = time.monotonic() + 10 * patience_s, _cpu_s(watched) + patience_s
        line = b""
        while not line.endswith(b"\n"):
            if select.select([process.stdout], [], [], POLL_S)[0]:
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    raise Died
                line += piece
            elif _cpu_s(watched) > cpu_end:
                raise Late(f"no reply within {patience_s:g} s of processor time")
            elif time.monotonic() > wall_end:
                raise Late(f"no reply within {10 * patience_s:g} s")
        return line

    def _tail(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-TAIL_CHARS:]

    def end(self) -> None:
        """Kill it, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._errors.close()


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _engine(model: Path, vocabulary: Path) -> Callable[[Reply], Reply]:
    """Answers a case, and then a plain request; first masks are over the other vocabulary."""
    from vedette.backends.local import LocalBackend
    from vedette.engine.constraint.compiler import Compiler
    from vedette.engine.constraint.matcher import MaskTable
    from vedette.engine.llama.model import Model
    from vedette.engine.options import EngineOptions
    from vedette.errors import ConstraintFailed, InputError, VedetteError
    from vedette.types import Constraint, Prompt, Request, Sampling, SchemaOptions

    limits = (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, limits)
    backend = LocalBackend(model, EngineOptions(threads=1, cells=2048))
    words = Model(vocabulary)
    compiler, masks = Compiler(words), MaskTable(1, words.n_vocab)

    def start(constraint: Constraint, pick: Random) -> None:
        """Compile, and take the first masks on a random way; one that ends early is none."""
        matcher = compiler.matcher(constraint)
        with contextlib.suppress(ConstraintFailed):
            for _ in range(FIRST_MASKS):
                if matcher.must_end:
                    return
                mask = masks.fill([matcher])[0]
                matcher.check()
                allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
                matcher.accept(int(pick.choice(allowed)))

    def answer(request: Request) -> Reply:
        completion = backend.submit(request).result()
        tokens = [token.token_id for token in completion.logprobs]
        return {"outcome": "answered", "text": completion.text, "tokens": tokens}

    def ask(case: Reply) -> Reply:
        options = SchemaOptions(order=case["order"], strict=case["strict"])
        constraint = Constraint(case["kind"], case["source"], case["input"], options)
        request = Request(
            prompt=Prompt(raw="it is "),
            constraint=constraint,
            max_tokens=case["max_tokens"],
            sampling=Sampling(temperature=case["temperature"], seed=case["number"]),
            logprobs=case["kind"] == "gbnf",
        )
        times = [time.process_time()]
        try:
            start(constraint, Random(case["number"]))
            times.append(time.process_time())
            reply = answer(request)
        except InputError as error:
            reply = {"outcome": "refused", "error": error.code, "message": str(error)}
        except VedetteError as error:
            reply = {"outcome": "failed", "error": error.code, "message": str(error)}
        except Exception as error:
            reply = {"outcome": "untyped", "message": repr(error)}
        times.append(time.process_time())
        plain = answer(Request(prompt=Prompt(raw="and so "), max_tokens=PLAIN_TOKENS))
        return reply | {
            "start_s": times[1] - times[0],
            "whole_s": times[-1] - times[0],
            "is_alive": len(plain["text"]) > 0,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        }

    return ask


def _judge(model: Path) -> Callable[[Reply], Reply]:
    from fuzz_judge import Judge

    judge = Judge(model)
    return lambda given: {"verdict": judge.verdict(given["case"], given["reply"])}


def main() -> None:
    """Serve until stdin ends. Whatever else is printed goes to stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    models = map(Path, sys.argv[2:])
    serve = _engine(*models) if sys.argv[1] == "engine" else _judge(*models)
    for line in sys.stdin.buffer:
        out.write(json.dumps(serve(json.loads(line))).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
