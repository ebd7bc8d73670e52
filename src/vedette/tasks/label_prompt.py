"""What a classification says to the model: the labels, the example rows, the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from vedette.decide.question import YES_NO
from vedette.errors import LabelError
from vedette.types import Message, Prompt, ScoreRequest

from .labels import Label, check_labels
from .prompt_data import fill, text_of, with_instructions


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A row with its right label (or labels), shown to the model before the item."""

    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class LabelPrompt:
    """The prompts of a classification; with `multi` each label is a question of its own.

    With `keeps_text` the text stays in the cache too, as it is asked about again. Raises
    `LabelError` for labels that cannot be used and for examples with other labels.
    """

    labels: tuple[Label, ...]
    examples: tuple[LabelledText, ...] = ()
    multi: bool = False
    instructions: str = ""
    keeps_text: bool = False

    def __post_init__(self) -> None:
        check_labels(self.labels)
        known = set(self.names)
        for example in self.examples:
            unknown = [label for label in example.labels if label not in known]
            if unknown:
                raise LabelError(
                    f"an example has the label {unknown[0]!r}, which is not in the list"
                )
            if not self.multi and len(example.labels) != 1:
                raise LabelError("an example must have exactly one label; use --multi for several")

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as they are answered."""
        return tuple(label.name for label in self.labels)

    @cached_property
    def shared_messages(self) -> tuple[Message, ...]:
        """What every item's prompt begins with."""
        if self.multi:
            return tuple(self._shared_multi())
        listing = "\n".join(
            f"- {label.name}: {label.description}" if label.description else f"- {label.name}"
            for label in self.labels
        )
        system = fill(text_of("classify", "system"), labels=listing)
        messages = [Message("system", with_instructions(system, self.instructions))]
        for example in self.examples:
            messages.append(Message("user", self._user(example.text)))
            messages.append(Message("assistant", example.labels[0]))
        return tuple(messages)

    def _shared_multi(self) -> Iterator[Message]:
        """Each example is asked about each label, as the item will be."""
        yield Message(
            "system", with_instructions(text_of("classify", "system_multi"), self.instructions)
        )
        for example in self.examples:
            for label in self.labels:
                yield Message("user", self._user_multi(example.text, label))
                yield Message("assistant", YES_NO[label.name not in example.labels])

    @staticmethod
    def _user(text: str) -> str:
        return fill(text_of("classify", "user"), text=text)

    @staticmethod
    def _user_multi(text: str, label: Label) -> str:
        return fill(
            text_of("classify", "user_multi"),
            text=text,
            label=label.name,
            description=f" ({label.description})" if label.description else "",
        )

    def prompt(self, text: str) -> Prompt:
        """The prompt for one text (of a single-label question)."""
        return self._prompt(Message("user", self._user(text)))

    def _prompt(self, user: Message) -> Prompt:
        shared = self.shared_messages
        # Where the text is asked about twice, it is kept as well.
        return Prompt((*shared, user), shared_messages=len(shared) + self.keeps_text)

    def request(self, text: str) -> ScoreRequest:
        """The question for one text."""
        return ScoreRequest(prompt=self.prompt(text), choices=self.names)

    def requests_multi(self, text: str) -> list[ScoreRequest]:
        """A yes/no question for each label."""
        users = (Message("user", self._user_multi(text, label)) for label in self.labels)
        return [ScoreRequest(prompt=self._prompt(user), choices=YES_NO) for user in users]
