"""Which detectors there are, by the kind of what they find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vedette.errors import InputError

from .detectors.assignment import Assignment
from .detectors.base import Detector
from .detectors.card import CARDS
from .detectors.cn_numbers import CN_NUMBERS
from .detectors.cn_words import CnPlate, WeChat
from .detectors.codes import CODES
from .detectors.email import Email
from .detectors.iban import Iban
from .detectors.ip import IpAddress
from .detectors.national import NATIONAL
from .detectors.phone import DEFAULT_REGIONS, Phone
from .detectors.private_key import PrivateKey
from .detectors.tokens import Tokens
from .detectors.url import UrlCredentials
from .placeholders import TEXT_KIND

_DETECTORS: tuple[Detector, ...] = (
    Email(),
    IpAddress(),
    UrlCredentials(),
    Iban(),
    *CARDS,
    *CN_NUMBERS,
    CnPlate(),
    WeChat(),
    *NATIONAL,
    *CODES,
    Tokens(),
    Assignment(),
    PrivateKey(),
)

KINDS: tuple[str, ...] = tuple(
    dict.fromkeys(["phone", *(kind for found in _DETECTORS for kind in sorted(found.kinds))])
)
"""The kinds that rules find, all of them by default."""


def detectors_of(
    kinds: Iterable[str] | None = None,
    *,
    regions: Sequence[str] = DEFAULT_REGIONS,
    more: Sequence[Detector] = (),
) -> tuple[Detector, ...]:
    """The detectors of some kinds (None: of all), and `more` of the user's own, always.

    Raises `InputError` for a kind that there is not.
    """
    wanted = frozenset(KINDS if kinds is None else kinds)
    own = {kind for detector in more for kind in detector.kinds}
    for kind in sorted(wanted - set(KINDS) - own):
        raise InputError(f"there is no kind {kind!r}", hint=f"kinds are {', '.join(KINDS)}")
    if reserved := own & {TEXT_KIND}:
        raise InputError(f"the kind {min(reserved)!r} is taken", hint="choose another name")
    found = tuple(detector for detector in _DETECTORS if detector.kinds & wanted)
    phone = (Phone(tuple(regions)),) if "phone" in wanted else ()
    return (*found, *phone, *more)
