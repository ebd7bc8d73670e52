"""Values hidden from a body before it leaves, and put back into what comes back.

All strings of the body are looked at, wherever they stand. A value that is found in one of them is
hidden in all: rules may know it by the words around it in one place only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vedette.backends.base import Backend
from vedette.batch.single import answer_item
from vedette.errors import InputError, RedactionFailed, VedetteError
from vedette.redaction.detectors.custom import read_patterns
from vedette.redaction.names import name_spans
from vedette.redaction.placeholders import TEXT_KIND, Placeholders
from vedette.redaction.redactor import Redactor
from vedette.redaction.span import Span
from vedette.tasks.labels import Label
from vedette.tasks.names import FindNames, names_of
from vedette.types import Item

from .messages import text_of, with_text
from .passage import Object
from .paths import beside
from .tables import RedactTable

LEAST_REPEATED_CHARS = 4
"""A shorter value is hidden where it was found, and not wherever these letters stand."""
LEAST_DIGITS = 6
"""Numbers with fewer digits are nobody's."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A body that may leave, and what its placeholders stand for."""

    body: Object
    mapping: Mapping[str, str]


@dataclass(frozen=True)
class Hider:
    """What a route hides. With `finder`, names that the local model finds too."""

    redactor: Redactor
    finder: FindNames | None
    backend: Backend
    restores: bool

    def hide(self, body: Mapping[str, Any]) -> Hidden:
        """The body without the values.

        Raises `RedactionFailed` where that cannot be done: nothing of the body may leave then.
        """
        if body.get("logprobs"):
            raise InputError("logprobs would be those of placeholders: this route redacts")
        try:
            joined = {**body, "messages": [_joined(message) for message in body["messages"]]}
            texts = list(dict.fromkeys(_strings(joined)))
            names = self._names(texts)
            placeholders = Placeholders()
            hidden = self._hidden(joined, texts, names, placeholders)
        except VedetteError as error:
            raise RedactionFailed(
                f"the request could not be redacted, and has not left: {error.message}",
                hint=error.hint,
            ) from error
        return Hidden(hidden, placeholders.mapping)

    def _hidden(
        self,
        body: Object,
        texts: list[str],
        names: Mapping[str, list[str]],
        placeholders: Placeholders,
    ) -> Object:
        found = {text: self._found(text, names) for text in texts}
        repeated: dict[str, list[str]] = {kind: [*values] for kind, values in names.items()}
        for text, spans in found.items():
            for span in spans:
                value = text[span.start : span.end]
                if len(value) >= LEAST_REPEATED_CHARS and span.kind != TEXT_KIND:
                    repeated.setdefault(span.kind, []).append(value)
        replaced = {
            text: placeholders.replace(text, self._found(text, repeated))[0] for text in texts
        }

        def key(name: str) -> str:
            if self._found(name, repeated):
                raise InputError("the name of a field is what is to be hidden")
            return name

        def number(value: float) -> float:
            shown = str(value)
            if sum(map(str.isdigit, shown)) >= LEAST_DIGITS and self._found(shown, repeated):
                raise InputError("a number is what is to be hidden")
            return value

        rebuilt = _rebuilt(body, replaced.__getitem__, key, number)
        assert isinstance(rebuilt, dict)
        return rebuilt

    def _found(self, text: str, names: Mapping[str, list[str]]) -> list[Span]:
        return self.redactor.find(text, name_spans(text, names, rule="repeated"))

    def _names(self, texts: list[str]) -> dict[str, list[str]]:
        """What the model finds, by kind, in all texts together."""
        found: dict[str, list[str]] = {}
        for text in texts if self.finder is not None else ():
            assert self.finder is not None
            answer = answer_item(self.finder, Item(id="1", text=text), self.backend)
            for kind, values in names_of(answer).items():
                found.setdefault(kind, []).extend(values)
        return found


def open_hider(table: RedactTable, backend: Backend, base: Path) -> Hider:
    """What a route hides. Raises `InputError` for kinds that there are not, and for patterns."""
    patterns = read_patterns(beside(table.patterns, base)) if table.patterns else ()
    redactor = Redactor.of(table.kinds, regions=table.regions, more=patterns, allow=table.allow)
    described = table.entities
    named = described if isinstance(described, dict) else dict.fromkeys(described, "")
    finder = (
        FindNames(tuple(Label(name, about) for name, about in named.items())) if named else None
    )
    return Hider(redactor, finder, backend, table.restore)


def _joined(message: Object) -> Object:
    """The message with its parts as one text, so that nothing is hidden from us between two.

    Raises `InputError` for a part that is no text.
    """
    content = message.get("content")
    if not isinstance(content, list):
        return message
    for part in content:
        if part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise InputError(
                f"a part of the type {part.get('type')!r} cannot be looked through",
                hint="send text only to this route",
            )
    return with_text(message, text_of(message))


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _rebuilt(
    value: Any,
    text: Callable[[str], str],
    key: Callable[[str], str],
    number: Callable[[float], float],
) -> Any:
    """The JSON value with another text for each, its keys and numbers looked at."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {key(name): _rebuilt(one, text, key, number) for name, one in value.items()}
    if isinstance(value, list):
        return [_rebuilt(one, text, key, number) for one in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return value
