"""What a run of a job did, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.table import Table

from vedette.tasks.base import Accounts
from vedette.types import Json, Usage

from .progress import duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The end of a run. Every row is exactly one of asked, from_journal, duplicates, bad_rows.

    items: result lines of the job so far; ok and errors among them. asked: rows put to the
    backend in this run; done_again: those of them that an earlier run had begun and not finished.
    retried: rows whose recorded error was dropped to ask them again. from_journal: answered by an
    earlier run. duplicates: answered by an identical row. bad_rows: could not be read.
    usage: tokens of this run. backend_counts: what happened in the backend meanwhile, by name, such
    as requests that were sent again. schema_tokens: what each prompt spends on showing the
    schema. accounts: what the task adds up over all result lines so far, if it does. When
    `interrupted`, rows that were read and not answered count in none of these.
    """

    items: int = 0
    ok: int = 0
    errors: int = 0
    asked: int = 0
    done_again: int = 0
    retried: int = 0
    retried_requests: int = 0
    from_journal: int = 0
    duplicates: int = 0
    bad_rows: int = 0
    usage: Usage = field(default_factory=Usage)
    backend_counts: Mapping[str, int] = field(default_factory=dict)
    schema_tokens: int = 0
    wall_s: float = 0.0
    total: int | None = None
    interrupted: bool = False
    out: str = "-"
    journal: str | None = None
    notes: tuple[str, ...] = ()
    accounts: Accounts | None = None

    @property
    def items_per_s(self) -> float:
        """Rows answered by the backend in this run per second of wall time."""
        return self.asked / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def nothing_to_do(self) -> bool:
        """Whether every row had been answered before."""
        return not self.interrupted and self.asked == 0 and self.from_journal > 0

    @property
    def exit_code(self) -> int:
        """For the command line: 0 all rows answered, 1 with error rows, 130 interrupted."""
        if self.interrupted:
            return 130
        return 1 if self.errors else 0

    @property
    def headline(self) -> str:
        """The one sentence to say."""
        rows = f"{self.items:,}" if self.total is None else f"{self.items:,} of {self.total:,}"
        if self.interrupted and self.journal is None:
            return f"interrupted after {rows} rows; without a journal the next run starts over"
        if self.interrupted:
            return f"interrupted: {rows} rows are written; run the same command again to go on"
        if self.nothing_to_do:
            return f"nothing to do: all {self.items:,} rows were answered before"
        if not self.items:
            return "nothing to do: there are no rows"
        return "1 row done" if self.items == 1 else f"{self.items:,} rows done"

    @property
    def failure(self) -> str | None:
        """The sentence about error rows, if there are any."""
        if not self.errors:
            return None
        count = "1 row has" if self.errors == 1 else f"{self.errors:,} rows have"
        again = "" if self.journal is None else "; --retry-failed asks again"
        return f"{count} no answer, the error is on its line{again}"

    def as_dict(self) -> dict[str, Json]:
        """For `--json`."""
        accounts = self.accounts
        return {
            "items": self.items,
            "ok": self.ok,
            "errors": self.errors,
            "asked": self.asked,
            "done_again": self.done_again,
            "retried": self.retried,
            "retried_requests": self.retried_requests,
            "from_journal": self.from_journal,
            "duplicates": self.duplicates,
            "bad_rows": self.bad_rows,
            "items_per_s": round(self.items_per_s, 3),
            "wall_s": round(self.wall_s, 3),
            "usage": {
                "prompt_tokens": self.usage.prompt_tokens,
                "cached_tokens": self.usage.cached_tokens,
                "completion_tokens": self.usage.completion_tokens,
                "forced_tokens": self.usage.forced_tokens,
                "sampled_tokens": self.usage.sampled_tokens,
            },
            "backend": dict(self.backend_counts),
            "schema_tokens": self.schema_tokens,
            "total": self.total,
            "interrupted": self.interrupted,
            "out": self.out,
            "journal": self.journal,
            "notes": list(self.notes),
            **({accounts.name: accounts.as_dict()} if accounts else {}),
        }

    def facts(self) -> list[tuple[str, str]]:
        """Name and value of what is worth telling, in order: of this run, then of the whole job."""
        of_job = self.accounts.facts() if self.accounts else []
        return [*([] if self.nothing_to_do else self._facts_of_run()), *of_job]

    def _facts_of_run(self) -> list[tuple[str, str]]:
        usage = self.usage
        saved = f", {usage.cached_tokens:,} of them shared" if usage.cached_tokens else ""
        forced = f", {usage.forced_tokens:,} of them forced" if usage.forced_tokens else ""
        lines = [
            ("rows", f"{self.items:,} ({self.ok:,} valid, {self.errors:,} errors)"),
            ("pace", f"{self.items_per_s:,.1f} items/s, {duration(self.wall_s)} in all"),
            ("tokens in", f"{usage.prompt_tokens:,}{saved}"),
            ("tokens out", f"{usage.completion_tokens:,}{forced}"),
        ]
        for name, count in (
            ("from the journal", self.from_journal),
            ("identical rows", self.duplicates),
            ("unreadable rows", self.bad_rows),
            ("asked again", self.retried),
            ("done again", self.done_again),
            ("requests retried", self.retried_requests),
            *((name.replace("_", " "), count) for name, count in self.backend_counts.items()),
            ("tokens of the schema in each prompt", self.schema_tokens),
        ):
            if count:
                lines.append((name, f"{count:,}"))
        return lines

    def as_text(self) -> str:
        """Plain lines."""
        told = [f"  {name}: {value}" for name, value in self.facts()]
        more = [*self.notes, *([self.failure] if self.failure else [])]
        return "\n".join([self.headline, *told, *more])

    def as_table(self) -> Table:
        """The facts for a terminal; `headline`, `notes` and `failure` are sentences beside it."""
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="dim")
        table.add_column()
        for name, value in self.facts():
            table.add_row(name, value)
        return table
