"""The llama-server that is measured against: a running one that is asked many things at once."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.backends.server_process import ServerProcess
from vedette.errors import RequestError

from .client import PeerReply, ask_all


class Peer(ServerProcess):
    """A llama-server of a measurement; see `ServerProcess`."""

    def ask(self, bodies: Sequence[bytes]) -> list[PeerReply]:
        """Put all these chat requests to it, enough at once to keep every slot busy, in order.

        A request that it refuses is an error among the replies. Raises `EngineFailed` if the
        server goes away.
        """
        try:
            # Twice as many as slots: the next request is there when a slot falls free.
            return ask_all(self.url, bodies, concurrency=2 * self.options.n_slots)
        except RequestError as error:
            ended = self.why_ended()
            if ended is None:
                raise
            raise ended from error
