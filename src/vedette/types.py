"""The nouns that every layer shares: frozen data, no I/O, no heavy imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .schema_report import SchemaReport

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
FinishReason: TypeAlias = Literal["stop", "length"]
Cut: TypeAlias = Literal["budget", "loop"]
AdapterScales: TypeAlias = tuple[tuple[str, float], ...]
"""Adapters by name, each with the scale at which it is applied."""
PictureFormat: TypeAlias = Literal["jpeg", "png", "webp", "gif", "bmp", "tiff"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool's name, and its arguments: the JSON text of an object."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat. `content` is data: special-token spellings in it stay plain text.

    `calls` are the tools that an assistant's turn called. A turn of role `tool` is the result of
    the call of this number (`call`, from 0 on), counted over all turns before it. `pictures` stand
    in the content, in the order of their places.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    call: int = 0
    pictures: tuple[Placed, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A chat to be continued, or raw text.

    What many items share stands first (instructions and examples), the item last.
    `shared_messages` says how many leading messages are the same for many items: what they hold
    stays in the cache, what follows is let go with the answer unless others begin with it too; 0
    means unknown. `shared_chars` is how much of the message after those is shared too (a text about
    which several questions are asked). `prefill` opens the assistant's turn and is not repeated in
    the answer. `raw` is text without a template, in which control-token spellings count as those
    tokens. `tools` are definitions in OpenAI's form, the JSON text of each, for templates that show
    such.
    """

    messages: tuple[Message, ...] = ()
    shared_messages: int = 0
    shared_chars: int = 0
    prefill: str = ""
    raw: str | None = None
    tools: tuple[str, ...] = ()

    @property
    def has_tools(self) -> bool:
        """Whether tools are offered, called or answer in it."""
        return bool(self.tools) or any(
            message.calls or message.role == "tool" for message in self.messages
        )

    @property
    def has_pictures(self) -> bool:
        """Whether a picture stands in one of its messages."""
        return any(message.pictures for message in self.messages)

    @property
    def shares(self) -> bool:
        """Whether anything of it is known to be the same for many items."""
        return self.shared_messages > 0 or self.shared_chars > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """How a JSON Schema is taken.

    With `strict`, a keyword that can only be checked afterwards is refused. `formats` says
    whether `format` asserts anything. Strings and arrays without a bound of their own end after
    `max_string_chars` and `max_array_items`; with `closed`, objects that declare properties take
    no others. `order` is that of an object's properties: as declared, or any, each once. `files`
    are the schemas that remote references may mean: (URI, JSON text).
    """

    strict: bool = False
    formats: bool = True
    closed: bool = True
    max_string_chars: int = 256
    max_array_items: int = 64
    order: Literal["declared", "any"] = "declared"
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Constraint:
    """What an output may be. `source` is the text that is compiled (and hashed for caches).

    `json_schema`: a JSON Schema as JSON text, taken as `options` say. `choice`: a JSON array of
    strings. `regex`: a regular expression. `gbnf`: a grammar as llama.cpp reads it, its start
    rule named `root`. `lark`: an llguidance grammar, its start rule named `start`. Strings that a
    schema marks `"x-verbatim": true` must be spans of `input`. What has an `input` is one item's,
    and is not kept for another.
    """

    kind: Literal["json_schema", "choice", "regex", "gbnf", "lark"]
    source: str
    input: str = ""
    options: SchemaOptions = SchemaOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a token is chosen. Temperature 0 is greedy; `seed` makes sampled runs repeatable.

    `logit_bias` (token, bias) is added to logits. Of a token that is in the answer c times so far,
    forced ones included, `presence_penalty` is taken off once and `frequency_penalty` c times
    (OpenAI API reference, chat completions). `repeat_penalty` is llama.cpp's, over the last
    `repeat_last_tokens`.
    """

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_tokens: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One text to be generated.

    `think` is for models that think before they answer: `off`, `free`, or the most tokens of the
    thought. The constraint holds from the end of the thought on, and `max_tokens` counts from
    there. `tier` says which of several backends answers, counted from the smallest. `speculate`
    is `auto`, `off`, `ngram:N`, `draft:N` or `drawn:N` in place of the engine's own setting.
    With `logprobs` each token's log-probability is told, and of the `top_logprobs` likeliest
    tokens at its place.
    `adapters` are those of the loaded ones under which all of it is computed; none is the plain
    model.
    """

    prompt: Prompt
    constraint: Constraint | None = None
    max_tokens: int = 256
    think: Literal["off", "free"] | int = "off"
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    deadline_s: float | None = None
    logprobs: bool = False
    top_logprobs: int = 0
    tier: int = 0
    speculate: str | None = None
    adapters: AdapterScales = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """One closed question: how likely is each choice as the answer to the prompt?

    `tier` says which of several backends answers, counted from the smallest. `adapters`: as for
    `Request`.
    """

    prompt: Prompt
    choices: tuple[str, ...]
    deadline_s: float | None = None
    tier: int = 0
    adapters: AdapterScales = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRequest:
    """One text to be placed: what does the model expect to come after the prompt?

    `keep` says that the text is likely to come again, in other jobs too, so that its place is
    worth keeping on disk. `tier` and `adapters`: as for `ScoreRequest`.
    """

    prompt: Prompt
    keep: bool = False
    deadline_s: float | None = None
    tier: int = 0
    adapters: AdapterScales = ()


AnyRequest: TypeAlias = Request | ScoreRequest | EmbedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request, or of many added up.

    `prompt_tokens` counts the whole prompt, `cached_tokens` the part of it that prefix sharing
    saved. `forced_tokens` were appended because the constraint left no choice,
    `sampled_tokens` were chosen from logits.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    forced_tokens: int = 0
    sampled_tokens: int = 0

    @property
    def completion_tokens(self) -> int:
        """All tokens of the answer."""
        return self.forced_tokens + self.sampled_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            forced_tokens=self.forced_tokens + other.forced_tokens,
            sampled_tokens=self.sampled_tokens + other.sampled_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Where the wall time of one request went."""

    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class TopToken:
    """A token that could have been, with its log-probability; control tokens by their spelling."""

    token_id: int
    text: str
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """One token of an answer with its log-probability before constraint and penalties.

    `top` are the likeliest tokens at its place, the likeliest first, where they were asked for.
    """

    token_id: int
    text: str
    logprob: float
    runner_up_gap: float
    forced: bool = False
    top: tuple[TopToken, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """What guessing tokens did for one answer.

    `steps` are those that the answer took, `guessed` and `right` count tokens, by source as
    (guessed, right); `by_position` the same for the first guess of a step, the second, and so on,
    where those behind a wrong one are not counted. `guess_ms` is the time that guessing took,
    before any was checked. `speedup` is the estimate, from measured step times, of what it
    brought, 1 being the time without. `verdict` says it in words.
    """

    policy: str
    steps: int = 0
    tokens: int = 0
    guessed: int = 0
    right: int = 0
    sources: tuple[tuple[str, int, int], ...] = ()
    by_position: tuple[tuple[int, int], ...] = ()
    guess_ms: float = 0.0
    speedup: float = 1.0
    verdict: str = ""

    @property
    def tokens_per_step(self) -> float:
        """Tokens of the answer that a step brought, forced ones included."""
        return self.tokens / self.steps if self.steps else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The answer to a `Request`. `finish_reason` is `length` when `max_tokens` cut it.

    `cut` says that a constrained answer is legal but not as long as the model would have made
    it: `budget`, brought to an end within `max_tokens`; `loop`, something was repeated over and
    over, and ended. `report` says what became of each keyword of the schema that constrained it.
    `speculation` is there where the engine could guess.
    """

    text: str
    finish_reason: FinishReason
    usage: Usage
    timings: Timings = field(default_factory=Timings)
    logprobs: tuple[TokenLogprob, ...] = ()
    report: SchemaReport | None = None
    cut: Cut | None = None
    thought: str = ""
    speculation: Speculation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The answer to a `ScoreRequest`: log P(choice | prompt) for each choice, in order."""

    choices: tuple[str, ...]
    logprobs: tuple[float, ...]
    usage: Usage
    timings: Timings = field(default_factory=Timings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The answer to an `EmbedRequest`: logits of the next token, at some 2,000 fixed tokens.

    Texts after which the model expects the same words lie close to each other (by the cosine of
    their vectors, once the mean of many is taken away).
    """

    vector: tuple[float, ...]
    usage: Usage
    timings: Timings = field(default_factory=Timings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a backend can do; `context_tokens` is the room for one request, prompt and answer.

    `can_copy`: strings that a schema marks `"x-verbatim": true` are held to spans of the input.
    `useful_tokens` is how much of that room the model can use, where it was measured.
    """

    can_complete: bool = True
    can_constrain: bool = False
    can_score: bool = False
    can_copy: bool = False
    can_embed: bool = False
    can_adapt: bool = False
    can_see: bool = False
    context_tokens: int = 4096
    useful_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Picture:
    """A picture that `vedette.pictures.load` has found whole and not too large.

    `data` is the file as it was given. Width and height are as it is meant to be seen: an EXIF
    orientation is taken into account.
    """

    data: bytes = field(repr=False)
    format: PictureFormat
    sha256: str
    width_px: int
    height_px: int

    @property
    def media_type(self) -> str:
        """As in a `Content-Type`."""
        return f"image/{self.format}"


@dataclass(frozen=True, slots=True)
class Placed:
    """A picture in a text: it stands before the character of this number."""

    at: int
    picture: Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How an item's text was read off a picture; it becomes `picture` in the result line.

    `confidence` is the reader's own, the mean over the characters, from 0 to 1; None where there
    was nothing to read. `unsure_lines` were left out. Read by the `projector`, the picture itself
    is shown to the model, and there is nothing more to tell.
    """

    sha256: str
    text: str = ""
    lines: int = 0
    confidence: float | None = None
    unsure_lines: int = 0
    read_by: Literal["ocr", "projector"] = "ocr"

    def as_dict(self) -> dict[str, Json]:
        """For the result line."""
        if self.read_by == "projector":
            return {"sha256": self.sha256, "read_by": self.read_by}
        told: dict[str, Json] = {
            "sha256": self.sha256,
            "read_by": self.read_by,
            "lines": self.lines,
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "text": self.text,
        }
        if self.unsure_lines:
            told["unsure_lines"] = self.unsure_lines
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One input of a task: id (as given, or its 1-based number), text, other columns.

    `picture` is one that has not been read yet: the text is still to come. `reading` says that
    the text was read off one; with a `picture` too, that this is shown and the text is its mark.
    """

    id: str
    text: str
    columns: Mapping[str, Json] = field(default_factory=dict)
    picture: Picture | None = None
    reading: Reading | None = None

    @property
    def picture_sha256(self) -> str | None:
        """Hash of the picture that the text comes from, if it does."""
        if self.picture is not None:
            return self.picture.sha256
        return None if self.reading is None else self.reading.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a task says about one item. `extra` holds further keys of the result line."""

    value: Json
    usage: Usage = field(default_factory=Usage)
    extra: Mapping[str, Json] = field(default_factory=dict)
