"""A text of any length in a few sentences of the model's own, held against the text."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from vedette.backends.base import Backend, Result
from vedette.errors import CapabilityMissing, InputError
from vedette.tasks.base import Ask, Steps
from vedette.tasks.budget import check_at_least_1
from vedette.tasks.chunks import LEAST_CHUNK_TOKENS, chunk_limit, chunks, in_waves
from vedette.tasks.compress.leading import leading
from vedette.tasks.compress.selection import select
from vedette.tasks.compress.task import count_in_pieces
from vedette.tasks.grounding import Grounding
from vedette.tasks.prompt_data import fill, load_prompt, text_of, with_instructions
from vedette.tasks.reply import completion_of
from vedette.types import Answer, Completion, Item, Json, Message, Prompt, Request, Sampling, Usage

from .keeper import Keeper, has_end, n_words, written_sentences

WORDS = 100
SAMPLING = Sampling(temperature=0.2, repeat_penalty=1.05, repeat_last_tokens=128)
"""A little chance and a penalty keep a small model from going in circles."""

NOTE_WORDS = (25, 80)
_NOTES_SHARE = 0.7  # of what is read at once, the part that all notes together should take
_TOKENS_PER_WORD = 1.7
_ROUNDS = 8
_NAMED_FAULTS = 3


@dataclass(frozen=True)
class Summarise:
    """Implements `Task`: a summary of at most `words` words, or of `tokens` tokens.

    A character of a script without spaces counts as a word. A text that is longer than a model can
    use is read in parts of `chunk_tokens` (None: see `chunk_limit`), and the notes on these are
    summarised, again in parts where need be; nothing is cut off. Every sentence is held against
    what it is about: see `Keeper`. Where nothing is left the model is asked once more, and if that
    fails, the text's own leading sentences are the answer, which then says `extractive`. Raises
    `InputError` for bounds that cannot be meant.
    """

    words: int = WORDS
    tokens: int | None = None
    instructions: str = ""
    chunk_tokens: int | None = None
    sampling: Sampling = SAMPLING
    name: str = field(default="summarise", init=False)
    keeps_parts: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        check_at_least_1("words", self.words)
        check_at_least_1("tokens", self.tokens)
        if self.tokens is not None and self.words != WORDS:
            raise InputError("give either words or tokens as the bound, not both")
        if self.chunk_tokens is not None and self.chunk_tokens < LEAST_CHUNK_TOKENS:
            raise InputError(
                f"chunk_tokens is {self.chunk_tokens}; it must be at least {LEAST_CHUNK_TOKENS}"
            )

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "prompt": cast(Json, load_prompt("summarise")),
            "instructions": self.instructions,
            "parameters": {
                "words": self.words,
                "tokens": self.tokens,
                "chunk_tokens": self.chunk_tokens,
                "temperature": self.sampling.temperature,
                "repeat_penalty": self.sampling.repeat_penalty,
                "seed": self.sampling.seed,
            },
        }

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_complete:
            raise CapabilityMissing("summarise needs a backend that can write")
        text = item.text
        if not text.strip():
            return Answer(value=None, extra={"empty": True})
        source_tokens = count_in_pieces(text, backend.count_tokens)
        told: dict[str, Json] = {"source_tokens": source_tokens}
        keeper = self.keeper(text, backend)
        if keeper.count(text) <= keeper.most:
            value: dict[str, Json] = {
                "summary": text,
                "words": n_words(text),
                "chunks": 0,
                "dropped": [],
            }
            return Answer(value={**value, **told, "whole": True})
        limit = self._limit(keeper.grounding, backend)
        notes, kind, usage = text, "whole", Usage()
        n_chunks, n_dropped = 1, 0
        if source_tokens > limit:
            kind = "notes"
            notes, n_chunks, n_dropped, usage = yield from self._notes(text, limit, backend)
        ask = self.request(kind, notes, self._target_words, keeper.grounding)
        (result,) = yield [ask]
        usage += result.usage
        take(keeper, completion_of(result))
        if not keeper.kept:
            (result,) = yield [self._again(ask, completion_of(result), keeper)]
            usage += result.usage
            take(keeper, completion_of(result))
        told |= {"chunks": n_chunks, "dropped_notes": n_dropped}
        return Answer(value={**self._value(text, keeper), **told}, usage=usage)

    def keeper(self, text: str, backend: Backend) -> Keeper:
        """What decides which sentences of the last answer stand."""
        if self.tokens is not None:
            return Keeper(Grounding(text), self.tokens, backend.count_tokens)
        return Keeper(Grounding(text), self.words, n_words)

    def is_last(self, asks: Sequence[Ask]) -> bool:
        """Whether this step of `steps` asks for the summary itself, and not for notes."""
        last = asks[0].prompt.messages[1].content if len(asks) == 1 else ""
        starts = (text_of("summarise", f"{kind}{z}") for kind in ("whole", "notes") for z in _BOTH)
        return any(last.startswith(start.partition("{text}")[0]) for start in starts)

    @property
    def _target_words(self) -> int:
        """What the model is asked for: it takes little notice of a bound, so that is checked."""
        if self.tokens is not None:
            return max(5, int(self.tokens / _TOKENS_PER_WORD))
        return self.words

    def request(self, kind: str, text: str, n: int, grounding: Grounding, seed: int = 0) -> Request:
        """One question; in Chinese about a Chinese text."""
        language = _language(grounding)
        system = with_instructions(text_of("summarise", f"system{language}"), self.instructions)
        asked = fill(text_of("summarise", f"{kind}{language}"), text=text, words=str(n))
        return Request(
            prompt=Prompt((Message("system", system), Message("user", asked)), shared_messages=1),
            max_tokens=_answer_tokens(n),
            sampling=replace(self.sampling, seed=self.sampling.seed + seed),
        )

    def _again(self, ask: Request, said: Completion, keeper: Keeper) -> Request:
        """The same once more, with what was wrong."""
        language = _language(keeper.grounding)
        faults = " ".join(dict.fromkeys(fault for _, fault in keeper.faults[:_NAMED_FAULTS]))
        why = fill(text_of("summarise", f"again{language}"), faults=faults)
        turns = (Message("assistant", said.text), Message("user", why))
        return replace(
            ask,
            prompt=replace(ask.prompt, messages=(*ask.prompt.messages, *turns)),
            sampling=replace(ask.sampling, seed=ask.sampling.seed + 1),
        )

    def _limit(self, grounding: Grounding, backend: Backend) -> int:
        """Tokens that are read at once; room is left for an answer and for asking again."""
        request = self.request("notes", "", self._target_words, grounding)
        around = [message.content for message in request.prompt.messages]
        answer = 2 * _answer_tokens(max(self._target_words, NOTE_WORDS[1]))
        return chunk_limit(self.chunk_tokens, around, answer, backend)

    def _notes(
        self, text: str, limit: int, backend: Backend
    ) -> Generator[Sequence[Ask], Sequence[Result], tuple[str, int, int, Usage]]:
        """Notes on the parts that can be read at once; with the parts, lost sentences and usage."""
        usage, n_parts, n_dropped = Usage(), 0, 0
        for _ in range(_ROUNDS):
            n_tokens = count_in_pieces(text, backend.count_tokens)
            if n_tokens <= limit:
                break
            parts = chunks(text, backend.count_tokens, most_tokens=limit)
            said = [text[part.start : part.end] for part in parts]
            groundings = [Grounding(one) for one in said]
            n = _note_words(limit, len(parts))
            asks = [
                self.request("part", one, n, grounding)
                for one, grounding in zip(said, groundings, strict=True)
            ]
            results = yield from in_waves(asks)
            n_parts = n_parts or len(parts)
            lines = []
            for grounding, result in zip(groundings, results, strict=True):
                keeper = Keeper(grounding, 2 * n, n_words)
                take(keeper, completion_of(result))
                usage += result.usage
                n_dropped += len(keeper.faults)
                lines.append(keeper.text)
            notes = "\n\n".join(filter(None, lines))
            if count_in_pieces(notes, backend.count_tokens) > 0.8 * n_tokens or not notes:
                break
            text = notes
        if count_in_pieces(text, backend.count_tokens) > limit:  # it does not become shorter
            text = select(
                text, leading(text, "", limit).candidates, backend.count_tokens, limit
            ).text
        return text, n_parts, n_dropped, usage

    def _value(self, text: str, keeper: Keeper) -> dict[str, Json]:
        value: dict[str, Json] = {}
        summary = keeper.text
        if not summary:
            summary = _own_sentences(text, keeper.most, keeper.count)
            value["extractive"] = True
        dropped: list[Json] = [{"sentence": one, "fault": fault} for one, fault in keeper.faults]
        return {"summary": summary, "words": n_words(summary), "dropped": dropped, **value}


_BOTH = ("", "_zh")


def take(keeper: Keeper, completion: Completion) -> None:
    """Put the sentences of an answer to the keeper; one that was cut off in the middle is none."""
    sentences = list(written_sentences(completion.text, is_whole=True))
    if completion.finish_reason == "length" and sentences and not has_end(sentences[-1]):
        sentences.pop()
    for sentence in sentences:
        keeper.take(sentence)


def _own_sentences(text: str, most: int, count: Callable[[str], int]) -> str:
    """The text's own sentences that say most. Raises `BudgetTooSmall` where none is so short."""
    found = leading(text, "", 4 * most).candidates
    said = [one for one in found if one.unit.kind not in ("heading", "code", "row")]
    unit = "words" if count is n_words else "tokens"
    kept = select(text, said or found, count, most, unit)
    return " ".join(kept.text.split())


def _language(grounding: Grounding) -> str:
    return "_zh" if grounding.script == "HAN" else ""


def _answer_tokens(n: int) -> int:
    """Most tokens of an answer of about `n` words; what comes over the bound is left out."""
    return int(1.5 * _TOKENS_PER_WORD * n) + 32


def _note_words(limit: int, n_parts: int) -> int:
    """Words of a note, so that all of them can be read at once if possible."""
    least, most = NOTE_WORDS
    return max(least, min(most, int(_NOTES_SHARE * limit / _TOKENS_PER_WORD / n_parts)))
