"""Ask a long-lived engine about case after case, and count what comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz_cases import MAX_TOKENS, Case
from fuzz_process import Child, Died, Late

PATIENCE_S = 12.0
JUDGE_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of processor time after which a case counts as a hang.

    `start_s` is for the compilation and the first masks, `whole_s` for the answer as well.
    """

    start_s: float = 1.0
    whole_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that must not be.

    `what`: unconstrained, hang, crash (the process died), untyped (not a `VedetteError`),
    stumbled (`EngineFailed`), mute (no answer to the plain request that follows).
    """

    what: str
    case: Case
    detail: str


@dataclass(slots=True)
class Tally:
    """What came of the cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    start_s: list[float] = field(default_factory=list)
    whole_s: list[float] = field(default_factory=list)
    peak_mb: int = 0

    def fault(self, what: str, case: Case, detail: str) -> None:
        """Keep one."""
        self.faults.append(Fault(what, case, detail))

    def counts(self) -> Counter[str]:
        """Faults of each kind."""
        return Counter(fault.what for fault in self.faults)


def run(
    cases: Iterable[Case],
    model: Path,
    limits: Limits,
    tell: Callable[[Fault], None],
    *,
    vocabulary: Path | None = None,
) -> Tally:
    """All cases through one engine, which is started again only after a death or a hang.

    `tell` hears of each fault at once. `vocabulary` is a model over whose tokens compilation and
    first masks are timed; else it is the same one.
    """
    tally = Tally()
    with Child("engine", model, vocabulary or model) as engine, Child("judge", model) as judge:
        for case in cases:
            n_before = len(tally.faults)
            reply = _asked(engine, case, tally)
            if reply is not None:
                _count(case, reply, tally, limits)
                if reply["outcome"] == "answered":
                    _judge(judge, case, reply, tally)
            for fault in tally.faults[n_before:]:
                tell(fault)
    return tally


def _asked(engine: Child, case: Case, tally: Tally) -> dict[str, Any] | None:
    try:
        return engine.ask({**case.as_dict(), "max_tokens": MAX_TOKENS}, PATIENCE_S)
    except Died as death:
        outcome, detail = "crash", str(death)
    except Late as lateness:
        outcome, detail = "hang", str(lateness)
    tally.outcomes[outcome] += 1
    tally.by_kind[case.kind, outcome] += 1
    tally.fault(outcome, case, detail)
    return None


def _count(case: Case, reply: dict[str, Any], tally: Tally, limits: Limits) -> None:
    outcome = reply["outcome"]
    tally.outcomes[outcome] += 1
    tally.by_kind[case.kind, outcome] += 1
    tally.start_s.append(reply["start_s"])
    tally.whole_s.append(reply["whole_s"])
    tally.peak_mb = max(tally.peak_mb, reply["peak_mb"])
    if "error" in reply:
        tally.errors[reply["error"]] += 1
    if outcome == "untyped" or reply.get("error") == "engine_failed":
        tally.fault("stumbled" if outcome == "failed" else outcome, case, reply["message"])
    if reply["start_s"] > limits.start_s or reply["whole_s"] > limits.whole_s:
        times = f"start {reply['start_s']:.1f} s, whole {reply['whole_s']:.1f} s"
        tally.fault("hang", case, f"{times}; {outcome}")
    if not reply["is_alive"]:
        tally.fault("mute", case, "no answer to the plain request that followed")


def _judge(judge: Child, case: Case, reply: dict[str, Any], tally: Tally) -> None:
    """A judge that dies or takes too long has no opinion."""
    try:
        verdict = judge.ask({"case": case.as_dict(), "reply": reply}, JUDGE_PATIENCE_S)["verdict"]
    except (Died, Late) as end:
        verdict = f"unjudged ({type(end).__name__.lower()})"
    tally.verdicts[verdict] += 1
    if verdict == "invalid":
        tally.fault("unconstrained", case, reply["text"])
