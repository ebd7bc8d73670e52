"""`vedette.redact` and `vedette.restore`. Loads an engine only where names are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vedette.errors import VedetteError
from vedette.redaction import placeholders as _placeholders
from vedette.redaction.detectors.base import Detector
from vedette.redaction.detectors.phone import DEFAULT_REGIONS
from vedette.redaction.names import name_spans
from vedette.redaction.placeholders import Entity, Placeholders
from vedette.redaction.redactor import Redactor
from vedette.redaction.span import Span


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted text. `mapping` is placeholder -> value, for `restore`; keep it safe."""

    text: str
    entities: tuple[Entity, ...]
    mapping: dict[str, str]


def redact(
    text: str,
    *,
    kinds: Iterable[str] | None = None,
    entities: Iterable[str] | Mapping[str, str] = (),
    regions: Sequence[str] = DEFAULT_REGIONS,
    allow: Iterable[str] = (),
    patterns: Sequence[Detector] = (),
    placeholders: Placeholders | None = None,
    model: str | None = None,
) -> Redacted:
    """The text with personal data and secrets replaced by placeholders such as `[EMAIL_1]`.

    `kinds` are those that rules find (None: all). `entities` are kinds of names that the model is
    asked for, such as `person`, or names with descriptions. `regions` are the countries whose
    national telephone numbers count. `allow` are values that stay, `patterns` detectors of your
    own (`vedette.redaction.detectors.custom.Pattern`). The same `placeholders` for several texts
    give the same value the same placeholder in all of them.

    Raises `InputError` for options that cannot be, and what a model's answers raise: a text that
    could not be checked whole is never returned.
    """
    redactor = Redactor.of(kinds, regions=regions, more=patterns, allow=tuple(allow))
    named = dict(entities) if isinstance(entities, Mapping) else dict.fromkeys(entities, "")
    found = _named(text, named, model) if named else ()
    own = Placeholders() if placeholders is None else placeholders
    redacted, replaced = own.replace(text, redactor.find(text, found))
    mapping = {entity.placeholder: entity.value for entity in replaced}
    return Redacted(redacted, tuple(replaced), mapping)


def restore(text: str, mapping: Mapping[str, str]) -> str:
    """The text with its values back, wherever their placeholders stand in it now."""
    return _placeholders.restore(text, mapping)


def _named(text: str, entities: Mapping[str, str], model: str | None) -> tuple[Span, ...]:
    """What the model finds. Raises its error."""
    from vedette.api import map as answers
    from vedette.tasks.labels import Label
    from vedette.tasks.names import FindNames, names_of

    task = FindNames(tuple(Label(name, about) for name, about in entities.items()))
    outcome = next(iter(answers([text], task, model=model)))
    if isinstance(outcome, VedetteError):
        raise outcome
    return tuple(name_spans(text, names_of(outcome), rule="model"))
