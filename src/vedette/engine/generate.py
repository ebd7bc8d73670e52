"""A text to be generated: sample, force, stop."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vedette.errors import BudgetTooSmall, ConstraintFailed
from vedette.types import Completion, Cut, FinishReason, Request, TokenLogprob

from .constraint.matcher import Matcher
from .llama.context import Context
from .llama.sampler import SamplerChain
from .loops import LoopDetector
from .sampling import greedy, log_softmax_at, mask_in_place
from .sequence import Sequence
from .steering import Steering
from .stops import StopScanner
from .thinking import Thinking
from .ticket import Ticket
from .tokens import Detokenizer, Tokenizer

MOST_LOOPS = 3
"""So many loops are ended one by one; with another one the whole answer ends."""


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
        thinking: Thinking | None = None,
        use_forced: bool = True,
    ) -> None:
        self.request = request
        self.ticket = ticket
        self.matcher = None if thinking else matcher  # what holds now; none while thinking
        self._constraint = matcher
        self._thinking = thinking
        self._thought = ""
        self._answer_from = 0  # where the answer begins among the sequence's tokens
        self.mask: NDArray[np.int32] | None = None  # this step's row, set by the loop
        self.context: Context | None = None  # likewise
        self._tokenizer = tokenizer
        self._eog = eog_tokens
        self._use_forced = use_forced
        self._chain = self._make_chain(request, tokenizer.n_vocab)
        self._text = Detokenizer()
        self._stops = StopScanner(request.stop)
        self._pieces: list[str] = []
        self._logprobs: list[TokenLogprob] = []
        self._n_forced = 0
        self._n_sampled = 0
        self._ended: FinishReason | None = None
        self._cut: Cut | None = None
        self._n_broken = 0
        self._steering: Steering | None = None
        self._loops = LoopDetector(request.prompt) if matcher is not None else None

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
        """Append what the grammar forces before anything is sampled.

        Raises `BudgetTooSmall` where no answer can be as short as `max_tokens`.
        """
        if self._constraint is not None:
            self._steering = Steering(self._constraint, self.request.max_tokens)
        self._answer_from = sequence.n_prompt
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
        if self._breaks_loop(row, sequence):
            self._aim(sequence)
            return
        token, logprob, gap = self._choose(row, first_index + len(rows) - 1)
        if self._thinking is not None:
            self._think(self._thinking, token, logprob, gap, sequence)
            self._aim(sequence)
            return
        if token in self._eog:
            self._n_sampled += 1
            self._finish(sequence, "stop")
            return
        if self._must_end_instead_of(token, sequence):
            self._aim(sequence)
            return
        self._append_sampled(token, logprob, gap, sequence)
        self._took(sequence, token)
        if not self._ended:
            self._force(sequence)
        self._aim(sequence)

    def _append_sampled(self, token: int, logprob: float, gap: float, sequence: Sequence) -> None:
        self._n_sampled += 1
        sequence.tokens.append(token)
        if self.request.logprobs:
            text = self._tokenizer.piece(token).decode("utf-8", "replace")
            self._logprobs.append(
                TokenLogprob(token_id=token, text=text, logprob=logprob, runner_up_gap=gap)
            )

    def _think(
        self, thinking: Thinking, token: int, logprob: float, gap: float, sequence: Sequence
    ) -> None:
        """One token more of the thought, or its end; the constraint holds from there on."""
        closed = False
        if token not in self._eog and not thinking.is_spent:
            self._append_sampled(token, logprob, gap, sequence)
            closed = thinking.ends_with(self._tokenizer.special_piece(token))
            if not closed:
                return
        if not closed:
            self._n_forced += len(thinking.close)
            sequence.tokens.extend(thinking.close)
        self._thinking, self._thought = None, thinking.text
        self._answer_from = len(sequence.tokens)
        self.matcher = self._constraint
        self._force(sequence)

    def _breaks_loop(self, row: NDArray[np.float32], sequence: Sequence) -> bool:
        """End what the answer repeats over and over: the string or list, else the whole."""
        if self.matcher is None or self._loops is None or self.mask is None:
            return False
        answer = sequence.tokens[self._answer_from :]
        if not self._loops.finds(answer, lambda: "".join(self._pieces)):
            return False
        closing = self.matcher.closing(self.mask)
        if not closing.size and self.matcher.report is not None:
            return False  # the schema wants more of it
        if closing.size and self._n_broken < MOST_LOOPS:
            self._n_broken += 1
            self._cut = "loop"
            token = int(closing[row[closing].argmax()])
            self._append_known((token,), sequence)
            if not self._ended:
                self._force(sequence)
            return True
        way = self.matcher.ending(self.request.max_tokens - len(answer))
        if way is not None:
            self._end_on(way, sequence, "loop")
        return way is not None

    def _must_end_instead_of(self, token: int, sequence: Sequence) -> bool:
        """End the answer on the shortest way, if the token would leave no budget for an end."""
        if self._steering is None:
            return False
        n_left = self.request.max_tokens - (len(sequence.tokens) - self._answer_from)
        way = self._steering.ending_instead_of(token, n_left)
        if way is None:
            return False
        self._end_on(way, sequence, "budget")
        return True

    def _end_on(self, way: tuple[int, ...], sequence: Sequence, why: Cut) -> None:
        """Write these tokens, which make the answer legal, and end it."""
        self._cut = why
        self._append_known(way, sequence)
        if not self._ended:
            self._finish(sequence, "length" if why == "budget" else "stop")

    def _append_known(self, tokens: Iterable[int], sequence: Sequence) -> None:
        for token in tokens:
            sequence.tokens.append(token)
            self._n_forced += 1
            if self._chain is not None:
                self._chain.accept(token)
            self._took(sequence, token)
            if self._ended:
                return

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
        elif len(sequence.tokens) - self._answer_from >= self.request.max_tokens:
            self._finish(sequence, "length")

    def _force(self, sequence: Sequence) -> None:
        if not self._use_forced or self.matcher is None:
            return
        tokens = self.matcher.forced()
        if self._steering is not None:
            self._steering.took_forced(len(tokens))
        self._append_known(tokens, sequence)

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
        if reason == "length" and self.matcher is not None:
            self._cut = self._cut or "budget"
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
                cut=self._cut,
                thought=self._thought,
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
