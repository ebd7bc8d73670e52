"""The first line of a commit: Conventional Commits 1.0.0 (conventionalcommits.org), or plain."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_HEADER_CHARS = 72

_HEADER = re.compile(
    r"(?P<type>[A-Za-z][\w-]*)(?:\((?P<scope>[^()\r\n]+)\))?(?P<breaking>!)?: +(?P<subject>\S.*)"
)
_FOOTER = re.compile(r"^BREAKING[ -]CHANGE: *(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Header:
    """`type(scope)!: subject`; without a type it is the subject alone."""

    subject: str
    type: str | None = None
    scope: str | None = None
    breaking: bool = False

    @property
    def prefix(self) -> str:
        """What stands before the subject."""
        if self.type is None:
            return ""
        scope = f"({self.scope})" if self.scope else ""
        return f"{self.type}{scope}{'!' if self.breaking else ''}: "

    def __str__(self) -> str:
        return self.prefix + self.subject


def parse_header(line: str) -> Header | None:
    """The parts of a conventional header; None for a line that is none."""
    found = _HEADER.fullmatch(line.strip())
    if found is None:
        return None
    return Header(
        subject=found["subject"].strip(),
        type=found["type"].lower(),
        scope=found["scope"],
        breaking=found["breaking"] is not None,
    )


def breaking_footer(message: str) -> str | None:
    """What the footer `BREAKING CHANGE:` says, if there is one."""
    found = _FOOTER.search(message)
    return found[1].strip() if found else None


def header_fault(header: str, types: tuple[str, ...] = ()) -> str | None:
    """What is wrong with a first line; None for a good one. No `types`: a plain line."""
    if len(header) > MAX_HEADER_CHARS:
        return f"it has {len(header)} characters, over {MAX_HEADER_CHARS}"
    if not header.strip() or "\n" in header:
        return "it is not one line of text"
    if header.rstrip().endswith((".", "。")):
        return "it ends with a full stop"
    if types:
        parsed = parse_header(header)
        if parsed is None or parsed.type not in types:
            return "it does not begin with a type"
    return None
