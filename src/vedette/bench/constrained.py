"""The scorecard of constrained output: what is accepted, at what cost, and what the model writes.

For vedette: compilation, masks, verdicts on instances, and answers, one request at a time. The
same requests go to a llama-server and to llama-cpp-python where these are named.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vedette.backends.local import LocalBackend
from vedette.backends.server_process import ServerOptions
from vedette.engine.options import EngineOptions
from vedette.tasks.generate import Generate
from vedette.types import Request

from .binding import NAME as BINDING_NAME
from .binding import Binding
from .bodies import text_body
from .build import Build, cpu_name, identify
from .constrained_answers import (
    AnswerReport,
    Asked,
    Reply,
    Tell,
    answer_report,
    ours,
    theirs,
    told,
)
from .constrained_match import Matching, match
from .constrained_suite import SchemaCase
from .constrained_times import Clock, Quantiles, quantiles
from .in_process import NAME
from .peer import Peer
from .stopwatch import Elapsed, Stopwatch

SLOT_TOKENS = 4096
PEER_NAME = "llama-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What constraints cost vedette, one at a time, on the model's vocabulary.

    `compile_ms` is from a schema's text to a matcher that is ready, `again_ms` the same for one
    that is in the cache. `mask_us` has a mask for each token of each valid instance; `bounded`
    counts valid instances that the default bounds of strings, arrays and integers leave out.
    `cache_hits` are the requests whose schema was compiled already.
    """

    compile_ms: Quantiles | None
    again_ms: Quantiles | None
    mask_us: Quantiles | None
    bounded: int
    cache_hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side. `answered` are the schemas, of those with prompts, that got an answer at all.

    `matching` is None for a llama-server, which shows no grammar, and `answers` where no schema
    has prompts. `program` and `build` are there for a llama-server only.
    """

    name: str
    matching: Matching | None
    answered: int
    answers: AnswerReport | None
    program: Path | None = None
    build: Build | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """All of it, vedette's side first.

    `others_cpu_share` is the part of all CPUs that other processes took, in the worst of the
    timed parts: over 5%, times mean little.
    """

    cpu: str
    threads: int
    model: str
    vocabulary: int
    suite: str
    schemas: int
    with_prompts: int
    max_tokens: int
    costs: Costs
    sides: tuple[Side, ...]
    others_cpu_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstrainedBench:
    """What to measure. `prompts` of each schema are asked at most, one request at a time.

    `program` is a llama-server or None; `binding` says whether llama-cpp-python is asked too.
    """

    model: str
    options: EngineOptions
    suite: str
    cases: tuple[SchemaCase, ...]
    prompts: int
    max_tokens: int
    program: Path | None = None
    binding: bool = False

    def run(self, tell: Tell) -> Scorecard:
        """Measure. Raises what the engine and the peers raise when they cannot start."""
        build = identify(self.program) if self.program else None
        asked = self._asked()
        backend = LocalBackend(self.model, self.options)
        try:
            costs, vedette, elapsed = self._own(backend, asked, tell)
            judged = self._judged_by_binding(backend, tell) if self.binding else None
            path, vocabulary = backend.path, backend.engine.model.n_vocab
        finally:
            backend.close()
        sides = [vedette]
        if self.program and asked:
            replies, took = self._served(self.program, path, asked, tell)
            elapsed.append(took)
            sides.append(_side(PEER_NAME, None, replies, program=self.program, build=build))
        if self.binding:
            replies = []
            if asked:
                replies, took = self._bound(path, asked, tell)
                elapsed.append(took)
            sides.append(_side(BINDING_NAME, judged, replies))
        return Scorecard(
            cpu=cpu_name(),
            threads=self.options.threads,
            model=self.model,
            vocabulary=vocabulary,
            suite=self.suite,
            schemas=len(self.cases),
            with_prompts=len({case.name for case, _ in asked}),
            max_tokens=self.max_tokens,
            costs=costs,
            sides=tuple(sides),
            others_cpu_share=max(map(_others_share, elapsed)),
        )

    def _asked(self) -> Asked:
        """A request for each prompt, on every side the same."""
        return [
            (case, self._request(case, prompt))
            for case in self.cases
            for prompt in case.prompts[: self.prompts]
        ]

    def _request(self, case: SchemaCase, prompt: str) -> Request:
        task = Generate(constraint=case.constraint, max_tokens=self.max_tokens)
        return Request(
            prompt=task.prompt(prompt), constraint=case.constraint, max_tokens=self.max_tokens
        )

    def _own(
        self, backend: LocalBackend, asked: Asked, tell: Tell
    ) -> tuple[Costs, Side, list[Elapsed]]:
        tell(f"{NAME}: compiling {len(self.cases)} schemas")
        clock = Clock(backend.engine)
        watch = Stopwatch()
        matching = match(self.cases, clock.taken)
        elapsed = [watch.stop()]
        replies: list[Reply] = []
        hits = 0
        if asked:
            ours(*asked[0], backend)  # only warms up
            before, watch = backend.engine.compiler.hits, Stopwatch()
            replies = [ours(*pair, backend) for pair in told(asked, NAME, tell)]
            elapsed.append(watch.stop())
            hits = backend.engine.compiler.hits - before
        costs = Costs(
            compile_ms=quantiles(clock.compile_ms),
            again_ms=quantiles(clock.again_ms),
            mask_us=quantiles(clock.mask_us),
            bounded=clock.bounded,
            cache_hits=hits,
        )
        return costs, _side(NAME, matching, replies), elapsed

    def _judged_by_binding(self, backend: LocalBackend, tell: Tell) -> Matching:
        from .constrained_binding import taken_by_binding

        tell(f"{BINDING_NAME}: compiling {len(self.cases)} schemas")
        return match(self.cases, partial(taken_by_binding, backend.engine.model))

    def _served(
        self, program: Path, path: Path, asked: Asked, tell: Tell
    ) -> tuple[list[Reply], Elapsed]:
        options = ServerOptions(
            cpu_only=True,
            threads=self.options.threads,
            slot_tokens=SLOT_TOKENS,
            kv_type=self.options.kv_type,
        )
        with Peer(program, path, options) as peer:
            peer.ask([text_body(asked[0][1])])  # only warms up; a refusal is counted later
            watch = Stopwatch(peer.pid)
            replies = []
            for case, request in told(asked, PEER_NAME, tell):
                (reply,) = peer.ask([text_body(request)])
                replies.append(theirs(case, reply))
            return replies, watch.stop()

    def _bound(self, path: Path, asked: Asked, tell: Tell) -> tuple[list[Reply], Elapsed]:
        side = Binding(model=path, threads=self.options.threads, context_tokens=SLOT_TOKENS)
        with side.opened() as ask:
            ask(asked[0][1])  # only warms up
            watch = Stopwatch()
            replies = [
                theirs(case, ask(request)) for case, request in told(asked, BINDING_NAME, tell)
            ]
            return replies, watch.stop()


def _side(
    name: str,
    matching: Matching | None,
    replies: Sequence[Reply],
    *,
    program: Path | None = None,
    build: Build | None = None,
) -> Side:
    return Side(
        name=name,
        matching=matching,
        answered=len({reply.schema for reply in replies if not reply.error}),
        answers=answer_report(replies) if replies else None,
        program=program,
        build=build,
    )


def _others_share(elapsed: Elapsed) -> float:
    return elapsed.others_cpu_s / (elapsed.wall_s * (os.cpu_count() or 1))
