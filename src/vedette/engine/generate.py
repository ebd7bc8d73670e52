"""A text to be generated: sample, force, stop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.errors import BudgetTooSmall, ConstraintFailed
from vedette.types import Completion, FinishReason, Request, TokenLogprob

from .constraint.matcher import Matcher
from .llama.context import Context
from .llama.sampler import SamplerChain
from .sampling import greedy, log_softmax_at, mask_in_place
from .sequence import Sequence
from .stops import StopScanner
from .ticket import Ticket
from .tokens import Detokenizer, Tokenizer


class Generation:
    """Implements `sequence.Work` for a `Request`."""

    def __init__(
        self,
        request: Request,
        ticket: Ticket[Completion],
        tokenizer: Tokenizer,
        eog_tokens: frozenset[int],
        matcher: Matcher | None,
        *,
        use_forced: bool = True,
    ) -> None:
        self.request = request
        self.ticket = ticket
        self.matcher = matcher
        self.mask: NDArray[np.int32] | None = None  # this step's row, set by the loop
        self.context: Context | None = None  # likewise
        self._tokenizer = tokenizer
        self._eog = eog_tokens
        self._use_forced = use_forced and matcher is not None
        self._chain = self._make_chain(request, tokenizer.n_vocab)
        self._text = Detokenizer()
        self._stops = StopScanner(request.stop)
        self._pieces: list[str] = []
        self._logprobs: list[TokenLogprob] = []
        self._n_forced = 0
        self._n_sampled = 0
        self._ended: FinishReason | None = None

    @staticmethod
    def _make_chain(request: Request, n_vocab: int) -> SamplerChain | None:
        sampling = request.sampling
        plain_greedy = sampling.temperature <= 0 and sampling.repeat_penalty == 1.0
        return None if plain_greedy else SamplerChain(sampling, n_vocab)

    @property
    def cancelled(self) -> bool:
        """Whether the caller has asked for the end."""
        return self.ticket.cancelled

    def begin(self, sequence: Sequence) -> None:
        """Append what the grammar forces before anything is sampled."""
        self._force(sequence)
        self._aim(sequence)

    def settle(self, sequence: Sequence, rows: NDArray[np.float32], first_index: int) -> None:
        """Sample from the last row, then force; earlier rows are only for logprobs."""
        if self.request.logprobs:
            self._record_known(sequence, rows)
            sequence.logits_from = sequence.n_cached
        if sequence.n_pending:
            return
        if self._ended:
            self._answer(sequence, self._ended)
            return
        row = rows[-1]
        token, logprob, gap = self._choose(row, first_index + len(rows) - 1)
        self._n_sampled += 1
        if token in self._eog:
            self._finish(sequence, "stop")
            return
        sequence.tokens.append(token)
        if self.request.logprobs:
            text = self._tokenizer.piece(token).decode("utf-8", "replace")
            self._logprobs.append(
                TokenLogprob(token_id=token, text=text, logprob=logprob, runner_up_gap=gap)
            )
        self._took(sequence, token)
        if not self._ended:
            self._force(sequence)
        self._aim(sequence)

    def _choose(self, row: NDArray[np.float32], batch_index: int) -> tuple[int, float, float]:
        """Token, its log-probability before the constraint, and the gap to the runner-up."""
        if self.matcher is not None:
            self.matcher.check()
            if self.mask is None:
                raise ConstraintFailed("there is no mask for a constrained request")
        if self._chain is None:
            token = greedy(row, self.mask)
            if not self.request.logprobs:
                return token, 0.0, 0.0
            logprob = log_softmax_at(row, [token])[0]
            mask_in_place(row, self.mask)
            best, second = np.partition(row, -2)[-2:][::-1]
            return token, logprob, float(best - second)
        raw = row.copy() if self.request.logprobs else None
        mask_in_place(row, self.mask)
        assert self.context is not None
        token = self._chain.sample(self.context, batch_index)
        return token, 0.0 if raw is None else log_softmax_at(raw, [token])[0], 0.0

    def _took(self, sequence: Sequence, token: int) -> None:
        """A token has become part of the answer: text, stops, constraint, budget."""
        if self.matcher is not None:
            self.matcher.accept(token)
        text = self._stops.push(self._text.push(self._tokenizer.piece(token)))
        self._emit(text)
        if self._stops.hit or (self.matcher is not None and self.matcher.must_end):
            self._finish(sequence, "stop")
        elif len(sequence.tokens) - sequence.n_prompt >= self.request.max_tokens:
            self._finish(sequence, "length")

    def _force(self, sequence: Sequence) -> None:
        if not self._use_forced or self.matcher is None:
            return
        for token in self.matcher.forced():
            sequence.tokens.append(token)
            self._n_forced += 1
            if self._chain is not None:
                self._chain.accept(token)
            self._took(sequence, token)
            if self._ended:
                return

    def _aim(self, sequence: Sequence) -> None:
        """Logits are wanted of the last token; of every pending one where logprobs are asked."""
        first = max(sequence.n_prompt - 1, sequence.n_cached)
        sequence.logits_from = first if self.request.logprobs else len(sequence.tokens) - 1

    def _record_known(self, sequence: Sequence, rows: NDArray[np.float32]) -> None:
        """A row whose next token is there already belongs to a forced one."""
        first = sequence.n_cached - len(rows)
        for row, token in zip(rows, sequence.tokens[first + 1 :], strict=False):
            self._logprobs.append(
                TokenLogprob(
                    token_id=token,
                    text=self._tokenizer.piece(token).decode("utf-8", "replace"),
                    logprob=log_softmax_at(row, [token])[0],
                    runner_up_gap=0.0,
                    forced=True,
                )
            )

    def _emit(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self.ticket.push(text)

    def _finish(self, sequence: Sequence, reason: FinishReason) -> None:
        self._ended = reason
        if not self._stops.hit:
            self._emit(self._stops.push(self._text.finish()) + self._stops.finish())
        elif self.matcher is not None and not self.matcher.is_whole("".join(self._pieces)):
            raise ConstraintFailed(
                "a stop string cut the answer before it was legal",
                hint="leave stop out: a constrained answer ends where its grammar ends",
            )
        if reason == "length" and self.matcher is not None and not self.matcher.may_end:
            raise BudgetTooSmall(
                f"the answer did not reach a legal end within max_tokens = "
                f"{self.request.max_tokens}",
                hint="raise max_tokens, or bound the strings and arrays of the schema",
            )
        n_known = len(sequence.tokens) - sequence.n_prompt
        if not self.request.logprobs or len(self._logprobs) == n_known:
            self._answer(sequence, reason)
        # Otherwise the last tokens were forced, and their logits are still to come.

    def _answer(self, sequence: Sequence, reason: FinishReason) -> None:
        text = "".join(self._pieces)
        if self.matcher is not None:
            self.matcher.check_answer(text)
        sequence.finished = True
        self.close()
        self.ticket.settle(
            Completion(
                text=text,
                finish_reason=reason,
                usage=sequence.usage(self._n_forced, self._n_sampled),
                timings=sequence.timings(),
                logprobs=tuple(self._logprobs),
                report=self.matcher.report if self.matcher else None,
            )
        )

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        self.close()
        self.ticket.settle(None, error)

    def close(self) -> None:
        """Free the sampler chain."""
        if self._chain is not None:
            self._chain.close()
