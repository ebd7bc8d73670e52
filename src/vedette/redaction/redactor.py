"""What is to be found in a text, and what is left alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from .detectors.base import Detector
from .detectors.phone import DEFAULT_REGIONS
from .fold import fold, lower
from .placeholders import LooksLikePlaceholder
from .resolve import fill, resolve
from .rules import detectors_of
from .scan import Scan
from .span import Span

_LOOKS_LIKE_PLACEHOLDER = LooksLikePlaceholder()


@dataclass(frozen=True)
class Redactor:
    """Finds what its detectors find, but for the values that are allowed to stay."""

    detectors: tuple[Detector, ...]
    allowed: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        kinds: Iterable[str] | None = None,
        *,
        regions: Sequence[str] = DEFAULT_REGIONS,
        more: Sequence[Detector] = (),
        allow: Collection[str] = (),
    ) -> Redactor:
        """With the detectors of some kinds (None: of all). Raises `InputError` for a wrong one."""
        detectors = detectors_of(kinds, regions=regions, more=more)
        return cls(detectors, frozenset(map(_plain, allow)))

    def find(self, text: str, names: Iterable[Span] = ()) -> list[Span]:
        """The spans of the text in order, none overlapping.

        `names` are found by other means; where a rule finds something too, the rule is right.
        """
        scan = Scan(text)
        found = (span for detector in self.detectors for span in detector.find(scan))
        kept = [span for span in found if not self._is_allowed(text, span)]
        sure = resolve([*kept, *_LOOKS_LIKE_PLACEHOLDER.find(scan)])
        return fill(text, sure, (span for span in names if not self._is_allowed(text, span)))

    def _is_allowed(self, text: str, span: Span) -> bool:
        if not self.allowed:
            return False
        return bool({_plain(text[span.start : span.end]), _plain(span.canonical)} & self.allowed)


def allowed_values(text: str) -> tuple[str, ...]:
    """The values of an allow file: one a line; blank lines and lines with # are skipped."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _plain(value: str) -> str:
    return lower(fold(value)).strip()
