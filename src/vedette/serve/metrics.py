"""Counts and times of one server, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from starlette.types import Scope

from vedette.backends.base import Backend, Handle, Result
from vedette.backends.local import LocalBackend
from vedette.engine.core import EngineCore
from vedette.errors import VedetteError
from vedette.types import Completion

from . import metric_list as listed
from .metric_list import Metric

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
TEXT = {"type": "string"}
R = TypeVar("R", bound=Result)


class Metrics:
    """Everything that `/metrics` tells, in a registry of its own. Safe to use from any thread."""

    def __init__(self, model: str, backend: Backend, most_answers: int) -> None:
        self._registry = CollectorRegistry()
        self._model = model
        self._requests = self._counter(listed.REQUESTS)
        self._request_seconds = self._histogram(listed.REQUEST_SECONDS)
        self._requests_open = self._gauge(listed.REQUESTS_OPEN).labels(model)
        self._answers_open = self._gauge(listed.ANSWERS_OPEN).labels(model)
        self._gauge(listed.ANSWERS_MOST).labels(model).set(most_answers)
        self._errors = self._counter(listed.ERRORS)
        self._prompt_tokens = self._counter(listed.PROMPT_TOKENS).labels(model)
        self._cached_tokens = self._counter(listed.CACHED_TOKENS).labels(model)
        self._answer_tokens = self._counter(listed.ANSWER_TOKENS).labels(model)
        self._forced_tokens = self._counter(listed.FORCED_TOKENS).labels(model)
        self._queue_seconds = self._histogram(listed.QUEUE_SECONDS).labels(model)
        self._first_token = self._histogram(listed.FIRST_TOKEN_SECONDS).labels(model)
        self._token_seconds = self._histogram(listed.TOKEN_SECONDS).labels(model)
        if isinstance(backend, LocalBackend):
            self._registry.register(_EngineMetrics(model, backend.engine))

    def _counter(self, metric: Metric) -> Counter:
        return Counter(metric.name, metric.meaning, metric.all_labels, registry=self._registry)

    def _gauge(self, metric: Metric) -> Gauge:
        return Gauge(metric.name, metric.meaning, metric.all_labels, registry=self._registry)

    def _histogram(self, metric: Metric) -> Histogram:
        return Histogram(
            metric.name,
            metric.meaning,
            metric.all_labels,
            registry=self._registry,
            buckets=metric.seconds,
        )

    def collect(self) -> Iterator[Family]:
        """Everything, as the encoders of prometheus_client read a registry.

        Without the times at which each series began: they double the text and tell nothing here.
        """
        for family in self._registry.collect():
            family.samples = [one for one in family.samples if not one.name.endswith("_created")]
            yield family

    def answers_from(self, n_under_way: Callable[[], int]) -> None:
        """Where to read how many answers are under way."""
        self._answers_open.set_function(n_under_way)

    def also_tell(self, totals: Mapping[Metric, Callable[[], int]]) -> None:
        """Running totals of somebody else, read when they are asked for."""
        self._registry.register(_Totals(self._model, totals))

    @contextmanager
    def visiting(self) -> Iterator[None]:
        """While a request is here."""
        with self._requests_open.track_inprogress():
            yield

    def visited(self, scope: Scope, status: int | None, seconds: float) -> None:
        """A request is over; `status` None: its client had left.

        Only names that this server has given become labels: a client could make up any number.
        """
        route = getattr(scope.get("route"), "path_format", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"
        told = "gone" if status is None else str(status)
        self._requests.labels(self._model, method, route, told).inc()
        self._request_seconds.labels(self._model, route).observe(seconds)

    def watch(self, handle: Handle[R]) -> None:
        """Count what becomes of a request under way."""
        handle.on_done(lambda: self._done(handle))

    def _done(self, handle: Handle[R]) -> None:
        try:
            result = handle.result()
        except VedetteError as error:
            self._errors.labels(self._model, error.code).inc()
            return
        usage, timings = result.usage, result.timings
        self._prompt_tokens.inc(usage.prompt_tokens)
        self._cached_tokens.inc(usage.cached_tokens)
        self._answer_tokens.inc(usage.completion_tokens)
        self._forced_tokens.inc(usage.forced_tokens)
        if timings.prefill_ms:  # else the backend tells no times
            self._queue_seconds.observe(timings.queue_ms / 1e3)
            if isinstance(result, Completion):
                self._first_token.observe((timings.queue_ms + timings.prefill_ms) / 1e3)
                n_more = usage.completion_tokens - 1
                if n_more > 0:
                    self._token_seconds.observe(timings.decode_ms / 1e3 / n_more)


class _EngineMetrics(Collector):
    """The engine's own running totals, read when they are asked for."""

    def __init__(self, model: str, engine: EngineCore) -> None:
        self._model = model
        self._engine = engine

    def collect(self) -> Iterable[Family]:
        """As prometheus_client has it."""
        engine, stats = self._engine, self._engine.stats
        yield self._family(listed.ENGINE_WAITING, engine.n_waiting)
        yield self._family(listed.ENGINE_RUNNING, engine.n_running)
        yield self._family(listed.ENGINE_STEPS, stats.steps)
        yield self._family(listed.ENGINE_TOKENS, stats.tokens_decoded)
        yield self._family(listed.ENGINE_SHARED, stats.tokens_shared)
        yield self._family(listed.ENGINE_SECONDS, stats.step_s)
        yield self._family(listed.ENGINE_DECODE_SECONDS, stats.decode_s)
        yield self._family(listed.DRAFTS, stats.drafts)
        yield self._family(listed.DRAFT_TOKENS, stats.guessed)
        yield self._family(listed.ACCEPTED_TOKENS, stats.guesses_right)
        by_place = {str(place): n for place, n in enumerate(stats.right_by_place)}
        yield _with_samples(
            listed.ACCEPTED_BY_PLACE, [({"position": place}, n) for place, n in by_place.items()]
        )

    def _family(self, metric: Metric, value: float) -> Family:
        labels = {"model": self._model} if "model" in metric.all_labels else {}
        return _with_samples(metric, [(labels, value)])


class _Totals(Collector):
    """Running totals of the label `model` alone."""

    def __init__(self, model: str, totals: Mapping[Metric, Callable[[], int]]) -> None:
        self._model = model
        self._totals = totals

    def collect(self) -> Iterable[Family]:
        """As prometheus_client has it."""
        for metric, read in self._totals.items():
            yield _with_samples(metric, [({"model": self._model}, read())])


def _with_samples(metric: Metric, samples: Iterable[tuple[dict[str, str], float]]) -> Family:
    family = Family(metric.name, metric.meaning, metric.kind)
    family.samples = [Sample(metric.told_name, labels, value) for labels, value in samples]
    return family


def metric_router(metrics: Metrics) -> APIRouter:
    """The route, over a server's metrics."""
    router = APIRouter()

    @router.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses={200: {"content": {"application/openmetrics-text": {"schema": TEXT}}}},
    )
    def tell(http: HttpRequest) -> Response:
        """Counts and times, in the text form of Prometheus or OpenMetrics."""
        encoder, media_type = choose_encoder(http.headers.get("accept", ""))
        return Response(encoder(metrics), media_type=media_type)

    return router
