"""Redaction of a request's texts: the same value has the same placeholder in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vedette.backends.base import Backend
from vedette.batch.answers import answers
from vedette.batch.results import Outcome
from vedette.errors import VedetteError
from vedette.redaction.detectors.phone import DEFAULT_REGIONS
from vedette.redaction.names import name_spans
from vedette.redaction.placeholders import Entity, Placeholders
from vedette.redaction.redactor import Redactor
from vedette.tasks.labels import Label
from vedette.tasks.names import FindNames, names_of
from vedette.types import Answer, Item, Json


class Redaction:
    """Implements `Together`; its options are those of `vedette.redact`.

    The value is the redacted text. Beside it stand `entities`, without the values, as in a row of
    `vedette redact`, and `mapping`, placeholder -> value, with which a client restores. An item in
    which names could not be looked for is an error, never half redacted.
    """

    def __init__(
        self,
        *,
        kinds: Iterable[str] | None = None,
        entities: Iterable[str] | Mapping[str, str] = (),
        regions: Sequence[str] = DEFAULT_REGIONS,
        allow: Iterable[str] = (),
    ) -> None:
        self._redactor = Redactor.of(kinds, regions=regions, allow=tuple(allow))
        named = dict(entities) if isinstance(entities, Mapping) else dict.fromkeys(entities, "")
        labels = tuple(Label(name, about) for name, about in named.items())
        self._finder = FindNames(labels) if labels else None

    def outcomes(self, items: Sequence[Item], backend: Backend, workers: int) -> list[Outcome]:
        """See `Together`."""
        placeholders = Placeholders()
        if self._finder is None:
            return [self._redacted(item, None, placeholders) for item in items]
        return [
            outcome
            if isinstance(outcome, VedetteError)
            else self._redacted(item, outcome, placeholders)
            for item, outcome in answers(items, self._finder, backend, workers)
        ]

    def _redacted(self, item: Item, names: Answer | None, placeholders: Placeholders) -> Answer:
        named = name_spans(item.text, names_of(names), rule="model") if names else ()
        text, found = placeholders.replace(item.text, self._redactor.find(item.text, named))
        listed: list[Json] = [told(entity) for entity in found]
        mapping: dict[str, Json] = {entity.placeholder: entity.value for entity in found}
        extra: dict[str, Json] = {"entities": listed, "mapping": mapping}
        if names is None:
            return Answer(value=text, extra=extra)
        return Answer(value=text, extra=extra, usage=names.usage)


def told(entity: Entity) -> dict[str, Json]:
    """What is said of a value that was replaced, without the value."""
    return {
        "kind": entity.kind,
        "start": entity.start,
        "end": entity.end,
        "rule": entity.rule,
        "score": entity.score,
        "placeholder": entity.placeholder,
    }
