"""User and password in a URL: `https://user:password@host`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

_USERINFO = re.compile(r"://([^\s/?#:@\"'<>]{0,256}:[^\s/?#@\"'<>]{1,1024})@(?=[\w\[])")
_VARIABLE = re.compile(r"\$\{?\w+\}?|<\w+>|\{\{?\w+\}?\}|\*+|x+", re.I)


class UrlCredentials:
    """Implements `Detector`; the span is `user:password`, so the host stays readable."""

    kinds = frozenset({"url_credentials"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        at = scan.folded.find("://")
        while at >= 0:
            found = _USERINFO.match(scan.folded, at)
            if found and not _VARIABLE.fullmatch(found[1].partition(":")[2]):
                yield Span(*found.span(1), "url_credentials", "url-userinfo", 1.0, found[1])
            at = scan.folded.find("://", at + 3)
