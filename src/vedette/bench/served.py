"""The peer's side of a measurement: a fresh llama-server for each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from vedette.backends.server_process import ServerOptions
from vedette.errors import EngineFailed

from .client import PeerReply
from .peer import Peer
from .runs import Reply, Run, run_of
from .stopwatch import Stopwatch

Read: TypeAlias = Callable[[Sequence[PeerReply]], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerJob:
    """A job as the peer gets it: request bodies for each item, and how its replies are read.

    `warmup` are requests of other items, at least as many as there are slots.
    """

    items: tuple[tuple[bytes, ...], ...]
    warmup: tuple[bytes, ...]
    read: Read

    def first(self, count: int) -> PeerJob:
        """The same for the first `count` items only."""
        return replace(self, items=self.items[:count])


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How the peer is started. It is started for each run and stopped after it."""

    program: Path
    model: Path
    options: ServerOptions

    @property
    def name(self) -> str:
        """The side's name in a report."""
        suffix = "" if self.options.flash_attention else " -fa off"
        return f"llama-server -np {self.options.n_slots}{suffix}"

    def run(self, job: PeerJob) -> Run:
        """Put all items to it, warmed up, its start not timed.

        Raises `EngineFailed` if it cannot be started, dies, or refuses what it is warmed up with.
        """
        with Peer(self.program, self.model, self.options) as peer:
            for reply in peer.ask(job.warmup[: self.options.n_slots]):
                if reply.error:
                    raise EngineFailed(f"the llama-server refuses the job: {reply.error}")
            bodies = [body for item in job.items for body in item]
            watch = Stopwatch(peer.pid)
            replies = iter(peer.ask(bodies))
            elapsed = watch.stop()
        read = tuple(job.read(list(islice(replies, len(item)))) for item in job.items)
        return run_of(self.name, elapsed, read)
