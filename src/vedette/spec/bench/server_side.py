"""Real llama-servers: one for each variant, of which only one computes at a time."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vedette.backends.server_process import ServerOptions, ServerProcess
from vedette.backends.server_program import options_of
from vedette.errors import CapabilityMissing, InputError
from vedette.types import Json

from .prompts import WARM_UP, BenchPrompt
from .sample import Sample
from .server_api import ServerApi
from .side import Gap, Variant, n_common

BLOCK = 8
"""Prompts that are asked before a server makes way for another, where not all fit."""


@dataclass(slots=True)
class _Running:
    process: ServerProcess
    api: ServerApi

    def stop(self) -> None:
        self.api.close()
        self.process.stop()


class ServerSide:
    """Implements `Side` on servers that it starts; a context manager, or `close` it after use.

    At most `at_once` of them hold the model at a time: with fewer than there are variants, prompts
    are asked in blocks, and a server is ended before the next one starts. No prompt is asked twice
    of a server. Raises `EngineFailed` where one cannot be started, with the end of its log.
    """

    def __init__(
        self,
        program: Path,
        model: Path,
        variants: Sequence[Variant],
        options: ServerOptions,
        *,
        max_tokens: int,
        at_once: int | None = None,
    ) -> None:
        if at_once is not None and at_once < 1:
            raise InputError(f"--at-once is {at_once}; it must be at least 1")
        self._program, self._model, self._options = program, model, options
        self._variants = tuple(variants)
        self._max_tokens = max_tokens
        self._at_once = min(at_once or len(self._variants), len(self._variants))
        self._running: dict[str, _Running] = {}
        self._known = options_of(program)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """As they were given."""
        return self._variants

    @property
    def block(self) -> int:
        """One where all servers run, else `BLOCK`."""
        return 1 if self._at_once == len(self._variants) else BLOCK

    @property
    def identity(self) -> dict[str, Json]:
        """Program, model, and what else changes times."""
        return {
            "side": "llama-server",
            "program": str(self._program),
            "model": self._model.name,
            "kv_type": self._options.kv_type,
            "threads": self._options.threads,
            "max_tokens": self._max_tokens,
            "variants": {one.name: one.how for one in self._variants},
        }

    def ask(self, variant: Variant, prompt: BenchPrompt) -> Sample:
        """See `Side.ask`. A server that had to be started anew is warmed up first."""
        api = self._api(variant, is_warm=prompt is WARM_UP)
        rendered = api.render(prompt.text)
        before = api.counters() if self._counts else None
        began = time.perf_counter()
        done = api.write(rendered, self._max_tokens)
        wall_s = time.perf_counter() - began
        positions = api.counters().since(before) if before is not None else ()
        return Sample(
            variant=variant.name,
            workload=prompt.workload,
            prompt=prompt.id,
            seconds=done.seconds,
            wall_s=wall_s,
            tokens=done.tokens,
            steps=max(1, done.tokens - done.right),
            guessed=done.guessed,
            right=done.right,
            positions=positions,
            text=done.text,
            token_ids=done.token_ids,
        )

    def gap(self, prompt: BenchPrompt, base: Sample, other: Sample) -> Gap:
        """See `Side.gap`: the baseline's server is asked for one token after what is the same.

        The probabilities that a server tells of guessed tokens are no measurements; with one token
        to write nothing is guessed.
        """
        n_same = n_common(base.token_ids, other.token_ids)
        api = self._api(self._variants[0], is_warm=True)
        ids = api.ids(api.render(prompt.text)) + list(base.token_ids[:n_same])
        return Gap(n_same, api.top_two_gap(ids))

    @property
    def _counts(self) -> bool:
        return "--metrics" in self._known

    def _api(self, variant: Variant, *, is_warm: bool) -> ServerApi:
        if variant.name not in self._running:
            while len(self._running) >= self._at_once:
                self._running.pop(next(iter(self._running))).stop()
            self._running[variant.name] = self._start(variant)
            if not is_warm:
                self.ask(variant, WARM_UP)
        return self._running[variant.name].api

    def _start(self, variant: Variant) -> _Running:
        more = (*(("--metrics",) if self._counts else ()), *shlex.split(variant.how))
        process = ServerProcess(self._program, self._model, replace(self._options, more=more))
        process.start()
        return _Running(process, ServerApi(process.url, process.why_ended))

    def require(self, option: str) -> None:
        """Raise `CapabilityMissing` where the program's `--help` does not name the option."""
        if option not in self._known:
            raise CapabilityMissing(
                f"{self._program} has no {option}", hint="take a newer build of llama.cpp"
            )

    def close(self) -> None:
        """End all servers."""
        while self._running:
            self._running.popitem()[1].stop()
