"""One command on the table: its options as they are being mended, and what was found so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .finding import Finding, Place, Severity
from .flag_table import canonical
from .options import Option, Reading
from .settings import Setting, known
from .target import Target
from .words import Command, Edit, EnvEntry, Span, Word

SPEC_TYPE = "--spec-type"
SPEC_TYPE_VARIABLE = "LLAMA_ARG_SPEC_TYPE"
DRAFT_KEYS = ("model", "hf")


@dataclass
class Case:
    """State that the checks share.

    `types`: the speculation types in effect, under today's names. `types_known`: no variable
    hides them. `written_for`: "older" or "newer" where a spelling shows that the command was
    written for builds before or after the target.
    """

    command: Command
    target: Target
    reading: Reading
    places: Places
    keep_behaviour: bool = False
    types: list[str] = field(default_factory=list)
    types_known: bool = True
    switched_off: bool = False
    written_for: str = ""
    findings: list[Finding] = field(default_factory=list)
    extra_edits: list[Edit] = field(default_factory=list)
    extra_variables: list[tuple[str, str]] = field(default_factory=list)

    @property
    def options(self) -> list[Option]:
        """All options, removed and added ones included."""
        return self.reading.options

    def live(self) -> list[Option]:
        """The options that hold now."""
        return [each for each in self.options if not each.removed]

    def named(self, *names: str) -> list[Option]:
        """Live options of these names or of their aliases in the target."""
        wanted: set[str] = set()
        for name in names:
            flag = self.target.table.live(name)
            wanted |= {canonical(name), *(flag.names if flag else ())}
        return [each for each in self.live() if canonical(each.name) in wanted]

    def of_setting(self, key: str) -> list[Option]:
        """Live options that set this, under any name."""
        setting = known().of_key(key)
        return [each for each in self.live() if canonical(each.name) in setting.all_names]

    def env_of(self, setting: Setting) -> list[EnvEntry]:
        """Variables that set it and that the target reads."""
        table = self.target.table
        return [
            each
            for each in self.command.env
            if not each.removed and each.name in setting.env and table.live_variable(each.name)
        ]

    def value(self, names: Sequence[str], variable: str = "") -> str | None:
        """What counts for a flag: its last value, else that of the variable; None if not known."""
        options = [each for each in self.named(*names) if each.values]
        if options:
            return None if options[-1].dynamic else options[-1].values[-1]
        for entry in reversed(self.command.env):
            if variable and entry.name == variable and not entry.removed:
                return None if entry.dynamic else entry.value
        return None

    def setting_value(self, key: str) -> str | None:
        """What counts for a setting, if it is given and known."""
        options = self.of_setting(key)
        if options:
            return None if options[-1].dynamic or not options[-1].values else options[-1].values[-1]
        entries = self.env_of(known().of_key(key))
        return None if not entries or entries[-1].dynamic else entries[-1].value

    @property
    def has_draft(self) -> bool:
        """Whether a draft model is named, in options or variables, under whatever name."""
        settings = known()
        return any(self.of_setting(key) for key in DRAFT_KEYS) or any(
            not each.removed
            and (setting := settings.of_variable(each.name)) is not None
            and setting.key in DRAFT_KEYS
            for each in self.command.env
        )

    @property
    def takes_options(self) -> bool:
        """Whether there is a place where an option can be added."""
        return bool(self.command.words) or self.command.program is not None

    def add(self, name: str, values: Iterable[str], after: Option | None = None) -> Option:
        """Add an option, after another one or at the end."""
        option = Option(name, list(values), anchor=after)
        self.options.append(option)
        return option

    def report(
        self,
        code: str,
        severity: Severity,
        at: Option | EnvEntry | Word | Span | None,
        message: str,
        remedy: str,
        *,
        mended: bool = False,
    ) -> None:
        """Note a finding at an option, variable, word or place; else at the command's start."""
        self.findings.append(
            Finding(code, severity, self.places.of(self._span(at)), message, remedy, mended)
        )

    def _span(self, at: Option | EnvEntry | Word | Span | None) -> Span:
        if isinstance(at, Option):
            at = at.word or (at.anchor.word if at.anchor else None)
        if isinstance(at, EnvEntry):
            return at.name_span
        if isinstance(at, Word):
            return at.span
        return at or self.command.span


@dataclass(frozen=True, slots=True)
class Places:
    """Lines and columns of a text."""

    text: str
    file: str

    def of(self, span: Span) -> Place:
        """Where a part of the text begins."""
        start = self.text.rfind("\n", 0, span.start) + 1
        line = self.text.count("\n", 0, span.start) + 1
        return Place(self.file, line, span.start - start + 1)
