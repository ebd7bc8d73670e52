"""From prompts to token ids, and from token ids back to text piece by piece."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from functools import lru_cache

from vedette.errors import CapabilityMissing
from vedette.types import Picture, Prompt

from .call_form import CallTexts
from .llama.batch import Vectors
from .llama.model import Model
from .sequence import Shown
from .sight import Sight, ids_of
from .template import ChatTemplate, Segment
from .thinking import AFTER, CLOSES


def no_projector() -> CapabilityMissing:
    """The error for a picture that there is nothing to see with."""
    return CapabilityMissing(
        "this model sees no pictures: it has no vision projector",
        hint="name the projector that was made for it: --mmproj FILE",
    )


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """A prompt as token ids; the first `n_shared` are the same for many items.

    Where a picture is `shown` stand numbers that are no tokens.
    """

    ids: list[int]
    n_shared: int
    shown: tuple[Shown, ...] = ()


class Tokenizer:
    """The model's own tokenizer and chat template.

    Text between the template's parts is tokenised on its own and never read as control tokens,
    so an item that contains `<|im_end|>` cannot end its turn, and the tokens of the shared part
    do not depend on the item. `sight` shows the model pictures, where it has a projector.
    """

    def __init__(self, model: Model, sight: Sight | None = None) -> None:
        self._model = model
        self._sight = sight
        self._template = ChatTemplate(
            model.chat_template, bos=model.special_text("bos"), eos=model.special_text("eos")
        )
        self._cached_ids = lru_cache(maxsize=256)(self._segment_ids)
        self._pieces: dict[int, bytes] = {}

    @property
    def n_vocab(self) -> int:
        """How many tokens there are."""
        return self._model.n_vocab

    def _segment_ids(self, segment: Segment) -> tuple[int, ...]:
        return tuple(self._model.tokenize(segment.text, special=segment.trusted))

    @property
    def thinks(self) -> bool:
        """Whether the model's template knows of thoughts before an answer."""
        return self._template.thinks

    @property
    def call_texts(self) -> CallTexts | None:
        """What the model's template puts around calls of tools; None where it knows none."""
        return self._template.call_texts

    def encode(self, prompt: Prompt, *, think: bool = False) -> PromptTokens:
        """Tokens of a prompt, the assistant's turn opened; with `think`, for a thought first.

        Pictures that have not been seen of late are encoded meanwhile. Raises `InputError`,
        `CapabilityMissing` for pictures without a projector, and what `Sight.parts` raises.
        """
        ids: list[int] = []
        shown: list[Shown] = []
        n_shared: int | None = None
        if prompt.raw is not None:
            return PromptTokens(
                self._model.tokenize(prompt.raw, add_bos=self._model.adds_bos, special=True), 0
            )
        n_left = prompt.shared_chars
        for segment in self._template.segments(prompt, think=think):
            if n_shared is None and _ends_sharing(segment, prompt):
                if not n_left:
                    n_shared = len(ids)
                elif n_left >= len(segment.text):  # more of the message may stand behind it
                    n_left -= len(segment.text)
                else:
                    shared, segment = segment.split(n_left)
                    ids.extend(self._cached_ids(shared))
                    n_shared = len(ids)
            elif n_shared is None and n_left < prompt.shared_chars:
                n_shared = len(ids)
            if segment.picture is not None:
                self._show(segment.picture, ids, shown)
            else:
                ids.extend(self._cached_ids(segment))
        return PromptTokens(ids, n_shared or 0 if prompt.shares else 0, tuple(shown))

    def _show(self, picture: Picture, ids: list[int], shown: list[Shown]) -> None:
        """Put a picture behind the tokens so far."""
        if self._sight is None:
            raise no_projector()
        n_places = 0
        for part in self._sight.parts(picture):
            if not isinstance(part, Vectors):
                ids.extend(part)
                continue
            shown.append(Shown(len(ids), part))
            ids.extend(ids_of(picture, n_places, len(part)))
            n_places += len(part)

    def render(self, prompt: Prompt) -> str:
        """The prompt as one text, for people."""
        return prompt.raw if prompt.raw is not None else self._template.render(prompt)

    def end_of_thought(self) -> tuple[int, ...]:
        """The tokens that close a thought and lead over to the answer."""
        return tuple(self._model.tokenize(f"\n{CLOSES}{AFTER}", special=True))

    def end_of_turn(self) -> tuple[int, ...]:
        """The token that ends an answer; none where the vocabulary has no such."""
        return tuple(self._model.tokenize(self._model.special_text("eos"), special=True))

    def count(self, text: str) -> int:
        """Tokens of a plain text."""
        return len(self._model.tokenize(text))

    def encode_text(self, text: str, *, special: bool = False, add_bos: bool = False) -> list[int]:
        """Token ids of a text, without template; `special` reads control tokens' spellings as such.

        With `add_bos` the token that the model's prompts start with stands first, if there is one.
        """
        bos = add_bos and self._model.adds_bos
        return self._model.tokenize(text, special=special, add_bos=bos)

    def special_piece(self, token: int) -> bytes:
        """Bytes of one token, a control token by its name."""
        return self._model.piece(token, special=True)

    def piece(self, token: int) -> bytes:
        """Bytes of one token of an answer; empty for control tokens."""
        if (piece := self._pieces.get(token)) is None:
            piece = self._pieces[token] = self._model.piece(token)
        return piece


def _ends_sharing(segment: Segment, prompt: Prompt) -> bool:
    return segment.message is not None and segment.message >= prompt.shared_messages


class Detokenizer:
    """Collects the bytes of tokens and hands out whole characters."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, piece: bytes) -> str:
        """Characters completed by these bytes."""
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """What is left of a broken character, as U+FFFD."""
        return self._decoder.decode(b"", final=True)
