"""What `/metrics` tells: names, labels and meanings. docs/metrics.md is made from this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. A counter's `name` has no `_total`, which is how Prometheus' own client has it.

    Every metric of vedette's has the label `model` before its own `labels`. `seconds` are the
    upper bounds of a histogram's buckets.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    labels: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()

    @property
    def all_labels(self) -> tuple[str, ...]:
        """With `model`, unless the name is one of llama.cpp's, whose readers expect none."""
        return self.labels if self.name.startswith("llamacpp:") else ("model", *self.labels)

    @property
    def told_name(self) -> str:
        """As it stands in `/metrics`."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


LONG_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
SHORT_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)

# Of HTTP.
REQUESTS = Metric(
    "vedette_http_requests",
    "counter",
    "Requests that have been answered. `route` is the path as `/openapi.json` has it, or `none`; "
    "`status` is `gone` where the client left before",
    ("method", "route", "status"),
)
REQUEST_SECONDS = Metric(
    "vedette_http_request_duration_seconds",
    "histogram",
    "From the head of a request to the end of its answer, streams too",
    ("route",),
    LONG_S,
)
REQUESTS_OPEN = Metric(
    "vedette_http_requests_in_progress", "gauge", "Requests that are not answered yet"
)

# Of answers, whatever backend they come from.
ANSWERS_OPEN = Metric(
    "vedette_answers_under_way", "gauge", "Answers under way or waiting, of `--max-requests`"
)
ANSWERS_MOST = Metric(
    "vedette_answers_limit", "gauge", "`--max-requests`: above it a request gets 429"
)
ERRORS = Metric(
    "vedette_answer_errors",
    "counter",
    "Answers that ended in an error, by its `code`; `cancelled` where the client left",
    ("code",),
)
PROMPT_TOKENS = Metric("vedette_prompt_tokens", "counter", "Tokens of the prompts answered")
CACHED_TOKENS = Metric(
    "vedette_prompt_tokens_cached", "counter", "Those of them that were in the prefix cache"
)
ANSWER_TOKENS = Metric("vedette_completion_tokens", "counter", "Tokens of the answers")
FORCED_TOKENS = Metric(
    "vedette_completion_tokens_forced",
    "counter",
    "Those of them that a grammar left no choice about",
)
QUEUE_SECONDS = Metric(
    "vedette_queue_seconds", "histogram", "Time that a request waited in the engine", (), LONG_S
)
FIRST_TOKEN_SECONDS = Metric(
    "vedette_time_to_first_token_seconds",
    "histogram",
    "Waiting and reading the prompt. Not told by every backend",
    (),
    LONG_S,
)
TOKEN_SECONDS = Metric(
    "vedette_time_per_output_token_seconds",
    "histogram",
    "Writing one token after the first. Not told by every backend",
    (),
    SHORT_S,
)

# Of the gateway; without one there are none of them.
LEDGER_LOST = Metric(
    "vedette_gateway_ledger_lost",
    "counter",
    "Requests of which the ledger lacks the end, as it could not be written",
)
CACHE_FAILURES = Metric(
    "vedette_gateway_cache_failures",
    "counter",
    "Times that the cache of answers could not be read or written",
)

# Of the engine in this process; other backends have none of them.
ENGINE_WAITING = Metric(
    "vedette_engine_requests_waiting", "gauge", "Requests in the engine's queue"
)
ENGINE_RUNNING = Metric(
    "vedette_engine_sequences_running", "gauge", "Sequences that are read or written at once"
)
ENGINE_STEPS = Metric("vedette_engine_steps", "counter", "Steps of the engine")
ENGINE_TOKENS = Metric(
    "vedette_engine_decoded_tokens", "counter", "Tokens that went through the model"
)
ENGINE_SHARED = Metric(
    "vedette_engine_shared_tokens", "counter", "Tokens that did not have to: the cache had them"
)
ENGINE_SECONDS = Metric("vedette_engine_step_seconds", "counter", "Time that the steps took")
ENGINE_DECODE_SECONDS = Metric(
    "vedette_engine_decode_seconds", "counter", "The part of it that was llama.cpp's"
)

# Of guessing ahead, by llama-server's names.
DRAFTS = Metric("llamacpp:spec_decode_num_drafts", "counter", "Times that tokens were guessed")
DRAFT_TOKENS = Metric("llamacpp:spec_decode_num_draft_tokens", "counter", "Tokens guessed")
ACCEPTED_TOKENS = Metric(
    "llamacpp:spec_decode_num_accepted_tokens", "counter", "Guessed tokens that were right"
)
ACCEPTED_BY_PLACE = Metric(
    "llamacpp:spec_decode_num_accepted_tokens_per_pos",
    "counter",
    "The same by place among the guesses of a step, from 0",
    ("position",),
)

OF_GATEWAY = (LEDGER_LOST, CACHE_FAILURES)
ALL = tuple(value for value in globals().copy().values() if isinstance(value, Metric))
