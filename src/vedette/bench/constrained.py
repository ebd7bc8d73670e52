"""The scorecard of constrained output: what is accepted, at what cost, and what the model writes.

Without a model: which schemas can be enforced, and whether instances are judged rightly. With
one: compilation, masks, and answers, one at a time; and the same requests to a llama-server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vedette.backends.local import LocalBackend
from vedette.engine.constraint.schema import SchemaMatcher
from vedette.engine.options import EngineOptions
from vedette.errors import SchemaError
from vedette.tasks.generate import Generate
from vedette.types import Constraint, Request

from .bodies import text_body
from .build import Build, cpu_name, identify
from .constrained_answers import AnswerReport, Reply, answer_report, ours, theirs
from .constrained_suite import SchemaCase
from .constrained_times import Clock, Quantiles, quantiles
from .peer import Peer, PeerOptions
from .stopwatch import Elapsed, Stopwatch

Tell = Callable[[str], None]
Asked = Sequence[tuple[SchemaCase, Request]]

SLOT_TOKENS = 4096
WARM_UP = Constraint("json_schema", '{"type":"null"}')


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How schemas are taken and instances judged, without a model.

    `refused` has the reason for each schema that is not accepted. A false accept is an invalid
    instance that could be an answer, a false reject a valid one that could not, as compact JSON
    in the grammar's order.
    """

    schemas: int
    accepted: int
    refused: dict[str, str]
    instances: int
    false_accepts: tuple[str, ...]
    false_rejects: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerScore:
    """The llama-server's side: schemas of which it answers at least one prompt."""

    program: Path
    build: Build
    schemas: int
    accepted: int
    answers: AnswerReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """All of it. Answers are None where no schema has prompts, the peer where none was named.

    `others_cpu_share` is the part of all CPUs that other processes took, in the worse of the
    timed parts: over 5%, times mean little.
    """

    cpu: str
    threads: int
    model: str
    vocabulary: int
    suite: str
    max_tokens: int
    matching: Matching
    compile_ms: Quantiles | None
    mask_us: Quantiles | None
    answers: AnswerReport | None
    peer: PeerScore | None
    others_cpu_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstrainedBench:
    """What to measure. `prompts` of each schema are asked at most, one request at a time."""

    model: str
    options: EngineOptions
    suite: str
    cases: tuple[SchemaCase, ...]
    prompts: int
    max_tokens: int
    program: Path | None

    def run(self, tell: Tell) -> Scorecard:
        """Measure. Raises what the engine and the peer raise when they cannot start."""
        matchers, matching = match(self.cases)
        build = identify(self.program) if self.program else None
        backend = LocalBackend(self.model, self.options)
        try:
            tell(f"compiling {len(matchers)} schemas")
            watch = Stopwatch()
            compiled, masks = times(backend, self.cases, matchers)
            elapsed = [watch.stop()]
            asked = self._requests(matchers)
            replies, spent = _answered(backend, asked, tell)
            elapsed += spent
            path, vocabulary = backend.path, backend.engine.model.n_vocab
        finally:
            backend.close()
        peer = None
        if self.program and build and asked:
            score, took = self._peer_score(self.program, build, path, asked, tell)
            peer, elapsed = score, [*elapsed, took]
        return Scorecard(
            cpu=cpu_name(),
            threads=self.options.threads,
            model=self.model,
            vocabulary=vocabulary,
            suite=self.suite,
            max_tokens=self.max_tokens,
            matching=matching,
            compile_ms=quantiles(compiled),
            mask_us=quantiles(masks),
            answers=answer_report(replies) if replies else None,
            peer=peer,
            others_cpu_share=max(map(_others_share, elapsed)),
        )

    def _requests(self, matchers: dict[str, SchemaMatcher]) -> Asked:
        """A request for each prompt; schemas that vedette refuses are asked of nobody."""
        return [
            (case, self._request(case, prompt))
            for case in self.cases
            if case.name in matchers
            for prompt in case.prompts[: self.prompts]
        ]

    def _request(self, case: SchemaCase, prompt: str) -> Request:
        constraint = _constraint(case)
        task = Generate(constraint=constraint, max_tokens=self.max_tokens)
        return Request(
            prompt=task.prompt(prompt), constraint=constraint, max_tokens=self.max_tokens
        )

    def _peer_score(
        self, program: Path, build: Build, path: Path, asked: Asked, tell: Tell
    ) -> tuple[PeerScore, Elapsed]:
        options = PeerOptions(
            threads=self.options.threads, slot_tokens=SLOT_TOKENS, kv_type=self.options.kv_type
        )
        with Peer(program, path, options) as peer:
            _warm_up(peer, asked)
            watch = Stopwatch(peer.pid)
            replies = []
            for case, request in _told(asked, "llama-server", tell):
                (reply,) = peer.ask([text_body(request)])
                replies.append(theirs(case, reply))
            elapsed = watch.stop()
        accepted = {reply.schema for reply in replies if not reply.error}
        return PeerScore(
            program=program,
            build=build,
            schemas=len({case.name for case, _ in asked}),
            accepted=len(accepted),
            answers=answer_report(replies),
        ), elapsed


def match(cases: Sequence[SchemaCase]) -> tuple[dict[str, SchemaMatcher], Matching]:
    """The matchers of the schemas that can be enforced, by name, and how they judge."""
    matchers: dict[str, SchemaMatcher] = {}
    refused: dict[str, str] = {}
    wrong: dict[bool, list[str]] = {True: [], False: []}
    n_instances = 0
    for case in cases:
        try:
            matcher = matchers[case.name] = SchemaMatcher(case.schema)
        except SchemaError as error:
            refused[case.name] = str(error)
            continue
        for number, instance in enumerate(case.instances, 1):
            n_instances += 1
            if matcher.accepts(instance.value) != instance.valid:
                wrong[instance.valid].append(f"{case.name}, test {number}")
    return matchers, Matching(
        schemas=len(cases),
        accepted=len(matchers),
        refused=refused,
        instances=n_instances,
        false_accepts=tuple(wrong[False]),
        false_rejects=tuple(wrong[True]),
    )


def times(
    backend: LocalBackend, cases: Sequence[SchemaCase], matchers: dict[str, SchemaMatcher]
) -> tuple[list[float], list[float]]:
    """Milliseconds of each compilation, microseconds of each mask."""
    clock = Clock(backend.engine)
    clock.compile_ms(WARM_UP)
    compiled: list[float] = []
    masks: list[float] = []
    for case in cases:
        matcher = matchers.get(case.name)
        if matcher is None:
            continue
        constraint = _constraint(case)
        compiled.append(clock.compile_ms(constraint))
        for instance in case.instances:
            if instance.valid:
                masks += clock.mask_us(constraint, matcher, instance.value)
    return compiled, masks


def _constraint(case: SchemaCase) -> Constraint:
    return Constraint("json_schema", case.source)


def _answered(backend: LocalBackend, asked: Asked, tell: Tell) -> tuple[list[Reply], list[Elapsed]]:
    """Each request by itself, after one that only warms up."""
    if not asked:
        return [], []
    backend.submit(asked[0][1]).result()
    watch = Stopwatch()
    replies = [ours(case, backend, request) for case, request in _told(asked, "vedette", tell)]
    return replies, [watch.stop()]


def _warm_up(peer: Peer, asked: Asked) -> None:
    """Have it read a prompt once. A refusal of that schema is counted later, not here."""
    peer.ask([text_body(asked[0][1])])


def _told(asked: Asked, side: str, tell: Tell) -> Iterator[tuple[SchemaCase, Request]]:
    for number, pair in enumerate(asked, 1):
        if number == 1 or asked[number - 2][0] is not pair[0]:
            tell(f"{side}: {pair[0].name} ({number} of {len(asked)})")
        yield pair


def _others_share(elapsed: Elapsed) -> float:
    return elapsed.others_cpu_s / (elapsed.wall_s * (os.cpu_count() or 1))
