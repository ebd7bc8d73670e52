"""One timed run of one side, and what it answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from vedette.types import Json, Usage

from .stopwatch import Elapsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a side said about an item: a value, or why there is none in `error`."""

    value: Json = None
    error: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All items once, in order. `wall_s` runs from the first request to the last answer.

    `own_cpu_s` is the CPU time of this process meanwhile: for a peer, what asking it cost.
    `others_cpu_s` is that of everything on the machine which takes no part.
    """

    side: str
    wall_s: float
    own_cpu_s: float
    others_cpu_s: float
    replies: tuple[Reply, ...]

    @property
    def items_per_s(self) -> float:
        """Items for each second of wall time, failed ones included."""
        return len(self.replies) / self.wall_s

    @property
    def usage(self) -> Usage:
        """Tokens of all replies."""
        return sum((reply.usage for reply in self.replies), Usage())

    @property
    def errors(self) -> tuple[str, ...]:
        """Why items have no value, each reason once."""
        return tuple(dict.fromkeys(reply.error for reply in self.replies if reply.error))


def run_of(side: str, elapsed: Elapsed, replies: tuple[Reply, ...]) -> Run:
    """A run that took this long."""
    return Run(
        side=side,
        wall_s=elapsed.wall_s,
        own_cpu_s=elapsed.own_cpu_s,
        others_cpu_s=elapsed.others_cpu_s,
        replies=replies,
    )
