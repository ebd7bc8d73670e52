"""The gateway: routes by the model name that clients ask for, and the account of each request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from typing import Any, TypeVar

from vedette.backends.base import Backend
from vedette.errors import Overloaded, VedetteError
from vedette.tasks.gate import Price

from .cache import AnswerCache
from .errand import Errand, Route
from .ledger import Ledger
from .messages import check_body
from .passage import CANCELLED, OK, Object, Passage
from .tables import LOCAL
from .upstream import Tier, Upstream

T = TypeVar("T")

FREE = Price(0.0, 0.0)
BYTES_PER_TOKEN = 3

_log = logging.getLogger(__name__)


class Gateway:
    """Answers chat completions by routes. Its async methods belong to one event loop.

    `routes` are by the model names that ask for them, `large` is what savings are reckoned
    against. It owns its ledger, cache and tiers; the backend stays the caller's.
    """

    def __init__(
        self,
        routes: Mapping[str, Route],
        upstreams: Sequence[Upstream],
        backend: Backend,
        ledger: Ledger,
        *,
        large: Price = FREE,
        cache: AnswerCache | None = None,
        max_requests: int = 256,
    ) -> None:
        self.ledger = ledger
        self.under_way = 0
        self._routes = dict(routes)
        self._upstreams = {one.name: one for one in upstreams}
        self._backend = backend
        self._large = large
        self._cache = cache
        self._most = max_requests
        # What asks the local model waits for its answers: as many as it has room for.
        self._workers = ThreadPoolExecutor(
            max(4, backend.width), thread_name_prefix="vedette-gateway"
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The model names that are routes."""
        return tuple(self._routes)

    @property
    def cache_failures(self) -> int:
        """How often the cache of answers could not be read or written."""
        return 0 if self._cache is None else self._cache.failures

    def passage(self, model: object) -> Passage | None:
        """The beginning of a request for a model; None where that is no route."""
        route = self._routes.get(model) if isinstance(model, str) else None
        return None if route is None else Passage(route=route.name)

    async def answer(
        self, passage: Passage, body: Mapping[str, Any], local: Tier
    ) -> AsyncGenerator[Object]:
        """The answer to a request: one object, or the chunks of a stream.

        What is raised before the first one is about the request as a whole. `local` answers for
        the backend. The passage's headers are complete with the first object, or the error; its row
        in the ledger when this has ended, however it did. Raises a `VedetteError`.
        """
        await asyncio.wrap_future(self.ledger.begin(passage))
        tiers: dict[str, Tier] = {**self._upstreams, LOCAL: local}
        route = self._routes[str(body["model"])]
        errand = Errand(route, passage, body, tiers, self._work, self._count)
        try:
            check_body(body)
            with self._place():
                async with aclosing(errand.objects()) as objects:
                    async for one in objects:
                        yield one
            passage.outcome = OK
        except VedetteError as error:
            passage.outcome = error.code
            raise
        except (asyncio.CancelledError, GeneratorExit):
            passage.outcome = CANCELLED
            raise
        except Exception:
            passage.outcome = "internal_error"
            raise
        finally:
            self._account(errand, passage)

    async def close(self) -> None:
        """Close what it owns."""
        for one in self._upstreams.values():
            await one.close()
        self._workers.shutdown(wait=True)
        self.close_files()

    def close_files(self) -> None:
        """Close the ledger and the cache; all that there is to close before a loop runs."""
        self.ledger.close()
        if self._cache is not None:
            self._cache.close()

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self.under_way >= self._most:
            raise Overloaded(
                f"{self.under_way} requests are on their way through the gateway, and at most "
                f"{self._most} can be",
                hint="try again later",
            )
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    async def _work(self, work: Callable[..., T], *given: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, work, *given)

    def _count(self, text: str) -> int:
        """Tokens of a text as the local model counts, for accounts; an estimate if it cannot."""
        try:
            return self._backend.count_tokens(text)
        except VedetteError as error:
            _log.warning("tokens for the ledger are estimated: %s", error)
            return -(-len(text.encode()) // BYTES_PER_TOKEN)

    def _account(self, errand: Errand, passage: Passage) -> None:
        """Reckon what it cost, and what it would have with the large model."""
        errand.settle()
        if passage.tier in self._upstreams and passage.cache != "hit":
            price = self._upstreams[passage.tier].price
            passage.cost = price.of(passage.usage.prompt_tokens, passage.usage.completion_tokens)
        if passage.outcome == OK:
            instead = self._large.of(passage.asked_tokens, passage.answer_tokens)
            passage.saved = instead - passage.cost
        self.ledger.end(passage)
