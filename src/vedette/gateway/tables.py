"""The tables of `[gateway]` in `vedette.toml`, as they are written there."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from vedette.redaction.detectors.phone import DEFAULT_REGIONS
from vedette.tasks.guard.policy_file import DEFAULT as DEFAULT_POLICIES

LOCAL = "local"
"""The tier that the server's own model is."""
UP = "up"

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Money: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Secret: TypeAlias = Annotated[SecretStr, Field(min_length=1)]


class Table(BaseModel):
    """A table of which every key counts: an unknown one is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TierTable(Table):
    """`[gateway.tiers.NAME]`: a larger model behind OpenAI's protocol.

    `price` is what a million tokens cost, in and out. The model has `timeout_s` for its first word,
    for each further one, and for a whole answer. `tries` counts the first one.
    """

    base_url: Text
    model: Text
    api_key: Secret | None = None
    price: Annotated[list[Money], Field(min_length=2, max_length=2)] = [0.0, 0.0]
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    tries: Annotated[int, Field(ge=1, le=10)] = 3


class GuardTable(Table):
    """Policies that the texts of a request are held against, as `vedette guard` does."""

    policies: Annotated[list[Text], Field(min_length=1)] = [*DEFAULT_POLICIES]
    action: Literal["block", "note"] = "block"
    rules_only: bool = False
    allow: list[Text] = []
    thresholds: Text | None = None


class RedactTable(Table):
    """What is hidden before a request leaves, as `vedette redact` does."""

    kinds: Annotated[list[Text], Field(min_length=1)] | None = None
    entities: list[Text] | dict[str, str] = []
    regions: list[Text] = [*DEFAULT_REGIONS]
    allow: list[Text] = []
    patterns: Text | None = None
    restore: bool = True


class ClosedTable(Table):
    """A closed question with thresholds: `ask` as for `decide`, or `labels` as for `classify`."""

    ask: Text | None = None
    labels: list[Text] | dict[str, str] | Text | None = None
    examples: Text | None = None
    instructions: str = ""
    thresholds: Text


class TaskTable(ClosedTable):
    """A task that the local model does by itself, where it keeps the answer.

    It is a closed question, or in its place `extract`, the file of a schema that requests ask for.
    `when` is looked for in the system turns, `item` in the user's: its group is what the task is
    about. `reply` is the text of the answer to a question.
    """

    extract: Text | None = None
    when: str = ""
    item: str = ""
    reply: str = "{label}"


class QuestionTable(ClosedTable):
    """A closed question about the request; `tiers` says who answers after each answer to it."""

    tiers: Annotated[dict[str, Text], Field(min_length=1)]


class DecideTable(Table):
    """Who answers. What nothing here decides goes `otherwise`: up, or to the local model."""

    tasks: list[TaskTable] = []
    max_prompt_tokens: Annotated[int, Field(ge=1)] | None = None
    red_lines: bool = False
    question: QuestionTable | None = None
    otherwise: Literal["up", "local"] = "up"


class CompressTable(Table):
    """Most tokens of all texts of users and tools together, before a request leaves."""

    budget_tokens: Annotated[int, Field(ge=16)]
    tokenizer: Text | None = None


class RouteTable(Table):
    """`[gateway.routes.NAME]`: what becomes of requests for the model names in `match`.

    `call` are the tiers in the order in which they are tried.
    """

    match: Text | Annotated[list[Text], Field(min_length=1)] | None = None
    guard: GuardTable | None = None
    redact: RedactTable | None = None
    decide: DecideTable | None = None
    compress: CompressTable | None = None
    call: Annotated[list[Text], Field(min_length=1)]
    cache: bool = False

    def names(self, own: str) -> list[str]:
        """The model names that ask for it; `own` is its key in the file."""
        if self.match is None:
            return [own]
        return [self.match] if isinstance(self.match, str) else self.match


class LedgerTable(Table):
    """Where requests are accounted for; `require` refuses those that cannot be."""

    url: Secret | None = None
    require: bool = False


class CacheTable(Table):
    """Where answers are kept for routes with `cache = true`."""

    file: Text | None = None
    ttl_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 86_400.0
    max_bytes: Annotated[int, Field(ge=1)] = 64 * 1024 * 1024


class GatewayTable(Table):
    """All of `[gateway]`.

    What is saved is reckoned against the tier `large`; without it, against the first of `tiers`.
    """

    tiers: dict[str, TierTable] = {}
    large: Text | None = None
    routes: Annotated[dict[str, RouteTable], Field(min_length=1)]
    ledger: LedgerTable = LedgerTable()
    cache: CacheTable = CacheTable()
    max_requests: Annotated[int, Field(ge=1)] = 256
