"""Personal codes that begin with a letter: Italy, Spain's for foreigners, Taiwan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stdnum.es import nie
from stdnum.it import codicefiscale

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

_AFTER = r"(?![A-Za-z0-9_])"
_TW_LETTERS = "ABCDEFGHJKLMNPQRSTUVXYWZIO"  # in the order of their numbers, from 10 on
_TW_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 1, 1)


def _is_taiwan_id(value: str) -> bool:
    """The letter as two digits, weights 1 9 8 ... 1 1, a multiple of ten (Ministry of Interior)."""
    letter = _TW_LETTERS.index(value[0]) + 10
    total = letter // 10 + 9 * (letter % 10)
    total += sum(int(d) * w for d, w in zip(value[1:], _TW_WEIGHTS, strict=True))
    return total % 10 == 0


@dataclass(frozen=True)
class CodeRule:
    """Implements `Detector`: a form that begins with a capital letter, and its check."""

    kind: str
    rule: str
    form: re.Pattern[str]
    is_valid: Callable[[str], bool]
    score: float

    @property
    def kinds(self) -> frozenset[str]:
        """See `Detector`."""
        return frozenset({self.kind})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        for start in scan.codes:
            if not (found := self.form.match(scan.folded, start)):
                continue
            value = found[0].replace("-", "").replace(" ", "")
            if self.is_valid(value):
                yield Span(*found.span(), self.kind, self.rule, self.score, value)


CODES = (
    CodeRule(
        "it_cf",
        "it-codice-fiscale",
        re.compile(
            rf"[A-Z][A-Z]{{2}} ?[A-Z]{{3}} ?[0-9L-NP-V]{{2}}[A-EHLMPRST][0-9L-NP-V]{{2}}"
            rf" ?[A-Z][0-9L-NP-V]{{3}} ?[A-Z]{_AFTER}"
        ),
        codicefiscale.is_valid,
        1.0,
    ),
    CodeRule(
        "es_nif",
        "es-nie",
        re.compile(rf"[XYZ]-?[0-9]{{7}}-?[A-Z]{_AFTER}"),
        nie.is_valid,
        0.9,
    ),
    CodeRule(
        "tw_id",
        "tw-national-id",
        re.compile(rf"[A-Z][1289][0-9]{{8}}{_AFTER}"),
        _is_taiwan_id,
        0.85,
    ),
)
