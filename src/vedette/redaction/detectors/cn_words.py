"""Chinese number plates, and WeChat names that follow their word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

_PLATE = re.compile(
    "[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-HJ-NP-Z][·•. -]?"
    "(?=[A-Z]{0,6}[0-9])"
    "(?:[A-HJ-NP-Z0-9]{4}(?:[挂学警港澳]|[A-HJ-NP-Z0-9]{1,2}))(?![A-Za-z0-9])"
)
_WECHAT_NAMES = ("微信", "威信", "薇信", "v信", "wechat", "weixin", "wx", "vx")
_SHORT_NAMES = ("v信", "wx", "vx")  # only with a colon or an equals sign
_SAID = re.compile(r"\s{0,2}(?:号|账号|id|name|account)?\s{0,2}(?P<said>[:=是为]|is\b)?\s{0,3}")
_LATIN = re.compile("[a-z0-9_]")
_NOT_LETTER = re.compile("[0-9_-]")
_WECHAT = re.compile(r"[A-Za-z][A-Za-z0-9_-]{5,19}(?![A-Za-z0-9_@.-]*@)(?![A-Za-z0-9_-])")


class CnPlate:
    """Implements `Detector`."""

    kinds = frozenset({"cn_plate"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        for found in _PLATE.finditer(scan.folded):
            value = re.sub(r"[·•. -]", "", found[0])
            yield Span(*found.span(), "cn_plate", "cn-plate", 0.95, value)


class WeChat:
    """Implements `Detector`. Without a colon or "is" the name must have a digit, - or _."""

    kinds = frozenset({"wechat"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        for name in _WECHAT_NAMES:
            at = scan.lowered.find(name)
            while at >= 0:
                if span := _wechat(scan, at, name):
                    yield span
                at = scan.lowered.find(name, at + len(name))


def _wechat(scan: Scan, at: int, name: str) -> Span | None:
    """The account after the name at this place."""
    said = _SAID.match(scan.lowered, at + len(name))
    if said is None or (name[0].isascii() and at and _LATIN.match(scan.lowered, at - 1)):
        return None
    if name in _SHORT_NAMES and said["said"] not in (":", "="):
        return None
    found = _WECHAT.match(scan.folded, said.end())
    if found is None or not (said["said"] or _NOT_LETTER.search(found[0])):
        return None
    return Span(*found.span(), "wechat", "wechat-named", 0.8, found[0].lower())
