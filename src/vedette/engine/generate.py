"""A text to be generated: sample, force, stop."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vedette.errors import BudgetTooSmall, ConstraintFailed
from vedette.types import Completion, Cut, FinishReason, Request

from .answer_text import AnswerText
from .choose import Choice, Chooser
from .constraint.json_schema import Fault
from .constraint.matcher import MaskTable, Matcher
from .early_end import EarlyEnd, Way
from .llama.context import Context
from .prefix import n_common
from .repair import Repair
from .sampling import forbid
from .sequence import Sequence
from .speculation.guessing import Guessing
from .thinking import Thinking
from .ticket import Ticket
from .tokens import Tokenizer
from .trace import Trace


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
        guessing: Guessing,
        thinking: Thinking | None = None,
        use_forced: bool = True,
    ) -> None:
        self.request = request
        self.ticket = ticket
        self.guessing = guessing
        self.matcher = None if thinking else matcher  # what holds now; none while thinking
        self._constraint = matcher
        self._thinking = thinking
        self._thought = ""
        self._answer_from = 0  # where the answer begins among the sequence's tokens
        self.mask: NDArray[np.int32] | None = None  # this step's row, set by the loop
        self.context: Context | None = None  # likewise
        self.masks: MaskTable | None = None  # likewise
        self._tokenizer = tokenizer
        self._eog = eog_tokens
        self._use_forced = use_forced
        self._chooser = Chooser(request.sampling, tokenizer.n_vocab, logprobs=request.logprobs)
        # What is only checked at the end may be rewritten until then.
        self._may_rewrite = matcher is not None and not matcher.is_final
        self._text = AnswerText(request.stop, ticket.push, hold=self._may_rewrite)
        self._repair = Repair()
        self._sampled_at: list[int] = []  # places in the answer, in tokens
        self._trace = Trace(tokenizer, wanted=request.logprobs, n_top=request.top_logprobs)
        if not self._may_rewrite:
            ticket.logprobs = self._trace.entries
        self._n_forced = 0
        self._n_sampled = 0
        self._ended: FinishReason | None = None
        self._cut: Cut | None = None
        self._early_end: EarlyEnd | None = None

    @property
    def has_ended(self) -> bool:
        """Nothing more is to be written: only logits of what is written may be wanted."""
        return self._ended is not None

    @property
    def cancelled(self) -> bool:
        """Whether the caller has asked for the end."""
        return self.ticket.cancelled

    def begin(self, sequence: Sequence) -> None:
        """Append what the grammar forces before anything is sampled.

        Raises `BudgetTooSmall` where no answer can be as short as `max_tokens`.
        """
        if self._constraint is not None:
            self._early_end = EarlyEnd(self._constraint, self.request)
        self._answer_from = sequence.n_prompt
        self._force(sequence)
        self._go_on(sequence)

    def settle(self, sequence: Sequence, rows: NDArray[np.float32], first_index: int) -> None:
        """Sample from the row of the last token, force, and check the guesses behind it.

        Rows of earlier tokens are only for logprobs.
        """
        n_known = len(rows) - len(sequence.guesses)
        if self.request.logprobs:
            first = sequence.n_cached - n_known
            self._trace.known(rows[:n_known], sequence.tokens[first + 1 :])
            sequence.logits_from = sequence.n_cached
        if sequence.n_pending:
            return
        if self._ended is None:
            self._advance(sequence, rows[n_known - 1], first_index + n_known - 1, 0)
            self._check_guesses(sequence, rows[n_known:], first_index + n_known)
        self._go_on(sequence)

    def _check_guesses(
        self, sequence: Sequence, rows: NDArray[np.float32], first_index: int
    ) -> None:
        """Go on over the guesses for as long as they are what is written anyway.

        `rows` are those behind each guess. Every token is chosen as it would be without guesses,
        by the whole chain and from the same logits, and then compared; so the answer is the same.
        Where a guess was drawn at random, its distribution is.
        """
        guesses, n_right, n_decided = sequence.guesses, 0, 1
        n_before = sequence.n_cached
        while True:
            new = sequence.tokens[sequence.n_cached :]
            n_same = n_common(new, guesses[n_right:])
            if self.request.logprobs:
                self._trace.known(rows[n_right : n_right + n_same], new[1:])
            n_right += n_same
            sequence.n_cached += n_same
            if not n_same or sequence.n_pending or self._ended is not None:
                break
            if self.matcher is not None and self.masks is not None:
                self.mask = self.masks.one(self.matcher)
            self._advance(sequence, rows[n_right - 1], first_index + n_right - 1, n_right)
            n_decided += 1
        if n_right < len(guesses):
            assert self.context is not None
            self.context.truncate(sequence.seq_id, sequence.n_cached)
        n_tokens = len(sequence.tokens) - n_before
        self.guessing.took(len(guesses), n_right, n_tokens, n_decided)

    def _advance(
        self, sequence: Sequence, row: NDArray[np.float32], batch_index: int, n_guess: int
    ) -> None:
        """Write the next token, whatever it is, and those that are forced behind it.

        The guess of this number, if there is one, was made for its place.
        """
        self._trace.look_at(row)
        if self._breaks_loop(row, sequence):
            return
        self._check_mask(len(sequence.tokens))
        drawn = self.guessing.drawn(n_guess)
        choice = self._chooser.choose(row, self.mask, self.context, batch_index, drawn)
        if self._thinking is not None:
            self._think(self._thinking, choice, sequence)
        elif choice.token in self._eog:
            self._n_sampled += 1
            self._finish("stop")
        elif not self._must_end_instead_of(choice.token, sequence):
            self._sampled_at.append(len(sequence.tokens) - self._answer_from)
            self._append_sampled(choice, sequence)
            self._took(sequence, choice.token)
            if self._ended is None:
                self._force(sequence)

    def _go_on(self, sequence: Sequence) -> None:
        """Answer if that is over, repaired if need be; else aim at the next logits."""
        n_known = len(sequence.tokens) - sequence.n_prompt
        # Without all entries, the last tokens were forced and their logits are still to come.
        if self._ended is not None and self._trace.is_complete(n_known):
            self._answer(sequence, self._ended)
        if not sequence.finished:
            self._aim(sequence)

    def _append_sampled(self, choice: Choice, sequence: Sequence) -> None:
        self._n_sampled += 1
        sequence.tokens.append(choice.token)
        self._trace.chosen(choice.token, choice.logprob, choice.gap)

    def _think(self, thinking: Thinking, choice: Choice, sequence: Sequence) -> None:
        """One token more of the thought, or its end; the constraint holds from there on."""
        closed = False
        if choice.token not in self._eog and not thinking.is_spent:
            self._append_sampled(choice, sequence)
            closed = thinking.ends_with(self._tokenizer.special_piece(choice.token))
            if not closed:
                return
        if not closed:
            self._n_forced += len(thinking.close)
            self._trace.put_instead(thinking.close[0])
            sequence.tokens.extend(thinking.close)
        self._thinking, self._thought = None, thinking.text
        self._answer_from = len(sequence.tokens)
        self.matcher = self._constraint
        self._force(sequence)

    def _breaks_loop(self, row: NDArray[np.float32], sequence: Sequence) -> bool:
        """End what the answer repeats over and over."""
        if self.matcher is None or self._early_end is None or self.mask is None:
            return False
        answer = sequence.tokens[self._answer_from :]
        way = self._early_end.of_loop(answer, lambda: self._text.whole, row, self.mask)
        return way is not None and self._write_instead(way, sequence)

    def _must_end_instead_of(self, token: int, sequence: Sequence) -> bool:
        """End the answer on the shortest way, if the token would leave no budget for an end."""
        if self._early_end is None:
            return False
        n_left = self.request.max_tokens - (len(sequence.tokens) - self._answer_from)
        way = self._early_end.of_budget(token, n_left)
        return way is not None and self._write_instead(way, sequence)

    def _write_instead(self, way: Way, sequence: Sequence) -> bool:
        """Write what ends the answer, or what it would repeat; True, for it is done."""
        self._cut = way.cut
        if way.tokens:
            self._trace.put_instead(way.tokens[0])
        self._append_known(way.tokens, sequence)
        if self._ended is None:
            if way.is_whole:
                self._finish("length" if way.cut == "budget" else "stop")
            else:
                self._force(sequence)
        return True

    def _append_known(self, tokens: Iterable[int], sequence: Sequence) -> None:
        for token in tokens:
            sequence.tokens.append(token)
            self._n_forced += 1
            self._chooser.accept(token)
            self._took(sequence, token)
            if self._ended:
                return

    def _check_mask(self, place: int) -> None:
        """Raise unless there is a mask where there must be one; bans of a repair go into it."""
        if self.matcher is not None:
            self.matcher.check()
            if self.mask is None:
                raise ConstraintFailed("there is no mask for a constrained request")
            forbid(self.mask, self._repair.banned_at(place - self._answer_from))

    def _took(self, sequence: Sequence, token: int) -> None:
        """A token has become part of the answer: text, stops, constraint, budget."""
        if self.matcher is not None:
            self.matcher.accept(token)
        self._text.add(self._tokenizer.piece(token))
        if self._text.is_stopped or (self.matcher is not None and self.matcher.must_end):
            self._finish("stop")
        elif len(sequence.tokens) - self._answer_from >= self.request.max_tokens:
            self._finish("length")

    def _force(self, sequence: Sequence) -> None:
        if not self._use_forced or self.matcher is None:
            return
        tokens = self.matcher.forced()
        if self._early_end is not None:
            self._early_end.took_forced(len(tokens))
        self._append_known(tokens, sequence)

    def _aim(self, sequence: Sequence) -> None:
        """Logits are wanted of the last token; of every pending one where logprobs are asked."""
        first = max(sequence.n_prompt - 1, sequence.n_cached)
        sequence.logits_from = first if self.request.logprobs else len(sequence.tokens) - 1

    def _finish(self, reason: FinishReason) -> None:
        """The answer is over. Raises what makes it none."""
        self._ended = reason
        self._text.finish()
        if self.matcher is None:
            return
        if self._text.is_stopped and not self.matcher.is_whole(self._text.whole):
            raise ConstraintFailed(
                "a stop string cut the answer before it was legal",
                hint="leave stop out: a constrained answer ends where its grammar ends",
            )
        if reason == "length":
            if not self.matcher.may_end:
                raise BudgetTooSmall(
                    f"the answer did not reach a legal end within max_tokens = "
                    f"{self.request.max_tokens}",
                    hint="raise max_tokens, or bound the strings and arrays of the schema",
                )
            self._cut = self._cut or "budget"

    def _answer(self, sequence: Sequence, reason: FinishReason) -> None:
        """Hand out the answer, unless it has a fault and can be rewritten."""
        text = self._text.whole
        fault = self.matcher.fault_of(text) if self.matcher is not None else None
        if fault is not None:
            if self._rewrites(sequence, fault):
                return
            raise ConstraintFailed(
                f"the answer does not fit the schema: {fault}",
                hint="`vedette schema check` tells what is only checked on the answer",
            )
        self._text.release()
        sequence.finished = True
        self.close()
        self.ticket.settle(
            Completion(
                text=text,
                finish_reason=reason,
                usage=sequence.usage(self._n_forced, self._n_sampled),
                timings=sequence.timings(),
                logprobs=tuple(self._trace.entries),
                report=self.matcher.report if self.matcher else None,
                cut=self._cut,
                thought=self._thought,
                speculation=self.guessing.report(),
            )
        )

    def _rewrites(self, sequence: Sequence, fault: Fault) -> bool:
        """Take the answer back to the value that is wrong, to write it differently."""
        if not self._may_rewrite or self.context is None or self.matcher is None:
            return False
        tokens = sequence.tokens[self._answer_from :]
        pieces = [self._tokenizer.piece(token) for token in tokens]
        index = self._repair.token_to_change(fault, self._text.whole, pieces, self._sampled_at)
        if index is None:
            return False
        # The token before is decoded again, since its logits are wanted.
        keep = self._answer_from + index
        n_cached = min(sequence.n_cached, keep - 1)
        if not self.context.truncate(sequence.seq_id, n_cached):
            return False
        self._repair.ban(index, tokens[index])
        del sequence.tokens[keep:]
        self._trace.cut(keep - sequence.n_prompt)
        sequence.n_cached = n_cached
        self._sampled_at = [at for at in self._sampled_at if at < index]
        self.matcher.restart(tokens[:index])
        self._chooser.restart(tokens[:index])
        self._text.restart(pieces[:index])
        if self._early_end is not None:
            self._early_end.restart()
        self._ended, self._cut = None, None
        return True

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        self.close()
        self.ticket.settle(None, error)

    def close(self) -> None:
        """Free the sampler chain."""
        self._chooser.close()
