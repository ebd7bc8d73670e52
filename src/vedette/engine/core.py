"""The in-process engine: requests in, handles out. Knows tokens, not tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import overload

import psutil

from vedette.errors import EngineFailed, InputError, InputTooLong
from vedette.models.adapter_file import AdapterFile
from vedette.models.gguf_header import read_header
from vedette.models.projector_file import check_model, read_projector
from vedette.types import (
    AdapterScales,
    AnyRequest,
    Completion,
    Embedding,
    EmbedRequest,
    Prompt,
    Request,
    ScoreRequest,
    Scores,
)

from .adapters import Adapters
from .call_form import CallForm, spelt_form
from .constraint.compiler import Compiler
from .embed import EmbedWork
from .generate import Generation
from .llama.adapter import AdapterSet
from .llama.model import Model
from .loop import Loop
from .options import EngineOptions, check_request
from .penalties import check_tokens
from .score import ChoiceTrie, RootWork, Scoring
from .sequence import Sequence
from .sight import Sight
from .speculation.guessing import Guessing
from .speculation.policy import Policy
from .speculation.vocabulary import check_same_vocabulary
from .stats import EngineStats
from .thinking import Thinking, limit_of
from .ticket import Ticket
from .tokens import PromptTokens, Tokenizer

# Of the memory that is free when the engine starts, the part that a KV cache may take.
_MEMORY_SHARE = 0.5

WHOLE_PICTURE_TOKENS = 512
"""Room in a step where a picture cannot be cut into several."""


class EngineCore:
    """A model, a cache and the loop over them. Use as a context manager, or call `close`.

    Raises `ModelNotFound`, `ModelCorrupt`, `ProjectorRefused` or `EngineFailed` when it cannot
    start.
    """

    def __init__(self, path: Path, options: EngineOptions | None = None) -> None:
        self.options = options or EngineOptions()
        self.model = Model(path)
        self._sight: Sight | None = None
        self._compiler: Compiler | None = None
        self._compiler_lock = threading.Lock()
        self._eog = frozenset(self.model.eog_tokens)
        self._users = threading.Condition()
        self._n_users = 0
        self._closed = False
        try:
            self._sight = self._open_sight()
            self.tokenizer = Tokenizer(self.model, self._sight)
            draft = self._open_draft()
            self._loop = Loop(self.model, self.options, self._max_cells(), draft)
            self._adapters = Adapters(self.model, self._loop.errands)
        except BaseException:
            self._close_model()
            raise

    def _open_sight(self) -> Sight | None:
        """What shows the model pictures. Raises `ProjectorRefused`."""
        path = self.options.mmproj
        if path is None:
            return None
        check_model(read_projector(path), read_header(self.model.path), self.model.path.name)
        from .llama.vision import Projector  # it loads a library of its own

        projector = Projector(self.model, path, threads=self.options.threads)
        if projector.shows_whole:
            n_least = max(self.options.batch_tokens, WHOLE_PICTURE_TOKENS)
            self.options = replace(self.options, batch_tokens=n_least)
        return Sight(projector)

    def _close_model(self) -> None:
        if self._sight is not None:
            self._sight.close()
        self.model.close()

    def _open_draft(self) -> Model | None:
        """The model that guesses. Raises `InputError` for one of another vocabulary."""
        if self.options.draft is None:
            return None
        draft = Model(self.options.draft)
        try:
            check_same_vocabulary(self.model, draft)
            if draft.memory_kind in ("recurrent", "hybrid"):
                raise InputError(
                    f"{draft.path.name} cannot guess: a {draft.memory_kind} memory cannot take "
                    "back a wrong guess",
                    hint="take a draft with attention in all its layers",
                )
        except BaseException:
            draft.close()
            raise
        return draft

    def _max_cells(self) -> int:
        wanted = self.options.max_context_tokens or self.model.train_context_tokens
        in_memory = psutil.virtual_memory().available * _MEMORY_SHARE
        fits = int(in_memory / self.model.kv_bytes_per_token(self.options.kv_type))
        return max(256, min(wanted, self.model.train_context_tokens, fits))

    @property
    def max_context_tokens(self) -> int:
        """Room for one request: prompt and answer together."""
        return self._loop.max_cells

    @property
    def sees(self) -> bool:
        """Whether prompts may hold pictures."""
        return self._sight is not None

    @property
    def stats(self) -> EngineStats:
        """Running totals."""
        return self._loop.stats

    @property
    def n_waiting(self) -> int:
        """Requests that wait for a place."""
        return self._loop.n_waiting

    @property
    def n_running(self) -> int:
        """Sequences that are read or written at once; a closed question can be several."""
        return self._loop.n_running

    @property
    def compiler(self) -> Compiler:
        """The constraint compiler; building its vocabulary takes about a second, so on demand."""
        with self._compiler_lock:
            if self._compiler is None:
                self._compiler = Compiler(self.model)
            return self._compiler

    @cached_property
    def call_form(self) -> CallForm | None:
        """How the model writes calls of tools; None where its template knows none.

        Raises `EngineFailed` when the engine is closed.
        """
        with self._in_use():
            texts = self.tokenizer.call_texts
            if texts is None:
                return None
            return spelt_form(
                texts,
                partial(self.tokenizer.encode_text, special=True),
                self.tokenizer.piece,
                self.compiler.written,
            )

    @overload
    def submit(self, request: Request) -> Ticket[Completion]: ...
    @overload
    def submit(self, request: ScoreRequest) -> Ticket[Scores]: ...
    @overload
    def submit(self, request: EmbedRequest) -> Ticket[Embedding]: ...
    def submit(
        self, request: AnyRequest
    ) -> Ticket[Completion] | Ticket[Scores] | Ticket[Embedding]:
        """Queue a request. Raises `InputError` at once for one that can never be met."""
        with self._in_use():
            adapters = self._adapters.take(request.adapters)
            try:
                ticket = self._submit(request, adapters)
            except BaseException:
                self._adapters.release(adapters)
                raise
            ticket.on_done(partial(self._adapters.release, adapters))
            return ticket

    def _submit(
        self, request: AnyRequest, adapters: AdapterSet
    ) -> Ticket[Completion] | Ticket[Scores] | Ticket[Embedding]:
        if isinstance(request, ScoreRequest):
            return self._submit_score(request, adapters)
        if isinstance(request, EmbedRequest):
            return self._submit_embed(request, adapters)
        return self._submit_text(request, adapters)

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Hold the model open: `close` waits. Raises `EngineFailed` when it is closed already."""
        with self._users:
            if self._closed:
                raise EngineFailed("the engine is closed")
            self._n_users += 1
        try:
            yield
        finally:
            with self._users:
                self._n_users -= 1
                self._users.notify_all()

    def _encode(self, prompt: Prompt, *, think: bool = False) -> PromptTokens:
        tokens = self.tokenizer.encode(prompt, think=think)
        if not tokens.ids:
            raise InputError("the prompt is empty", hint="give it at least one character")
        if tokens.shown and tokens.shown[-1].end == len(tokens.ids):
            raise InputError("the prompt ends with a picture", hint="let some text follow it")
        most = self.options.batch_tokens
        whole = next((len(s.vectors) for s in tokens.shown if s.vectors.is_whole), 0)
        if whole > most:
            raise InputTooLong(
                f"a picture takes {whole} positions, which go into one step, and that has {most}",
                hint="raise batch_tokens",
            )
        return tokens

    def check(self, request: AnyRequest) -> None:
        """Compile the constraint or the choices without running anything. Raises `InputError`."""
        self.check_adapters(request.adapters)
        self.tokenizer.encode(request.prompt)
        if isinstance(request, ScoreRequest):
            self._trie(request.choices)
        elif isinstance(request, Request) and request.constraint:
            self.compiler.matcher(request.constraint)

    def check_adapters(self, asked: AdapterScales) -> None:
        """Raise `InputError` unless a request may name these adapters."""
        self._adapters.check(asked)

    def add_adapter(self, name: str, path: Path) -> AdapterFile:
        """Load a LoRA adapter that requests may name; see `Adapters.add`."""
        with self._in_use():
            return self._adapters.add(name, path)

    def remove_adapter(self, name: str) -> int:
        """Take an adapter away; see `Adapters.remove`."""
        with self._in_use():
            return self._adapters.remove(name)

    @property
    def adapters(self) -> dict[str, AdapterFile]:
        """The adapters that requests may name."""
        return self._adapters.loaded

    def _trie(self, choices: tuple[str, ...]) -> ChoiceTrie:
        return ChoiceTrie(choices, tuple(tuple(self.tokenizer.encode_text(c)) for c in choices))

    def _submit_text(self, request: Request, adapters: AdapterSet) -> Ticket[Completion]:
        check_request(request)
        check_tokens(request.sampling, self.tokenizer.n_vocab)
        thinking = self._thinking(request)
        prompt = self._encode(request.prompt, think=thinking is not None)
        matcher = self.compiler.matcher(request.constraint) if request.constraint else None
        ticket: Ticket[Completion] = Ticket()
        n_most = request.max_tokens + (thinking.most_tokens if thinking else 0)
        work = Generation(
            request,
            ticket,
            self.tokenizer,
            self._eog,
            matcher,
            guessing=self._guessing(request),
            thinking=thinking,
            use_forced=self.options.use_forced,
        )
        sequence = Sequence(
            work=work,
            tokens=prompt.ids,
            n_prompt=len(prompt.ids),
            n_total=len(prompt.ids) + n_most,
            n_shared=prompt.n_shared,
            shown=prompt.shown,
            deadline=_deadline(request.deadline_s),
            adapters=adapters,
        )
        try:
            work.begin(sequence)
            if not sequence.finished:
                self._loop.submit(sequence)
        except BaseException:
            work.close()
            raise
        return ticket

    def _guessing(self, request: Request) -> Guessing:
        """How tokens are guessed for this answer. Raises `InputError` for what cannot be."""
        policy = Policy.of(request.speculate or self.options.speculate)
        if self.model.memory_kind in ("recurrent", "hybrid"):
            why_not = f"a {self.model.memory_kind} memory cannot take back a wrong guess"
            if policy.kind == "fixed":
                raise InputError(f"speculate is {policy}, but {why_not}")
            return Guessing(Policy("off"), why_not)
        if policy.source == "draft" and self.options.draft is None:
            raise InputError(
                f"speculate is {policy}, but there is no draft model",
                hint="open the engine with one, or take ngram:N",
            )
        return Guessing(policy)

    def _thinking(self, request: Request) -> Thinking | None:
        """The thought before the answer, if one is asked for."""
        limit = limit_of(request.think)
        if limit == 0:
            return None
        if request.prompt.raw is not None or request.prompt.prefill:
            raise InputError("think goes with messages, without raw text and prefill")
        if not self.tokenizer.thinks:
            raise InputError(
                "this model's chat template knows no thoughts", hint="leave think at off"
            )
        return Thinking(limit, self.tokenizer.end_of_thought())

    def _submit_score(self, request: ScoreRequest, adapters: AdapterSet) -> Ticket[Scores]:
        prompt = self._encode(request.prompt)
        trie = self._trie(request.choices)
        ticket: Ticket[Scores] = Ticket()
        sequence = Sequence(
            work=RootWork(Scoring(trie, ticket, self._eog)),
            tokens=prompt.ids,
            n_prompt=len(prompt.ids),
            n_total=len(prompt.ids) + sum(map(len, trie.branches)),
            n_shared=prompt.n_shared,
            shown=prompt.shown,
            logits_from=len(prompt.ids) - 1,
            deadline=_deadline(request.deadline_s),
            adapters=adapters,
        )
        self._loop.submit(sequence)
        return ticket

    def _submit_embed(self, request: EmbedRequest, adapters: AdapterSet) -> Ticket[Embedding]:
        prompt = self._encode(request.prompt)
        ticket: Ticket[Embedding] = Ticket()
        sequence = Sequence(
            work=EmbedWork(ticket),
            tokens=prompt.ids,
            n_prompt=len(prompt.ids),
            n_total=len(prompt.ids),
            n_shared=prompt.n_shared,
            shown=prompt.shown,
            logits_from=len(prompt.ids) - 1,
            deadline=_deadline(request.deadline_s),
            adapters=adapters,
        )
        self._loop.submit(sequence)
        return ticket

    def count_tokens(self, text: str) -> int:
        """Tokens of a plain text. Raises `EngineFailed` when the engine is closed."""
        with self._in_use():
            return self.tokenizer.count(text)

    def tokenize(
        self, text: str, *, special: bool = False, add_bos: bool = False
    ) -> list[tuple[int, bytes]]:
        """The tokens of a text, ids and bytes; see `Tokenizer.encode_text`.

        Raises `EngineFailed` when the engine is closed.
        """
        with self._in_use():
            ids = self.tokenizer.encode_text(text, special=special, add_bos=add_bos)
            return [(token, self.tokenizer.special_piece(token)) for token in ids]

    def detokenize(self, tokens: Iterable[int]) -> str:
        """The text of tokens, control tokens by their spelling, broken characters as U+FFFD.

        Raises `InputError` for a number that is no token, `EngineFailed` when the engine is closed.
        """
        with self._in_use():
            pieces = []
            for token in tokens:
                if not 0 <= token < self.tokenizer.n_vocab:
                    raise InputError(
                        f"{token} is no token: they are 0 to {self.tokenizer.n_vocab - 1}"
                    )
                pieces.append(self.tokenizer.special_piece(token))
            return b"".join(pieces).decode("utf-8", "replace")

    def close(self) -> None:
        """End the loop and free the memory; requests under way fail with `Cancelled`."""
        with self._users:
            self._closed = True
            self._users.wait_for(lambda: self._n_users == 0)
        self._loop.close()
        self._close_model()

    def __enter__(self) -> EngineCore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _deadline(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds
